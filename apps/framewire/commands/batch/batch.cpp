// framewire batch IN… OUT_DIR
#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <base/cores.hpp>
#include <command_line/command.hpp>
#include <command_line/interruption.hpp>
#include <commands/batch/batch_command.hpp>
#include <commands/batch/batch_progress.hpp>
#include <commands/batch/engine_choice.hpp>
#include <commands/batch/objects.hpp>
#include <commands/batch/packing.hpp>
#include <commands/batch/shard_hints.hpp>
#include <commands/batch/shards.hpp>
#include <commands/batch/summary.hpp>
#include <dataset/object_manifest.hpp>
#include <dataset/object_names.hpp>
#include <dataset/object_source.hpp>
#include <dataset/passing_error.hpp>
#include <dataset/shard_open.hpp>
#include <files/inputs.hpp>
#include <filesystem>
#include <framewire/batch.hpp>
#include <framewire/client.hpp>
#include <framewire/engine.hpp>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <report/console.hpp>
#include <report/json.hpp>
#include <utility>
#include <vector>

namespace framewire::app {
namespace {

std::atomic<bool> g_interrupted{false};

/// What a batch over shards says besides its summary.
struct ShardsSaid {
  std::string text;
  std::string_view key;  ///< of the JSON
  Json json;
  bool whole = true;       ///< nothing failed that the summary does not count
  bool retryable = false;  ///< there is something for another try to make
  std::string hint{};      ///< a line below the summary
};

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

/// Where rows go.
struct RowsPlace {
  std::unique_ptr<batch::Manifest> manifest;
  dataset::ObjectManifest* in_store = nullptr;  ///< the same, to be finished
};

/// Whether there is something to open already.
bool has_manifest(const BatchCommand& command) {
  std::error_code error;
  return store::is_object_url(command.manifest) || std::filesystem::exists(command.manifest, error);
}

Result<RowsPlace> open_manifest(const BatchCommand& command) {
  RowsPlace place;
  if (command.manifest.empty()) return place;
  if (store::is_object_url(command.manifest)) {
    auto where = dataset::open_prefix(command.manifest, *command.stores.stores);
    if (!where) return fail(where.error());
    auto opened =
        dataset::ObjectManifest::open({.where = std::move(*where), .resume = command.resume});
    if (!opened) return fail(opened.error());
    place.in_store = opened->get();
    place.manifest = std::move(*opened);
    return place;
  }
  auto opened = batch::open_manifest(
      command.manifest, command.resume ? batch::OpenManifest::kResume : batch::OpenManifest::kNew);
  if (!opened) return fail(opened.error());
  place.manifest = std::move(*opened);
  return place;
}

batch::RunOptions run_options(BatchProgress& progress, batch::Manifest* manifest,
                              batch::Source* ahead) {
  batch::RunOptions with;
  with.manifest = manifest;
  with.count_ahead = ahead;
  with.on_row = [&progress](const batch::Row& row) { progress.row(row); };
  with.on_progress = [&progress](const batch::Progress& so_far) { progress.draw(so_far); };
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
                   const batch::Summary& summary, const ShardsSaid& shards = {}) {
  if (summary.stopped_by) say(printable("stopped: " + summary.stopped_by->to_string()));
  if (summary.interrupted) {
    say(fmt::format("interrupted; {}", command.manifest.empty() && shards.key.empty()
                                           ? "with --manifest a batch can be resumed"
                                           : "the same command with --resume goes on from here"));
  }
  if (!arguments.has("quiet")) {
    say(summary_text(summary) + shards.text);
    if (!shards.hint.empty()) say(shards.hint);
  }
  if (arguments.has("json")) {
    Json json = summary_json(command, summary);
    if (!shards.key.empty()) json[shards.key] = shards.json;
    if (!print(pretty(json))) return kEnvironment;
  }
  const int code = exit_code(summary);
  if (shards.retryable && code != kInterrupted) return kEnvironment;
  return code == kAllDone && !shards.whole ? kSomeFailed : code;
}

/// Those of a batch's part that are done with.
ShardsDone shards_done(const dataset::ShardTotals& totals, std::size_t shards,
                       const batch::Shard& part) {
  const std::uint64_t ours = shards / part.count + (part.index < shards % part.count ? 1 : 0);
  return {totals.written + totals.unchanged + totals.elsewhere + totals.failed, ours, totals.failed,
          totals.errors, 0};
}

/// Takes rows that are no picture's out of the sums over pictures.
void leave_out(const std::vector<StatusCode>& rows, batch::Summary& summary) {
  summary.inputs -= rows.size();
  summary.failed -= rows.size();
  for (const StatusCode code : rows) {
    const auto found = summary.errors.find(std::string(to_string(code)));
    if (found != summary.errors.end() && --found->second == 0) summary.errors.erase(found);
  }
}

/// A batch over tar shards.
int run_shards(const Arguments& arguments, BatchCommand& command, BatchProgress& progress) {
  command.shards->stop = &g_interrupted;
  command.shards->on_error = [&progress](const Status& error) { progress.error(error); };
  command.shards->on_written = [&progress](const std::string& input,
                                           const dataset::ShardRows& rows) {
    progress.shard(input, rows);
  };
  const auto shards = dataset::TarBatch::open(command.inputs.paths, *command.shards);
  if (!shards) return refuse(shards.error());
  progress.count_shards(
      [&] { return shards_done((*shards)->totals(), (*shards)->shards(), command.shards->part); });
  batch::RunOptions with = run_options(progress, &(*shards)->manifest(), nullptr);
  std::vector<StatusCode> no_pictures;
  with.on_row = [&](const batch::Row& row) {
    if (!dataset::is_row_of_shard(row)) return progress.row(row);
    progress.row_of_shard(*row.error);
    no_pictures.push_back(row.error->code());
  };
  auto summary = run_over(command, (*shards)->source(), (*shards)->sink(), with);
  progress.end();
  if (!summary) return refuse(summary.error());
  leave_out(no_pictures, *summary);
  const dataset::ShardTotals totals = (*shards)->totals();
  return report_summary(arguments, command, *summary,
                        {shards_text(totals), "shards", shards_json(totals),
                         totals.failed == 0 && totals.copy_errors == 0, totals.unreachable > 0});
}

bool is_from_store(const BatchCommand& command) {
  return !command.inputs.paths.empty() && store::is_remote_url(command.inputs.paths[0]);
}

/// To list what there is.
StoreChoice names_alone(StoreChoice stores) {
  stores.settings.reads_in_flight = 0;
  return stores;
}

// Most of a thread's time goes into waiting for the store.
void use_more_jobs(BatchCommand& command) {
  constexpr unsigned kJobsPerCore = 4;
  constexpr unsigned kMaxJobs = 64;
  if (command.settings.jobs != 0) return;
  command.settings.jobs = std::clamp(kJobsPerCore * base::usable_cores(), kJobsPerCore, kMaxJobs);
}

std::uint64_t max_picture_bytes(const BatchCommand& command) {
  return command.settings.options.limits.max_input_bytes;
}

/// What packing needs where pictures lie in a store.
void set_up_objects(BatchCommand& command) {
  command.pack->stores = command.stores.stores;
  if (!is_from_store(command)) return;
  command.pack->read_sidecar = object_sidecars(command.stores);
  const bool waits = !command.pack->sidecars.empty() || are_named_objects(command.inputs.paths);
  if (waits) use_more_jobs(command);
}

Result<std::unique_ptr<batch::Source>> open_to_pack(
    const BatchCommand& command, const StoreChoice& stores,
    std::function<bool(const std::string&)> wanted) {
  if (!is_from_store(command)) return open_inputs(command.inputs, {});
  return open_objects(command.inputs.paths, stores, max_picture_bytes(command), std::move(wanted),
                      &g_interrupted);
}

/// A batch that packs files into shards.
int run_packing(const Arguments& arguments, BatchCommand& command, BatchProgress& progress) {
  command.pack->stop = &g_interrupted;
  set_up_objects(command);
  const auto pack = dataset::PackBatch::open(
      [&command](std::function<bool(const std::string&)> wanted) {
        return open_to_pack(command, command.stores, std::move(wanted));
      },
      *command.pack);
  if (!pack) return refuse(pack.error());
  progress.count_shards([&] {
    return ShardsDone{(*pack)->shards_written(), std::nullopt, 0, {}, (*pack)->passed_over()};
  });
  std::unique_ptr<batch::Source> ahead;
  if (progress.shows_total() && command.inputs.list != "-") {
    if (auto copy = open_to_pack(command, names_alone(command.stores), {})) {
      ahead = (*pack)->count_ahead(std::move(*copy));
    }
  }
  const auto summary = run_over(command, (*pack)->source(), (*pack)->sink(),
                                run_options(progress, &(*pack)->manifest(), ahead.get()));
  progress.end();
  if (!summary) return refuse(summary.error());
  const dataset::PackTotals totals = (*pack)->totals();
  return report_summary(
      arguments, command, *summary,
      {packed_text(totals), "pack", packed_json(totals), true, totals.put_off > 0});
}

/// Where outputs go.
struct OpenSink {
  std::unique_ptr<batch::Sink> sink;
  std::optional<batch::FileId> folder;  ///< which one of this machine
};

batch::KnownInputs inputs_of(const BatchCommand& command) {
  batch::KnownInputs known;
  if (is_from_store(command)) {
    known.elsewhere = true;
    return known;
  }
  if (!command.unpack) return known_inputs(command.inputs);
  known.files = command.inputs.paths;
  known.list = command.inputs.list;
  return known;
}

// An output folder is made at once: finding out after the first image would be late.
Result<OpenSink> open_sink(BatchCommand& command) {
  if (store::is_object_url(command.output_folder)) {
    auto sink = open_object_outputs(command.output_folder, command.stores);
    if (!sink) return fail(sink.error());
    use_more_jobs(command);
    return OpenSink{std::move(*sink), std::nullopt};
  }
  auto folder =
      batch::open_output_folder(command.output_folder, inputs_of(command), command.output);
  if (!folder) return fail(folder.error());
  const batch::FileId id = (*folder)->id();
  return OpenSink{std::move(*folder), id};
}

/// @param manifest  null: none, or for a source that only counts
/// @param sink      where members go that are no pictures; null: they are passed over
Result<std::unique_ptr<batch::Source>> open_source(const BatchCommand& command,
                                                   const OpenSink& outputs,
                                                   const batch::Manifest* manifest,
                                                   batch::Sink* sink) {
  if (command.unpack) {
    auto shards = dataset::name_all_shards(command.inputs.paths, dataset::ShardNaming::kBelowFolder,
                                           command.stores.stores.get());
    if (!shards) return fail(shards.error());
    dataset::UnpackOptions options = *command.unpack;
    options.sink = sink;
    options.stores = command.stores.stores;
    options.store_bytes = command.stores.memory_bytes;
    return std::make_unique<dataset::UnpackSource>(std::move(*shards), std::move(options));
  }
  if (is_from_store(command)) {
    const batch::DoneIndex* done = manifest != nullptr ? manifest->done() : nullptr;
    return open_objects(command.inputs.paths, command.stores, max_picture_bytes(command),
                        dataset::not_made_before(command.part, done), &g_interrupted);
  }
  std::vector<batch::FileId> excluded;
  if (outputs.folder && !command.output.in_place) excluded.push_back(*outputs.folder);
  if (manifest != nullptr) std::ranges::copy(manifest->files(), std::back_inserter(excluded));
  return open_inputs(command.inputs, excluded);
}

/// The same once more, to be counted. Of pictures in a store only names are listed; of shards there
/// too much would be read.
/// @return null where there is no way to count
Result<std::unique_ptr<batch::Source>> open_to_count(const BatchCommand& command,
                                                     const OpenSink& outputs,
                                                     const batch::Manifest* manifest) {
  if (!is_from_store(command)) return open_source(command, outputs, manifest, nullptr);
  if (command.unpack) return nullptr;
  return open_objects(command.inputs.paths, names_alone(command.stores), max_picture_bytes(command),
                      {}, &g_interrupted);
}

/// A batch of which every output is a file, or an object.
int run_files(const Arguments& arguments, BatchCommand& command, BatchProgress& progress) {
  std::atomic<bool> retryable{false};
  if (command.unpack) command.unpack->unreachable = &retryable;
  if (!command.unpack && are_named_objects(command.inputs.paths)) use_more_jobs(command);
  // A manifest that is there may be refused, and then no folder is made. One that is not there may
  // get its place in that folder.
  const bool manifest_first = has_manifest(command);
  auto rows = manifest_first ? open_manifest(command) : Result<RowsPlace>(RowsPlace{});
  if (!rows) return refuse(rows.error());
  const auto outputs = open_sink(command);
  if (!outputs) return refuse(outputs.error());
  if (!manifest_first) rows = open_manifest(command);
  if (!rows) return refuse(rows.error());
  batch::Manifest* const manifest = rows->manifest.get();
  const auto source = open_source(command, *outputs, manifest, outputs->sink.get());
  if (!source) return refuse(source.error());
  std::unique_ptr<batch::Source> ahead;
  if (progress.shows_total() && command.inputs.list != "-") {
    if (auto copy = open_to_count(command, *outputs, manifest)) ahead = std::move(*copy);
  }
  batch::RunOptions with = run_options(progress, manifest, ahead.get());
  SkippedShards skipped;
  with.on_row = [&](const batch::Row& row) {
    if (dataset::failed_in_passing(row)) retryable = true;
    if (!command.unpack) skipped.add(row);
    auto hinted = with_list_hint(row, command.inputs);
    if (!hinted) return progress.row(row);
    batch::Row copy = row;
    copy.error = std::move(*hinted);
    progress.row(copy);
  };
  const auto summary = run_over(command, **source, *outputs->sink, with);
  progress.end();
  const auto stored = rows->in_store != nullptr ? rows->in_store->finish() : Result<void>();
  if (!summary) return refuse(summary.error());
  if (!stored && !summary->stopped_by) {
    auto stopped = *summary;
    stopped.stopped_by = stored.error();
    return report_summary(arguments, command, stopped);
  }
  ShardsSaid said;
  said.retryable = retryable;
  said.hint = skipped.text();
  return report_summary(arguments, command, *summary, said);
}

}  // namespace

int run_batch(const Arguments& arguments) {
  auto made = make_batch_command(arguments);
  if (!made && made.error().code() != StatusCode::kInvalidInput) return refuse(made.error());
  if (!made) return report_usage("batch", made.error());
  if (auto ready = check_stores(made->stores, made->inputs.paths); !ready) {
    return refuse(ready.error());
  }
  if (!made->shards && !made->unpack && !is_from_store(*made)) {
    if (auto good = check_inputs(made->inputs); !good) return refuse(good.error());
  }
  const auto progress = BatchProgress::open(arguments);
  if (!progress) return refuse(progress.error());
  if (made->shards) return run_shards(arguments, *made, **progress);
  if (made->pack) return run_packing(arguments, *made, **progress);
  return run_files(arguments, *made, **progress);
}

}  // namespace framewire::app
