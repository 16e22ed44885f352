// framewire index SHARD…
#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <base/cores.hpp>
#include <command_line/command.hpp>
#include <command_line/misuse.hpp>
#include <command_line/numbers.hpp>
#include <command_line/store_options.hpp>
#include <commands/index/index_place.hpp>
#include <dataset/braces.hpp>
#include <dataset/passing_error.hpp>
#include <dataset/shard_index.hpp>
#include <dataset/shard_open.hpp>
#include <dataset/walked_shard.hpp>
#include <files/name_list.hpp>
#include <filesystem>
#include <iterator>
#include <optional>
#include <report/console.hpp>
#include <span>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace framewire::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWidsName = "shardindex.json";

/// What the command line says, once understood.
struct IndexCommand {
  std::vector<dataset::NamedShard> shards;
  bool dali = true;
  bool wids = true;
  std::string wids_file;
  std::string out;  ///< empty: beside the shards
  unsigned jobs = 1;
  StoreChoice stores;
};

/// What became of one shard.
struct Indexed {
  std::optional<Status> error;
  bool opened = false;
  bool read = false;       ///< to its end
  bool unwritten = false;  ///< the shard was read, and its index could not be written
  dataset::WidsShard wids;
};

// "FOLDER/NAME", whether or not the folder ends in '/'.
std::string below(const std::string& folder, const std::string& name) {
  return folder.ends_with('/') ? folder + name : folder + "/" + name;
}

// @return misuse(), or what a listing says
Result<std::vector<dataset::NamedShard>> name_shards_of(const std::vector<std::string>& words,
                                                        dataset::ShardNaming naming,
                                                        const StoreChoice& stores) {
  std::vector<std::string> all;
  for (const std::string& word : words) {
    auto names = dataset::expand_name(word, dataset::kMaxExpandedNames - all.size());
    if (!names) return misuse(names.error().to_string());
    std::ranges::move(*names, std::back_inserter(all));
  }
  auto shards = dataset::name_all_shards(all, naming, stores.stores.get());
  if (!shards && shards.error().code() == StatusCode::kInvalidInput) {
    return misuse(shards.error().to_string());
  }
  return shards;
}

// As DALI names it: what follows the first dot of the last part is taken off.
std::string dali_path(const IndexCommand& command, const dataset::NamedShard& shard) {
  const fs::path path(command.out.empty() ? shard.path : below(command.out, shard.name));
  const std::string name = path.filename();
  return path.parent_path() / (name.substr(0, name.find('.', 1)) + ".idx");
}

Result<void> check_dali_paths(const IndexCommand& command) {
  if (!command.dali) return {};
  std::unordered_map<std::string, std::string_view> shards;
  for (const dataset::NamedShard& shard : command.shards) {
    const std::string path = dali_path(command, shard);
    const auto [other, is_new] = shards.try_emplace(path, shard.path);
    if (is_new) continue;
    return misuse(fmt::format(
        "{} and {} would both have the index {}, since DALI names it by what stands before the "
        "first dot; accepted: other names, or --format wids",
        store::without_query(other->second), store::without_query(shard.path),
        store::without_query(path)));
  }
  return {};
}

bool is_same_place(const std::string& one, const std::string& other) {
  std::error_code error;
  if (one == other || fs::equivalent(one, other, error)) return true;
  return fs::path(one).filename() == fs::path(other).filename() &&
         fs::weakly_canonical(fs::absolute(one, error), error) ==
             fs::weakly_canonical(fs::absolute(other, error), error);
}

// Before any shard is read.
Result<void> check_wids_file(const IndexCommand& command) {
  if (!command.wids) return {};
  const std::string& file = command.wids_file;
  for (const dataset::NamedShard& shard : command.shards) {
    if (is_same_place(file, shard.path)) {
      return misuse(fmt::format("--wids: {} is a shard; accepted: another name", file));
    }
    if (!command.dali || !is_same_place(file, dali_path(command, shard))) continue;
    return misuse(
        fmt::format("--wids: {} is the index of {} for DALI; accepted: another name, or "
                    "--format wids",
                    file, store::without_query(shard.path)));
  }
  if (auto good = check_index_place(file, *command.stores.stores); !good) {
    if (good.error().code() != StatusCode::kInvalidInput) return good;
    return misuse(fmt::format("--wids: {} {}", file, good.error().message()));
  }
  return {};
}

Result<IndexCommand> make_index_command(const Arguments& arguments) {
  IndexCommand command;
  auto stores = choose_stores(arguments);
  if (!stores) return fail(stores.error());
  command.stores = std::move(*stores);
  const std::string format = arguments.get("format");
  command.dali = format != "wids";
  command.wids = format != "dali";
  command.wids_file = arguments.get("wids");
  command.out = arguments.get("out");
  if (!command.wids_file.empty() && !command.wids) {
    return misuse("--wids names the file of an index that --format dali leaves out");
  }
  const auto words = read_name_list(arguments.paths);
  if (!words) return fail(words.error());
  if (std::ranges::any_of(*words, store::is_web_url) && command.out.empty()) {
    return misuse("web servers can only be read; give --out with a folder or s3://BUCKET/PREFIX/");
  }
  if (std::ranges::none_of(*words, store::is_remote_url) &&
      !store::is_object_url(command.wids_file) && !store::is_object_url(command.out)) {
    if (auto none = refuse_store_options(arguments); !none) return fail(none.error());
  }
  command.jobs = std::clamp(base::usable_cores(), 1u, 1024u);
  const std::string jobs = arguments.get("jobs");
  if (arguments.has("jobs") && !parse_number(jobs, 1u, 1024u, command.jobs)) {
    return misuse(fmt::format("--jobs: found '{}'; accepted: a whole number from 1 to 1024", jobs));
  }
  auto shards = name_shards_of(*words, naming_of(arguments.paths), command.stores);
  if (!shards) return fail(shards.error());
  command.shards = std::move(*shards);
  if (auto apart = check_dali_paths(command); !apart) return fail(apart.error());
  if (command.wids_file.empty()) {
    command.wids_file = command.out.empty()
                            ? (fs::path(command.shards[0].path).parent_path() / kWidsName).string()
                            : below(command.out, kWidsName);
  }
  return command;
}

// wids looks for shards from the folder of its index on.
std::string url_from(const std::string& shard, const std::string& index) {
  // A query may be a signature.
  if (store::is_web_url(shard)) return std::string(store::without_query(shard));
  if (store::is_object_url(shard) || store::is_object_url(index)) {
    const std::string folder = index.substr(0, index.rfind('/') + 1);
    return store::is_object_url(shard) && shard.starts_with(folder) ? shard.substr(folder.size())
                                                                    : shard;
  }
  std::error_code error;
  const fs::path folder = fs::absolute(fs::path(index), error).parent_path();
  const fs::path relative = fs::absolute(shard, error).lexically_relative(folder);
  return relative.empty() ? shard : relative.string();
}

/// @param indexed  gets how far it came
Result<dataset::WidsShard> index_one(const IndexCommand& command, const dataset::NamedShard& shard,
                                     dataset::PieceCache& pieces, Indexed& indexed) {
  const auto input = dataset::open_shard_input(shard, command.stores.stores.get(), pieces);
  if (!input) return fail(input.error());
  indexed.opened = true;
  dataset::WalkedShard walked(**input, command.wids);
  const auto index = dataset::index_shard(walked, (*input)->bytes());
  if (!index) return fail(index.error());
  indexed.read = true;
  dataset::WidsShard entry{url_from(shard.path, command.wids_file), "", index->samples.size(),
                           (*input)->bytes()};
  if (command.wids) {
    auto md5 = walked.md5();
    if (!md5) return fail(md5.error());
    entry.md5 = std::move(*md5);
  }
  if (!command.dali) return entry;
  const auto text = dataset::to_dali_index(*index);
  if (!text) return fail(text.error());
  auto written =
      write_index(dali_path(command, shard), *text, !command.out.empty(), *command.stores.stores);
  indexed.unwritten = !written;
  if (!written) return fail(written.error());
  return entry;
}

Status about_shard(const Status& error, const std::string& path) {
  if (!error.subject().empty()) return error;
  Status named = Status(error.code(), error.message()).about(path);
  return error.offset() ? Status(std::move(named)).at(*error.offset()) : named;
}

std::vector<Indexed> index_all(const IndexCommand& command) {
  std::vector<Indexed> results(command.shards.size());
  const auto helpers =
      static_cast<unsigned>(std::min<std::size_t>(command.jobs, results.size()) - 1);
  dataset::PieceCache pieces({.max_bytes = command.stores.memory_bytes, .objects = helpers + 1});
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < results.size(); i = next++) {
      auto shard = index_one(command, command.shards[i], pieces, results[i]);
      if (shard) {
        results[i].wids = std::move(*shard);
      } else {
        results[i].error = about_shard(shard.error(), command.shards[i].path);
      }
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < helpers; ++i) threads.emplace_back(work);
  work();
  threads.clear();
  return results;
}

// A shard that was opened, and has no index any more: an earlier one tells of what it was before.
bool has_no_index(const Indexed& indexed) {
  if (!indexed.error || !indexed.opened || indexed.unwritten) return false;
  // What an archive's bytes say has its place there; what a server says has none.
  return indexed.read || indexed.error->offset().has_value();
}

// Readers would go by it, beyond the end of a shard. @return the exit code
int remove_stale(const IndexCommand& command, const std::string& path) {
  const auto removed = remove_index(path, *command.stores.stores);
  if (!removed) return report(removed.error());
  if (*removed) say(path + " is removed: a shard is not what it tells of any more");
  return kAllDone;
}

}  // namespace

int run_index(const Arguments& arguments) {
  const auto command = make_index_command(arguments);
  if (!command && command.error().code() != StatusCode::kInvalidInput) {
    return refuse(command.error());
  }
  if (!command) return report_usage("index", command.error());
  std::vector<std::string> paths;
  for (const dataset::NamedShard& shard : command->shards) paths.push_back(shard.path);
  if (auto ready = check_stores(command->stores, paths); !ready) return refuse(ready.error());
  if (auto good = check_wids_file(*command); !good) {
    const bool misused = good.error().code() == StatusCode::kInvalidInput;
    return misused ? report_usage("index", good.error()) : refuse(good.error());
  }
  int code = kAllDone;
  std::vector<std::string> damaged;  // as an index names them
  std::vector<dataset::WidsShard> shards;
  std::uint64_t samples = 0;
  std::vector<Indexed> all = index_all(*command);
  for (std::size_t i = 0; i < all.size(); ++i) {
    Indexed& indexed = all[i];
    if (indexed.error) {
      // A shard that cannot be read is an input that failed, as in a batch.
      const int reported = report(*indexed.error);
      const bool environment = indexed.unwritten && reported == kEnvironment;
      const bool ours = environment || dataset::is_store_fault(*indexed.error);
      code = std::max<int>(code, ours ? kEnvironment : kSomeFailed);
      const bool stale = has_no_index(indexed);
      if (stale && !indexed.read) {
        damaged.push_back(url_from(command->shards[i].path, command->wids_file));
      }
      if (stale && command->dali) {
        code = std::max(code, remove_stale(*command, dali_path(*command, command->shards[i])));
      }
      continue;
    }
    samples += indexed.wids.samples;
    shards.push_back(std::move(indexed.wids));
  }
  const std::size_t done = shards.size();
  if (command->wids && code == kAllDone) {
    const auto written = write_index(command->wids_file, dataset::to_wids_index(std::move(shards)),
                                     !command->out.empty(), *command->stores.stores);
    if (!written) return report(written.error());
  } else if (command->wids) {
    say(fmt::format("{} is not written: it would lack shards", command->wids_file));
    const auto names = names_any(command->wids_file, damaged, *command->stores.stores);
    if (!names) return report(names.error());
    if (*names) code = std::max(code, remove_stale(*command, command->wids_file));
  }
  if (!arguments.has("quiet")) say(fmt::format("{} shards, {} samples", done, samples));
  return code;
}

}  // namespace framewire::app
