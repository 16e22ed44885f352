#include <fmt/format.h>
#include <algorithm>
#include <base/cores.hpp>
#include <command_line/misuse.hpp>
#include <command_line/numbers.hpp>
#include <commands/batch/shards.hpp>
#include <cstdlib>
#include <dataset/braces.hpp>
#include <files/name_list.hpp>
#include <filesystem>
#include <framewire/options.hpp>
#include <iterator>

namespace framewire::app {
namespace {

constexpr const char* kCountVariable = "FRAMEWIRE_SHARD_COUNT";

std::optional<std::uint32_t> number_from(const char* variable) {
  const char* text = std::getenv(variable);
  std::uint32_t number = 0;
  if (text == nullptr || !parse_number(std::string_view(text), number)) return std::nullopt;
  return number;
}

Result<batch::Shard> shard_of(std::string_view from, std::uint64_t index,
                              std::optional<std::uint32_t> count) {
  if (!count) {
    return misuse(
        fmt::format("--shard auto: {} says which part, and nothing says of how many; "
                    "accepted: {} with their number",
                    from, kCountVariable));
  }
  if (index >= *count) {
    return misuse(fmt::format("--shard auto: {} says part {}, and there are {} from 0 on", from,
                              index, *count));
  }
  return batch::Shard{static_cast<std::uint32_t>(index), *count};
}

// Slurm's tasks need not begin with 0, nor follow one another.
Result<batch::Shard> shard_of_slurm(std::uint32_t task) {
  const std::uint32_t first = number_from("SLURM_ARRAY_TASK_MIN").value_or(0);
  const std::uint32_t step = std::max(number_from("SLURM_ARRAY_TASK_STEP").value_or(1), 1u);
  if (task < first || (task - first) % step != 0) {
    return misuse(
        "--shard auto: SLURM_ARRAY_TASK_ID is none of its array; accepted: arrays whose "
        "tasks have equal steps, such as 0-99 or 1-100");
  }
  const auto count = number_from("SLURM_ARRAY_TASK_COUNT");
  const auto last = number_from("SLURM_ARRAY_TASK_MAX");
  // What the missing tasks should do would be done by nobody.
  if (last && count && (*last < first || (*last - first) / step + 1 != *count)) {
    return misuse(fmt::format(
        "--shard auto: the array has {} tasks between {} and {}, with gaps; accepted: arrays "
        "whose tasks have equal steps, such as 0-99 or 1-100",
        *count, first, *last));
  }
  return shard_of("SLURM_ARRAY_TASK_ID", (task - first) / step, count);
}

Result<batch::Shard> shard_of_environment() {
  if (const auto task = number_from("SLURM_ARRAY_TASK_ID")) return shard_of_slurm(*task);
  if (const auto index = number_from("JOB_COMPLETION_INDEX")) {
    return shard_of("JOB_COMPLETION_INDEX", *index, number_from(kCountVariable));
  }
  if (const auto index = number_from("AWS_BATCH_JOB_ARRAY_INDEX")) {
    auto count = number_from("AWS_BATCH_JOB_ARRAY_SIZE");
    if (!count) count = number_from(kCountVariable);
    return shard_of("AWS_BATCH_JOB_ARRAY_INDEX", *index, count);
  }
  for (const char* name :
       {"SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX", "AWS_BATCH_JOB_ARRAY_INDEX"}) {
    if (const char* value = std::getenv(name); value != nullptr) {
      return misuse(
          fmt::format("--shard auto: {} is '{}'; accepted: a whole number from 0 on", name, value));
    }
  }
  return misuse(
      "--shard auto: the environment names no task; accepted: SLURM_ARRAY_TASK_ID, "
      "JOB_COMPLETION_INDEX or AWS_BATCH_JOB_ARRAY_INDEX");
}

// Nothing where the first is a file, and no shard: such a list may be longer than memory. Nothing
// either of what is no file: a pipe can be read once only, and its names are those of pictures.
Result<std::vector<std::string>> names_in(const std::string& list, char separator) {
  std::vector<std::string> names;
  std::error_code error;
  if (std::filesystem::is_directory(list, error)) {
    return fail(Status(StatusCode::kIoError,
                       "cannot read the list: it is a folder; accepted: a file of names")
                    .about(list));
  }
  if (list == "-" || !std::filesystem::is_regular_file(list, error)) return names;
  const auto source = batch::open_list(list, separator);
  if (!source) return fail(source.error());
  for (;;) {
    const auto input = (*source)->next();
    if (!input) return fail(input.error());
    if (!*input) return names;
    const std::string& label = (*input)->label;
    const bool other =
        !store::without_query(label).ends_with(".tar") && !store::is_remote_url(label);
    if (names.empty() && other) return names;
    auto name = listed_name(**input, list);
    if (!name) return fail(name.error());
    if (names.size() == dataset::kMaxExpandedNames) {
      return misuse(fmt::format("{}: accepted: lists of up to {} shards or addresses", list,
                                dataset::kMaxExpandedNames));
    }
    names.push_back(std::move(*name));
  }
}

}  // namespace

Result<batch::Shard> parse_shard(const std::string& text) {
  if (text == "auto") return shard_of_environment();
  batch::Shard shard;
  const auto slash = text.find('/');
  std::uint32_t index = 0;
  const bool numbers = slash != std::string::npos &&
                       parse_number(std::string_view(text).substr(0, slash), index) &&
                       parse_number(std::string_view(text).substr(slash + 1), shard.count);
  if (!numbers || index < 1 || index > shard.count) {
    return misuse(
        fmt::format("--shard: found '{}'; accepted: I/N with I from 1 to N, or auto", text));
  }
  shard.index = index - 1;
  return shard;
}

Result<bool> take_shards(std::vector<std::string>& paths, std::string& list, char separator) {
  const auto is_shard = [](const std::string& path) {
    return store::without_query(path).ends_with(".tar");
  };
  std::vector<std::string> words = paths;
  if (!list.empty()) {
    auto listed = names_in(list, separator);
    if (!listed) return fail(listed.error());
    words = std::move(*listed);
  }
  if (std::ranges::none_of(words, is_shard)) {
    if (list.empty() || words.empty()) return false;
    paths = std::move(words);
    list.clear();
    return false;
  }
  std::vector<std::string> shards;
  for (const std::string& word : words) {
    if (!is_shard(word)) {
      return misuse(fmt::format("{} is no tar shard, and others are; accepted: either",
                                store::without_query(word)));
    }
    auto names = dataset::expand_name(word, dataset::kMaxExpandedNames - shards.size());
    if (!names) return misuse(names.error().to_string());
    std::ranges::move(*names, std::back_inserter(shards));
  }
  paths = std::move(shards);
  return true;
}

Result<dataset::TarBatchOptions> make_shard_options(const Arguments& arguments,
                                                    const std::string& output_folder,
                                                    const batch::Shard& part,
                                                    std::optional<std::uint32_t> mode) {
  if (arguments.has("in-place")) {
    return misuse("--in-place is not for tar shards; accepted: another folder");
  }
  dataset::TarBatchOptions options;
  options.outputs = output_folder;
  options.manifests = arguments.has("manifest") ? arguments.get("manifest") : output_folder;
  options.part = part;
  options.resume = arguments.has("resume");
  options.retry_failed = arguments.has("retry");
  if (options.retry_failed && !options.resume) {
    return misuse("--retry says what --resume does again; accepted: both, or neither");
  }
  if (arguments.get("failed-samples") == "keep") {
    options.failed_samples = dataset::FailedSamples::kKeep;
  }
  options.mode = mode;
  options.options_hash = output_hash(arguments.options);
  // A shard is written by one thread at a time: where there are many, several are in work.
  options.in_work = std::clamp(base::usable_cores() / 4, 1u, 8u);
  return options;
}

Result<void> refuse_shard_options(const Arguments& arguments) {
  for (const char* name : {"retry", "failed-samples"}) {
    if (arguments.given.contains(name)) {
      return misuse(
          fmt::format("--{} is for tar shards; accepted where IN is a name that ends in "
                      ".tar",
                      name));
    }
  }
  return {};
}

std::string shards_text(const dataset::ShardTotals& totals) {
  std::string text =
      fmt::format("; {} shard{} written", totals.written, totals.written == 1 ? "" : "s");
  if (totals.unchanged > 0) text += fmt::format(", {} done before", totals.unchanged);
  if (totals.elsewhere > 0) text += fmt::format(", {} in work elsewhere", totals.elsewhere);
  if (totals.failed > 0) text += fmt::format(", {} failed", totals.failed);
  if (totals.damaged > 0) text += fmt::format(", {} damaged", totals.damaged);
  if (totals.dropped > 0) text += fmt::format(", {} samples left out", totals.dropped);
  return text;
}

inspect::Json shards_json(const dataset::ShardTotals& totals) {
  return {{"written", totals.written},         {"unchanged", totals.unchanged},
          {"elsewhere", totals.elsewhere},     {"failed", totals.failed},
          {"damaged", totals.damaged},         {"samples", totals.samples},
          {"dropped", totals.dropped},         {"copy_errors", totals.copy_errors},
          {"unreachable", totals.unreachable}, {"errors", totals.errors}};
}

}  // namespace framewire::app
