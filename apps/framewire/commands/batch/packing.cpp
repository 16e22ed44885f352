#include <fmt/format.h>
#include <fmt/ranges.h>
#include <command_line/gpu_options.hpp>
#include <command_line/misuse.hpp>
#include <commands/batch/packing.hpp>
#include <dataset/sidecars.hpp>
#include <framewire/options.hpp>
#include <initializer_list>
#include <store/object_store.hpp>
#include <string_view>
#include <utility>

namespace framewire::app {
namespace {

/// A smaller shard would be mostly what tar adds to each member.
constexpr std::uint64_t kMinShardBytes = 64 * 1024;

Result<void> refuse_besides(const Arguments& arguments, std::string_view option,
                            std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (!arguments.given.contains(name)) continue;
    return misuse(fmt::format("--{} is not for --{}; accepted: either", name, option));
  }
  return {};
}

Result<std::vector<std::string>> sidecars_of(const Arguments& arguments) {
  if (!arguments.has("sidecars")) return std::vector<std::string>{};
  auto extensions = dataset::parse_sidecars(arguments.get("sidecars"));
  if (!extensions) return misuse("--sidecars: " + extensions.error().message());
  return extensions;
}

std::string name_of(const InputNames& inputs) {
  if (!inputs.list.empty()) return "@" + inputs.list;
  const std::string_view first = store::without_query(inputs.paths[0]);
  return inputs.paths.size() == 1 ? std::string(first)
                                  : fmt::format("{} and {} more", first, inputs.paths.size() - 1);
}

/// What shards must have in common besides the pictures' options, to go on behind one.
std::string packing_of(const dataset::PackOptions& options) {
  std::string text;
  if (options.dots == dataset::KeyDots::kUnderscore) text += " key-dots=underscore";
  // In their order, which is that of members.
  const auto& sidecars = options.sidecars;
  if (!sidecars.empty()) text += fmt::format(" sidecars={}", fmt::join(sidecars, ","));
  return text;
}

}  // namespace

Result<std::optional<dataset::PackOptions>> make_pack_options(const Arguments& arguments,
                                                              const std::string& pattern,
                                                              const InputNames& inputs,
                                                              const batch::Shard& part,
                                                              std::optional<std::uint32_t> mode) {
  if (!arguments.has("pack")) return std::nullopt;
  auto alone = refuse_besides(arguments, "pack", {"unpack", "in-place", "failed-samples"});
  if (!alone) return fail(alone.error());
  dataset::PackOptions options;
  const auto bytes = parse_memory("pack", arguments.get("pack"));
  if (!bytes || *bytes < kMinShardBytes) {
    return misuse(
        fmt::format("--pack: found '{}'; accepted: a number of bytes from 64K, with k, M or G for "
                    "powers of 1024",
                    arguments.get("pack")));
  }
  options.shard_bytes = *bytes;
  auto parsed = dataset::ShardPattern::parse(pattern);
  if (!parsed) return misuse(parsed.error().to_string());
  options.pattern = std::move(*parsed);
  options.manifests =
      arguments.has("manifest") ? arguments.get("manifest") : options.pattern.folder();
  auto sidecars = sidecars_of(arguments);
  if (!sidecars) return fail(sidecars.error());
  options.sidecars = std::move(*sidecars);
  if (arguments.get("key-dots") == "underscore") options.dots = dataset::KeyDots::kUnderscore;
  options.part = part;
  options.resume = arguments.has("resume");
  options.retry_failed = arguments.has("retry");
  if (options.retry_failed && !options.resume) {
    return misuse("--retry says what --resume does again; accepted: both, or neither");
  }
  options.mode = mode;
  options.options_hash = output_hash(arguments.options) + packing_of(options);
  options.input = name_of(inputs);
  return options;
}

Result<std::optional<dataset::UnpackOptions>> make_unpack_options(const Arguments& arguments,
                                                                  const batch::Shard& part) {
  if (!arguments.has("unpack")) {
    if (!arguments.has("pack") && arguments.given.contains("sidecars")) {
      return misuse(
          "--sidecars is for files beside pictures; accepted with --pack and with --unpack");
    }
    if (!arguments.has("pack") && arguments.given.contains("key-dots")) {
      return misuse("--key-dots tells of shards that are packed; accepted with --pack");
    }
    return std::nullopt;
  }
  auto alone =
      refuse_besides(arguments, "unpack", {"in-place", "failed-samples", "retry", "key-dots"});
  if (!alone) return fail(alone.error());
  dataset::UnpackOptions options;
  auto sidecars = sidecars_of(arguments);
  if (!sidecars) return fail(sidecars.error());
  options.sidecars = std::move(*sidecars);
  options.part = part;
  options.resume = arguments.has("resume");
  return options;
}

std::string packed_text(const dataset::PackTotals& totals) {
  std::string text =
      fmt::format("; {} shard{} written", totals.shards, totals.shards == 1 ? "" : "s");
  if (totals.sidecars > 0) text += fmt::format(", {} other files in them", totals.sidecars);
  const std::uint64_t packed_before = totals.unchanged - totals.failed_before;
  if (packed_before > 0) text += fmt::format(", {} inputs in shards before", packed_before);
  if (totals.failed_before > 0) text += fmt::format(", {} failed before", totals.failed_before);
  if (totals.put_off > 0) text += fmt::format(", {} inputs left to --resume", totals.put_off);
  return text;
}

inspect::Json packed_json(const dataset::PackTotals& totals) {
  return {{"shards", totals.shards},
          {"samples", totals.samples},
          {"sidecars", totals.sidecars},
          {"unchanged", totals.unchanged},
          {"failed_before", totals.failed_before},
          {"put_off", totals.put_off}};
}

}  // namespace framewire::app
