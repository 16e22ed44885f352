// framewire batch IN… OUT_DIR
#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <command_line/command.hpp>
#include <command_line/interruption.hpp>
#include <command_line/misuse.hpp>
#include <command_line/numbers.hpp>
#include <commands/batch/engine_choice.hpp>
#include <commands/batch/objects.hpp>
#include <commands/batch/progress_line.hpp>
#include <commands/batch/shards.hpp>
#include <files/file_mode.hpp>
#include <files/inputs.hpp>
#include <filesystem>
#include <framewire/batch.hpp>
#include <framewire/client.hpp>
#include <framewire/engine.hpp>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <report/console.hpp>
#include <report/json.hpp>
#include <thread>
#include <vector>

namespace framewire::app {
namespace {

namespace fs = std::filesystem;

std::atomic<bool> g_interrupted{false};

/// What the command line says, once understood.
struct BatchCommand {
  InputNames inputs;
  std::string manifest;
  bool resume = false;
  std::string output_folder;
  batch::OutputFolderOptions output;
  batch::Shard part;  ///< of the inputs; of files it is in the settings too
  batch::Settings settings;
  EngineChoice engine;
  std::optional<dataset::TarBatchOptions> shards;  ///< set where the inputs are tar shards
  StoreChoice stores;                              ///< of names that begin with s3://
};

/// 0 where --jobs is not there: the batch chooses.
Result<unsigned> parse_jobs(const Arguments& arguments) {
  unsigned jobs = 0;
  if (!arguments.has("jobs")) return jobs;
  const std::string text = arguments.get("jobs");
  if (parse_number(text, 1u, 1024u, jobs)) return jobs;
  return misuse(fmt::format("--jobs: found '{}'; accepted: a whole number from 1 to 1024", text));
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
  const auto shards = take_shards(names->paths, names->list, names->null_separated ? '\0' : '\n');
  if (!shards) return fail(shards.error());
  if (auto good = check_objects(arguments, names->paths, command.output_folder, *shards); !good) {
    return fail(good.error());
  }
  if (*shards) {
    auto options =
        make_shard_options(arguments, command.output_folder, command.part, command.output.mode);
    if (!options) return fail(options.error());
    command.shards = std::move(*options);
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

Result<BatchCommand> make_command(const Arguments& arguments) {
  BatchCommand command;
  command.settings.options = arguments.options;
  command.settings.stop_on_error = arguments.get("on-error") == "fail";
  command.output.in_place = arguments.has("in-place");
  command.manifest = arguments.get("manifest");
  command.resume = arguments.has("resume");
  if (arguments.get("durability") == "file") command.output.durability = batch::Durability::kFile;
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
  if (command.resume && command.manifest.empty() && !command.shards) {
    return misuse("--resume needs --manifest, which tells what is done");
  }
  if (auto ok = check_in_place(command); !ok) return fail(ok.error());
  return command;
}

Json summary_json(const BatchCommand& command, const batch::Summary& summary) {
  Json json = {{"inputs", summary.inputs},       {"ok", summary.ok},
               {"failed", summary.failed},       {"skipped", summary.skipped},
               {"unchanged", summary.unchanged}, {"with_warnings", summary.with_warnings},
               {"errors", summary.errors},       {"bytes_in", summary.bytes_in},
               {"bytes_out", summary.bytes_out}, {"seconds", summary.seconds}};
  const auto done = static_cast<double>(summary.ok);
  json["images_per_second"] = summary.seconds > 0 ? done / summary.seconds : 0.0;
  json["jobs"] = summary.jobs;
  json["shard"] = fmt::format("{}/{}", command.part.index + 1, command.part.count);
  json["output"] = command.output_folder;
  json["manifest"] = command.manifest.empty() ? Json(nullptr) : Json(command.manifest);
  json["options"] = to_string(command.settings.options);
  json["options_hash"] = output_hash(command.settings.options);
  json["interrupted"] = summary.interrupted;
  json["stopped_by"] = summary.stopped_by ? Json(summary.stopped_by->to_string()) : Json(nullptr);
  return json;
}

std::string summary_text(const batch::Summary& summary) {
  std::string text = fmt::format("{} resized", summary.ok);
  if (summary.failed > 0) text += fmt::format(", {} failed", summary.failed);
  if (summary.skipped > 0) text += fmt::format(", {} skipped", summary.skipped);
  if (summary.unchanged > 0) text += fmt::format(", {} done before", summary.unchanged);
  if (summary.with_warnings > 0) text += fmt::format(", {} with warnings", summary.with_warnings);
  text += fmt::format("; {} -> {} in {:.1f} s", human_bytes(summary.bytes_in),
                      human_bytes(summary.bytes_out), summary.seconds);
  if (summary.seconds > 0 && summary.ok > 0) {
    text += fmt::format(", {:.1f} images/s", static_cast<double>(summary.ok) / summary.seconds);
  }
  return text;
}

int exit_code(const batch::Summary& summary) {
  if (summary.stopped_by) return kEnvironment;
  if (summary.interrupted) return kInterrupted;
  return summary.failed > 0 ? kSomeFailed : kAllDone;
}

ProgressLine::When progress_when(const Arguments& arguments) {
  const std::string word = arguments.get("progress");
  if (word == "always") return ProgressLine::When::kAlways;
  if (word == "never" || arguments.has("quiet")) return ProgressLine::When::kNever;
  return ProgressLine::When::kAuto;
}

Result<std::unique_ptr<batch::Manifest>> open_manifest(const BatchCommand& command) {
  if (command.manifest.empty()) return nullptr;
  return batch::open_manifest(
      command.manifest, command.resume ? batch::OpenManifest::kResume : batch::OpenManifest::kNew);
}

batch::RunOptions run_options(ProgressLine& line, batch::Manifest* manifest, batch::Source* ahead) {
  batch::RunOptions with;
  with.manifest = manifest;
  with.count_ahead = ahead;
  with.on_row = [&line](const batch::Row& row) {
    if (row.outcome == batch::Outcome::kFailed) line.message(printable(row.error->to_string()));
  };
  with.on_progress = [&line](const batch::Progress& progress) { line.draw(progress); };
  with.stop = &g_interrupted;
  return with;
}

/// Through the engine that was asked for.
Result<batch::Summary> run_over(BatchCommand& command, batch::Source& source, batch::Sink& sink,
                                const batch::RunOptions& with) {
  if (command.engine.is_another()) {
    auto client = connect(command.engine);
    if (!client) return fail(client.error());
    drain_on_signals(g_interrupted);
    return batch::run(source, sink, *client, command.settings, with);
  }
  auto engine = Engine::make(command.engine.own);
  if (!engine) return fail(engine.error());
  drain_on_signals(g_interrupted);
  return batch::run(source, sink, *engine, command.settings, with);
}

int report_summary(const Arguments& arguments, const BatchCommand& command,
                   const batch::Summary& summary,
                   const std::optional<dataset::ShardTotals>& shards = std::nullopt) {
  if (summary.stopped_by) say(printable("stopped: " + summary.stopped_by->to_string()));
  if (summary.interrupted) {
    say(fmt::format("interrupted; {}", command.manifest.empty() && !shards
                                           ? "with --manifest a batch can be resumed"
                                           : "the same command with --resume goes on from here"));
  }
  if (!arguments.has("quiet")) {
    say(summary_text(summary) + (shards ? shards_text(*shards) : std::string()));
  }
  if (arguments.has("json")) {
    Json json = summary_json(command, summary);
    if (shards) json["shards"] = shards_json(*shards);
    if (!print(pretty(json))) return kEnvironment;
  }
  const int code = exit_code(summary);
  const bool whole = !shards || (shards->failed == 0 && shards->copy_errors == 0);
  return code == kAllDone && !whole ? kSomeFailed : code;
}

bool from_store(const BatchCommand& command) {
  return !command.inputs.paths.empty() && store::is_object_url(command.inputs.paths[0]);
}

/// Where outputs go.
struct OpenSink {
  std::unique_ptr<batch::Sink> sink;
  std::optional<batch::FileId> folder;  ///< which one of this machine
};

// An output folder is made at once: finding out after the first image would be late.
Result<OpenSink> open_sink(BatchCommand& command) {
  if (store::is_object_url(command.output_folder)) {
    auto sink = open_object_outputs(command.output_folder, command.stores);
    if (!sink) return fail(sink.error());
    // Most of a thread's time goes into waiting for the store.
    constexpr unsigned kJobsPerCore = 4;
    constexpr unsigned kMaxJobs = 64;
    if (command.settings.jobs == 0) {
      command.settings.jobs =
          std::clamp(kJobsPerCore * std::thread::hardware_concurrency(), kJobsPerCore, kMaxJobs);
    }
    return OpenSink{std::move(*sink), std::nullopt};
  }
  batch::KnownInputs known;
  if (from_store(command)) {
    known.elsewhere = true;
  } else {
    known = known_inputs(command.inputs);
  }
  auto folder = batch::open_output_folder(command.output_folder, known, command.output);
  if (!folder) return fail(folder.error());
  const batch::FileId id = (*folder)->id();
  return OpenSink{std::move(*folder), id};
}

Result<std::unique_ptr<batch::Source>> open_source(const BatchCommand& command,
                                                   const std::optional<batch::FileId>& folder,
                                                   const batch::Manifest* manifest) {
  if (from_store(command)) {
    return open_objects(command.inputs.paths[0], command.stores,
                        manifest != nullptr ? manifest->done() : nullptr);
  }
  std::vector<batch::FileId> excluded;
  if (folder && !command.output.in_place) excluded.push_back(*folder);
  if (manifest != nullptr) std::ranges::copy(manifest->files(), std::back_inserter(excluded));
  return open_inputs(command.inputs, excluded);
}

// Of a store only names are listed.
template <typename Open>
Result<std::unique_ptr<batch::Source>> open_to_count(const BatchCommand& command, Open open) {
  if (!from_store(command)) return open();
  StoreChoice names_alone = command.stores;
  names_alone.settings.reads_in_flight = 0;
  return open_objects(command.inputs.paths[0], names_alone, nullptr);
}

/// A batch over tar shards.
int run_shards(const Arguments& arguments, BatchCommand& command) {
  ProgressLine line(progress_when(arguments));
  std::mutex line_mutex;
  command.shards->stop = &g_interrupted;
  command.shards->on_error = [&](const Status& error) {
    const std::lock_guard lock(line_mutex);
    line.message(printable(error.to_string()));
  };
  const auto shards = dataset::TarBatch::open(command.inputs.paths, *command.shards);
  if (!shards) return refuse(shards.error());
  batch::RunOptions with = run_options(line, &(*shards)->manifest(), nullptr);
  with.on_row = [&, say_row = with.on_row](const batch::Row& row) {
    const std::lock_guard lock(line_mutex);
    say_row(row);
  };
  with.on_progress = [&, draw = with.on_progress](const batch::Progress& progress) {
    const std::lock_guard lock(line_mutex);
    draw(progress);
  };
  const auto summary = run_over(command, (*shards)->source(), (*shards)->sink(), with);
  line.clear();
  if (!summary) return refuse(summary.error());
  return report_summary(arguments, command, *summary, (*shards)->totals());
}

}  // namespace

int run_batch(const Arguments& arguments) {
  auto made = make_command(arguments);
  if (!made) return report_usage("batch", made.error());
  BatchCommand& command = *made;
  if (command.shards) return run_shards(arguments, command);
  const auto sink = open_sink(command);
  if (!sink) return refuse(sink.error());
  const auto manifest = open_manifest(command);
  if (!manifest) return refuse(manifest.error());
  const auto open = [&] { return open_source(command, sink->folder, manifest->get()); };
  const auto source = open();
  if (!source) return refuse(source.error());
  ProgressLine line(progress_when(arguments));
  std::unique_ptr<batch::Source> ahead;
  if (line.shown() && command.inputs.list != "-") {
    if (auto copy = open_to_count(command, open)) ahead = std::move(*copy);
  }
  const auto summary =
      run_over(command, **source, *sink->sink, run_options(line, manifest->get(), ahead.get()));
  line.clear();
  if (!summary) return refuse(summary.error());
  return report_summary(arguments, command, *summary);
}

}  // namespace framewire::app
