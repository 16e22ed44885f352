#include <fmt/format.h>
#include <command_line/misuse.hpp>
#include <command_line/numbers.hpp>
#include <commands/batch/batch_command.hpp>
#include <commands/batch/objects.hpp>
#include <commands/batch/packing.hpp>
#include <commands/batch/shards.hpp>
#include <dataset/object_names.hpp>
#include <files/file_mode.hpp>
#include <filesystem>
#include <utility>

namespace framewire::app {
namespace {

namespace fs = std::filesystem;

/// 0 where --jobs is not there: the batch chooses.
Result<unsigned> parse_jobs(const Arguments& arguments) {
  unsigned jobs = 0;
  if (!arguments.has("jobs")) return jobs;
  const std::string text = arguments.get("jobs");
  if (parse_number(text, 1u, 1024u, jobs)) return jobs;
  return misuse(fmt::format("--jobs: found '{}'; accepted: a whole number from 1 to 1024", text));
}

/// Reads --pack and --unpack. @return whether either is given
Result<bool> take_packing(const Arguments& arguments, const InputNames& names, bool shards,
                          BatchCommand& command) {
  auto pack =
      make_pack_options(arguments, command.output_folder, names, command.part, command.output.mode);
  if (!pack) return fail(pack.error());
  auto unpack = make_unpack_options(arguments, command.part);
  if (!unpack) return fail(unpack.error());
  if (*pack && shards) {
    return misuse("--pack makes shards of files, and IN is shards; accepted: a folder or files");
  }
  if (*unpack && !shards) {
    return misuse("--unpack makes files of shards; accepted where IN is names that end in .tar");
  }
  const bool pattern = command.output_folder.ends_with(".tar");
  if (!*pack && pattern && command.output_folder.find('%') != std::string::npos) {
    return misuse("OUT_DIR is a pattern of shards; give --pack with their size");
  }
  command.pack = std::move(*pack);
  command.unpack = std::move(*unpack);
  return command.pack || command.unpack;
}

/// The inputs and the output folder.
Result<void> take_paths(const Arguments& arguments, BatchCommand& command) {
  std::vector<std::string> inputs = arguments.paths;
  command.output_folder = inputs.back();
  inputs.pop_back();
  if (command.output_folder == "-") {
    return misuse("a batch cannot write to standard output; give a folder");
  }
  const std::string list = arguments.get("files-from");
  if (list.empty() && inputs.empty()) {
    return misuse("found one path; accepted: framewire batch IN… OUT_DIR");
  }
  auto names = make_input_names(std::move(inputs), list, arguments.has("null"));
  if (!names) return fail(names.error());
  // A folder in a list fails by itself.
  for (const std::string& word : names->paths) {
    if (auto good = dataset::check_web_name(word); !good) return misuse(good.error().to_string());
  }
  const bool listed = !names->list.empty();
  const auto shards = take_shards(names->paths, names->list, names->null_separated ? '\0' : '\n');
  if (!shards) return fail(shards.error());
  if (auto good = check_objects(arguments, names->paths, command.output_folder, *shards); !good) {
    return fail(good.error());
  }
  if (auto taken = take_packing(arguments, *names, *shards, command); !taken || *taken) {
    if (!taken) return fail(taken.error());
    command.inputs = std::move(*names);
    return {};
  }
  if (*shards) {
    auto options =
        make_shard_options(arguments, command.output_folder, command.part, command.output.mode);
    if (!options) return fail(options.error());
    command.shards = std::move(*options);
    if (listed) command.shards->naming = dataset::ShardNaming::kAsWritten;
    command.shards->stores = command.stores.stores;
    command.shards->store_bytes = command.stores.memory_bytes;
    command.inputs.paths = std::move(names->paths);
    return {};
  }
  if (auto none = refuse_shard_options(arguments); !none) return fail(none.error());
  command.settings.shard = command.part;
  command.inputs = std::move(*names);
  return {};
}

Result<void> check_in_place(const BatchCommand& command) {
  if (command.output.in_place && command.resume) {
    return misuse("--resume cannot tell what --in-place has replaced already; give one of them");
  }
  std::error_code error;
  const bool same = command.inputs.paths.size() == 1 &&
                    fs::equivalent(command.inputs.paths[0], command.output_folder, error);
  if (!same || command.output.in_place) return {};
  return misuse("OUT_DIR is IN itself; give another folder, or --in-place to replace the inputs");
}

// Each would write over the other.
Result<void> check_metrics_file(const std::string& metrics, const std::string& manifest) {
  if (metrics.empty() || manifest.empty() || store::is_object_url(manifest)) return {};
  std::error_code error;
  const bool same = fs::equivalent(metrics, manifest, error) ||
                    fs::weakly_canonical(fs::absolute(metrics, error), error) ==
                        fs::weakly_canonical(fs::absolute(manifest, error), error);
  if (!same) return {};
  return misuse(
      fmt::format("--metrics-file: {} is the manifest, too; accepted: two files", metrics));
}

}  // namespace

Result<BatchCommand> make_batch_command(const Arguments& arguments) {
  BatchCommand command;
  command.settings.options = arguments.options;
  command.settings.stop_on_error = arguments.get("on-error") == "fail";
  command.output.in_place = arguments.has("in-place");
  command.manifest = arguments.get("manifest");
  command.resume = arguments.has("resume");
  if (auto ok = check_metrics_file(arguments.get("metrics-file"), command.manifest); !ok) {
    return fail(ok.error());
  }
  // What takes an input's place is on the disk before, unless told otherwise.
  const bool flushes = arguments.get("durability") == "file" ||
                       (command.output.in_place && !arguments.has("durability"));
  if (flushes) command.output.durability = batch::Durability::kFile;
  const auto mode = parse_mode(arguments);
  if (!mode) return fail(mode.error());
  command.output.mode = *mode;
  auto engine = choose_engine(arguments);
  if (!engine) return fail(engine.error());
  command.engine = std::move(*engine);
  const auto jobs = parse_jobs(arguments);
  if (!jobs) return fail(jobs.error());
  command.settings.jobs = *jobs;
  const auto shard = parse_shard(arguments.get("shard"));
  if (!shard) return fail(shard.error());
  command.part = *shard;
  auto stores = choose_stores(arguments);
  if (!stores) return fail(stores.error());
  command.stores = std::move(*stores);
  if (auto ok = take_paths(arguments, command); !ok) return fail(ok.error());
  if (command.resume && command.manifest.empty() && !command.shards && !command.pack) {
    return misuse("--resume needs --manifest, which tells what is done");
  }
  if (auto ok = check_in_place(command); !ok) return fail(ok.error());
  return command;
}

}  // namespace framewire::app
