// framewire report DIR [SHARD…]
#include <fmt/format.h>
#include <algorithm>
#include <command_line/command.hpp>
#include <command_line/misuse.hpp>
#include <command_line/store_options.hpp>
#include <commands/report/parquet.hpp>
#include <dataset/braces.hpp>
#include <dataset/object_names.hpp>
#include <dataset/report.hpp>
#include <dataset/shard_names.hpp>
#include <files/name_list.hpp>
#include <files/whole_file.hpp>
#include <iterator>
#include <map>
#include <optional>
#include <report/console.hpp>
#include <report/json.hpp>

namespace framewire::app {
namespace {

/// What the command line says, once understood.
struct ReportCommand {
  dataset::ReportOptions options;
  std::map<std::string, std::string> paths;  ///< of expected shards, by name
};

// The shards that went in, by the names that outputs have.
Result<std::vector<dataset::NamedShard>> name_expected(const std::vector<std::string>& words,
                                                       dataset::ShardNaming naming,
                                                       const StoreChoice& stores) {
  const auto is_url = [](const std::string& word) { return store::is_remote_url(word); };
  if (!words.empty() && std::ranges::all_of(words, is_url)) {
    auto named = dataset::name_object_shards(words, *stores.stores);
    if (!named && named.error().code() == StatusCode::kInvalidInput) {
      return misuse(named.error().to_string());
    }
    return named;
  }
  std::vector<std::string> shards;
  for (const std::string& word : words) {
    auto names = dataset::expand_name(word, dataset::kMaxExpandedNames - shards.size());
    if (!names) return misuse(names.error().to_string());
    std::ranges::move(*names, std::back_inserter(shards));
  }
  auto named = dataset::name_shards(shards, naming);
  if (!named) return misuse(named.error().to_string());
  return named;
}

Result<ReportCommand> make_report_command(const Arguments& arguments) {
  ReportCommand command;
  auto stores = choose_stores(arguments);
  if (!stores) return fail(stores.error());
  command.options.manifests = arguments.paths[0];
  command.options.outputs =
      arguments.has("outputs") ? arguments.get("outputs") : arguments.paths[0];
  command.options.stores = stores->stores;
  const std::vector<std::string> given(arguments.paths.begin() + 1, arguments.paths.end());
  const auto words = read_name_list(given);
  if (!words) return fail(words.error());
  const auto is_url = [](const std::string& word) { return store::is_object_url(word); };
  if (std::ranges::none_of(*words, is_url) && !is_url(command.options.manifests) &&
      !is_url(command.options.outputs)) {
    if (auto none = refuse_store_options(arguments); !none) return fail(none.error());
  }
  const auto named = name_expected(*words, naming_of(given), *stores);
  if (!named) return fail(named.error());
  for (const dataset::NamedShard& shard : *named) {
    command.options.expected.push_back(shard.name);
    command.paths[shard.name] = shard.path;
  }
  return command;
}

bool is_whole(const dataset::DatasetReport& report) {
  return report.with_failures.empty() && report.without_output.empty() &&
         report.unreadable.empty() && report.missing.empty();
}

bool has_no_manifest(const dataset::DatasetReport& report) {
  return report.shards == 0 && report.without_output.empty() && report.unreadable.empty();
}

// Shards that are listed are missing then, which is an answer. Without a list a wrong folder would
// pass for one in which all is done, and a table of no rows would replace one of many.
Result<void> check_without_manifest(const ReportCommand& command, bool table) {
  if (!table && !command.options.expected.empty()) return {};
  return fail(Status(StatusCode::kInvalidInput,
                     table ? "--parquet: found no manifest here; accepted: the folder of a batch's "
                             "manifests"
                           : "found no manifest here; accepted: the folder of a batch's manifests, "
                             "or the names of the shards that went in behind it")
                  .about(command.options.manifests));
}

/// By the paths of what is to be made again, the names that it has.
using RetryList = std::map<std::string, std::string>;

// The path that was given; without one that of the manifest, which may be of the time before the
// shards were moved, and knows no query. Shards that were packed have none of their own.
std::string path_of(const ReportCommand& command, const dataset::ShardRecord& record) {
  const auto given = command.paths.find(record.shard);
  const bool packed = !store::without_query(record.input).ends_with(".tar");
  return packed || given == command.paths.end() ? record.input : given->second;
}

// The shards that a batch with --resume and --retry failed would make. Shards that were packed have
// all been made of one folder or list.
RetryList to_retry(const ReportCommand& command, const dataset::DatasetReport& report) {
  RetryList list;
  for (const auto* records : {&report.with_failures, &report.without_output}) {
    for (const dataset::ShardRecord& record : *records) {
      list.emplace(path_of(command, record), record.shard);
    }
  }
  for (const std::string& name : report.missing) list.emplace(command.paths.at(name), name);
  // What is no manifest may be anything, unless a shard of the list would have its manifest there.
  for (const std::string& manifest : report.unreadable) {
    const auto path = command.paths.find(manifest.substr(0, manifest.rfind('.')));
    if (path != command.paths.end()) list.emplace(path->second, path->first);
  }
  return list;
}

std::string join(std::string_view folder, std::string_view below) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
  return fmt::format("{}/{}", folder, below);
}

// A batch names shards in stores by the folder that holds all of its own, which is deeper where the
// others are missing. @return how OUT_DIR is to be given then
std::string folder_for(const RetryList& list, const ReportCommand& command) {
  std::vector<std::string> urls;
  for (const auto& [path, name] : list) {
    // Not of packed shards, nor of what has lost its path.
    const bool whole = store::without_query(path).ends_with("/" + name);
    if (store::is_remote_url(path) && whole) urls.push_back(path);
  }
  if (urls.empty() || !command.options.stores) return {};
  const auto named = dataset::name_object_shards(urls, *command.options.stores);
  if (!named) return {};
  for (const dataset::NamedShard& shard : *named) {
    const auto found = list.find(shard.path);
    if (found == list.end() || !found->second.ends_with("/" + shard.name)) continue;
    const std::string& wanted = found->second;
    const std::string below = wanted.substr(0, wanted.size() - shard.name.size() - 1);
    const std::string& manifests = command.options.manifests;
    const std::string& outputs = command.options.outputs;
    std::string text =
        fmt::format("a batch over this list alone makes {} of {}, not {}; give it {} as OUT_DIR",
                    shard.name, store::without_query(shard.path), wanted, join(outputs, below));
    if (manifests != outputs) text += ", and --manifest " + join(manifests, below);
    return text;
  }
  return {};
}

std::vector<std::string> names_of(const std::vector<dataset::ShardRecord>& records) {
  std::vector<std::string> names;
  for (const dataset::ShardRecord& record : records) names.push_back(record.shard);
  return names;
}

Json report_json(const dataset::DatasetReport& report) {
  Json json = {{"shards", report.shards},     {"ok", report.ok},
               {"failed", report.failed},     {"copied", report.copied},
               {"samples", report.samples},   {"dropped", report.dropped},
               {"bytes_in", report.bytes_in}, {"bytes_out", report.bytes_out},
               {"seconds", report.seconds},   {"errors", report.errors},
               {"options", report.options}};
  json["with_failures"] = Json::array();
  for (const dataset::ShardRecord& record : report.with_failures) {
    json["with_failures"].push_back(
        {{"shard", record.shard},
         {"failed", record.failed},
         {"damaged_at", record.damaged_at ? Json(*record.damaged_at) : Json(nullptr)}});
  }
  json["without_output"] = names_of(report.without_output);
  json["unreadable"] = report.unreadable;
  json["missing"] = report.missing;
  return json;
}

std::string named(std::string_view title, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  std::string text = fmt::format("{}: {}\n", title, names.size());
  for (const std::string& name : names) text += "  " + printable(name) + "\n";
  return text;
}

std::string report_text(const dataset::DatasetReport& report) {
  std::string text =
      fmt::format("{} shards: {} pictures resized, {} failed; {} -> {}\n", report.shards, report.ok,
                  report.failed, human_bytes(report.bytes_in), human_bytes(report.bytes_out));
  text += fmt::format("{} samples, {} left out; {} other members\n", report.samples, report.dropped,
                      report.copied);
  if (report.options.size() > 1) {
    text += fmt::format("made with {} different sets of options\n", report.options.size());
  }
  if (!report.errors.empty()) text += "failed, by class:\n";
  for (const auto& [name, count] : report.errors) {
    text += fmt::format("  {:<14} {}\n", printable(name), count);
  }
  std::vector<std::string> lines;
  for (const dataset::ShardRecord& record : report.with_failures) {
    lines.push_back(fmt::format("{}: {} failed", record.shard, record.failed));
    if (record.damaged_at) lines.back() += fmt::format(", read to byte {}", *record.damaged_at);
  }
  return text + named("shards with failures", lines) +
         named("shards without their output", names_of(report.without_output)) +
         named("manifests that cannot be read", report.unreadable) +
         named("missing shards", report.missing);
}

/// Why a list of shards cannot hold a name. Another batch's manifest may name anything.
std::optional<std::string_view> unlistable(const std::string& path) {
  if (path.find_first_of("\n\r") != std::string::npos) {
    return "has a line break, which a list cannot hold";
  }
  if (!store::is_remote_url(path)) return std::nullopt;  // a file that is there is meant itself
  // The query of a web server's address begins with '?', and has no wildcards.
  const bool web = store::is_web_url(path);
  const bool wildcard =
      store::without_query(path).find_first_of(web ? "*" : "*?") != std::string_view::npos;
  const auto names = dataset::expand_braces(path, 1);
  if (wildcard || !names || *names != std::vector<std::string>{path}) {
    return "has a brace or a wildcard, which a list would take for many names";
  }
  return std::nullopt;
}

}  // namespace

int run_report(const Arguments& arguments) {
  auto command = make_report_command(arguments);
  if (!command && command.error().code() != StatusCode::kInvalidInput) {
    return refuse(command.error());
  }
  if (!command) return report_usage("report", command.error());
  const bool list = arguments.has("retry-list");
  const bool rows = arguments.has("failures");
  if (list && (rows || arguments.has("json"))) {
    return report_usage("report", "--retry-list prints names alone; give it without the others");
  }
  if (arguments.get("parquet") == "-") {
    return report_usage("report",
                        "--parquet: a table is not written to standard output; accepted: a file");
  }
  bool printed = true;
  if (rows) {
    command->options.on_failed = [&](const dataset::FailedRow& row) {
      printed = printed && print(fmt::format("{}: {}: {}\n", printable(row.error_class),
                                             printable(row.input), printable(row.message)));
    };
  }
  std::optional<ParquetWriter> parquet;
  if (arguments.has("parquet")) {
    const auto is_parquet = [](std::string_view text) { return text.starts_with("PAR1"); };
    if (auto good = check_replaceable(arguments.get("parquet"), is_parquet); !good) {
      return refuse(good.error());
    }
    auto started = ParquetWriter::start(arguments.get("parquet"));
    if (!started) return refuse(started.error());
    parquet.emplace(std::move(*started));
    if (store::is_object_url(command->options.manifests)) {
      command->options.on_line = [&](const std::string& shard, std::string_view line) {
        parquet->add_line(shard, line);
      };
    } else {
      command->options.on_manifest = [&](const std::string& shard, const std::string& manifest) {
        parquet->add(shard, manifest);
      };
    }
  }
  const auto report = dataset::make_report(command->options);
  if (!report) return refuse(report.error());
  if (has_no_manifest(*report)) {
    if (auto meant = check_without_manifest(*command, parquet.has_value()); !meant) {
      return refuse(meant.error());
    }
  }
  if (parquet && !parquet->finish()) return kEnvironment;
  if (list) {
    RetryList listed;
    for (const auto& [path, name] : to_retry(*command, *report)) {
      if (const auto reason = unlistable(path)) {
        const std::string shown(store::without_query(path));
        say(fmt::format("invalid_input: {}: {}", printable(shown), *reason));
        continue;
      }
      const bool file = !store::is_remote_url(path);
      printed = printed && print((file ? dataset::list_entry(path, name) : path) + "\n");
      listed.emplace(path, name);
    }
    if (const std::string text = folder_for(listed, *command); !text.empty()) say(printable(text));
  } else if (arguments.has("json")) {
    printed = printed && print(pretty(report_json(*report)));
  } else {
    printed = printed && print(report_text(*report));
  }
  if (!printed) return kEnvironment;
  return is_whole(*report) ? kAllDone : kSomeFailed;
}

}  // namespace framewire::app
