// framewire index SHARD…
#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <batch/atomic_file.hpp>
#include <command_line/command.hpp>
#include <command_line/misuse.hpp>
#include <command_line/numbers.hpp>
#include <dataset/braces.hpp>
#include <dataset/shard_file.hpp>
#include <dataset/shard_index.hpp>
#include <filesystem>
#include <mutex>
#include <optional>
#include <report/console.hpp>
#include <thread>

namespace framewire::app {
namespace {

namespace fs = std::filesystem;

/// What the command line says, once understood.
struct IndexCommand {
  std::vector<std::string> shards;
  bool dali = true;
  bool wids = true;
  std::string wids_file;
  unsigned jobs = 1;
};

/// What became of one shard.
struct Indexed {
  std::optional<Status> error;
  dataset::WidsShard wids;
};

Result<IndexCommand> make_index_command(const Arguments& arguments) {
  IndexCommand command;
  for (const std::string& path : arguments.paths) {
    auto names = dataset::expand_braces(path, dataset::kMaxExpandedNames - command.shards.size());
    if (!names) return fail(names.error());
    std::ranges::move(*names, std::back_inserter(command.shards));
  }
  const std::string format = arguments.get("format");
  command.dali = format != "wids";
  command.wids = format != "dali";
  command.wids_file = arguments.get("wids");
  if (!command.wids_file.empty() && !command.wids) {
    return misuse("--wids names the file of an index that --format dali leaves out");
  }
  if (command.wids_file.empty()) {
    command.wids_file = fs::path(command.shards[0]).parent_path() / "shardindex.json";
  }
  const unsigned cores = std::clamp(std::thread::hardware_concurrency(), 1u, 1024u);
  command.jobs = cores;
  const std::string jobs = arguments.get("jobs");
  if (arguments.has("jobs") && !parse_number(jobs, 1u, 1024u, command.jobs)) {
    return misuse(fmt::format("--jobs: found '{}'; accepted: a whole number from 1 to 1024", jobs));
  }
  return command;
}

// As DALI names it: what follows the first dot of the last part is taken off.
std::string dali_path(const std::string& shard) {
  const fs::path path(shard);
  const std::string name = path.filename();
  return path.parent_path() / (name.substr(0, name.find('.', 1)) + ".idx");
}

// wids looks for shards from the folder of its index on.
std::string url_from(const std::string& shard, const std::string& index) {
  std::error_code error;
  const fs::path folder = fs::absolute(fs::path(index), error).parent_path();
  const fs::path relative = fs::absolute(shard, error).lexically_relative(folder);
  return relative.empty() ? shard : relative.string();
}

Result<void> write_text_file(const std::string& path, const std::string& text) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  const auto written = batch::write_atomically(path, {bytes, text.size()}, batch::WriteOptions{});
  if (!written) return fail(written.error().status);
  return {};
}

Result<dataset::WidsShard> index_one(const IndexCommand& command, const std::string& path) {
  auto file = dataset::ShardFile::open(path);
  if (!file) return fail(file.error());
  const auto index = dataset::index_shard(**file, (*file)->bytes());
  if (!index) return fail(index.error());
  if (command.dali) {
    const auto text = dataset::to_dali_index(*index);
    if (!text) return fail(text.error());
    if (auto written = write_text_file(dali_path(path), *text); !written) {
      return fail(written.error());
    }
  }
  dataset::WidsShard shard{url_from(path, command.wids_file), "", index->samples.size(),
                           (*file)->bytes()};
  if (command.wids) {
    auto md5 = dataset::md5_of(**file);
    if (!md5) return fail(md5.error());
    shard.md5 = std::move(*md5);
  }
  return shard;
}

Status about_shard(const Status& error, const std::string& path) {
  if (!error.subject().empty()) return error;
  Status named = Status(error.code(), error.message()).about(path);
  return error.offset() ? Status(std::move(named)).at(*error.offset()) : named;
}

std::vector<Indexed> index_all(const IndexCommand& command) {
  std::vector<Indexed> results(command.shards.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < results.size(); i = next++) {
      auto shard = index_one(command, command.shards[i]);
      if (shard) {
        results[i].wids = std::move(*shard);
      } else {
        results[i].error = about_shard(shard.error(), command.shards[i]);
      }
    }
  };
  std::vector<std::jthread> threads;
  const std::size_t helpers = std::min<std::size_t>(command.jobs, results.size()) - 1;
  for (std::size_t i = 0; i < helpers; ++i) threads.emplace_back(work);
  work();
  threads.clear();
  return results;
}

}  // namespace

int run_index(const Arguments& arguments) {
  const auto command = make_index_command(arguments);
  if (!command) return report_usage("index", command.error());
  int code = kAllDone;
  std::vector<dataset::WidsShard> shards;
  std::uint64_t samples = 0;
  for (Indexed& indexed : index_all(*command)) {
    if (indexed.error) {
      code = std::max(code, report(*indexed.error));
      continue;
    }
    samples += indexed.wids.samples;
    shards.push_back(std::move(indexed.wids));
  }
  const std::size_t done = shards.size();
  if (command->wids && code == kAllDone) {
    const auto written =
        write_text_file(command->wids_file, dataset::to_wids_index(std::move(shards)));
    if (!written) return report(written.error());
  } else if (command->wids) {
    say(fmt::format("{} is not written: it would lack shards", command->wids_file));
  }
  if (!arguments.has("quiet")) say(fmt::format("{} shards, {} samples", done, samples));
  return code;
}

}  // namespace framewire::app
