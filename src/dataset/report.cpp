#include <fcntl.h>
#include <algorithm>
#include <base/file_descriptor.hpp>
#include <batch/posix_file.hpp>
#include <cerrno>
#include <dataset/report.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

namespace framewire::dataset {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kManifestEnding = ".tar.jsonl";
constexpr std::size_t kShardEndingBytes = std::string_view(".jsonl").size();

std::string text_in(const nlohmann::json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Rows of one manifest that are not ok. What is no row is passed over.
void read_failures(const fs::path& path, const std::string& shard, const ReportOptions& options,
                   DatasetReport& report) {
  std::ifstream file(path, std::ios::binary);
  for (std::string line; std::getline(file, line);) {
    const auto row = nlohmann::json::parse(line, nullptr, false);
    if (!row.is_object() || row.contains("shard") || text_in(row, "status") == "ok") continue;
    FailedRow failed{shard, text_in(row, "input"), text_in(row, "error_class"),
                     text_in(row, "message")};
    ++report.errors[failed.error_class];
    if (options.on_failed) options.on_failed(failed);
  }
}

void add_record(const ShardRecord& record, DatasetReport& report) {
  ++report.shards;
  report.ok += record.ok;
  report.failed += record.failed;
  report.copied += record.copied;
  report.samples += record.samples;
  report.dropped += record.dropped;
  report.bytes_in += record.bytes_in;
  report.bytes_out += record.bytes_out;
  report.seconds += record.seconds;
  ++report.options[record.options_hash];
  if (record.failed > 0 || record.damaged_at) report.with_failures.push_back(record);
}

Result<std::vector<std::string>> list_manifests(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::recursive_directory_iterator walk(folder, error);
  for (; !error && walk != fs::recursive_directory_iterator(); walk.increment(error)) {
    const std::string path = walk->path();
    if (path.ends_with(kManifestEnding)) {
      names.push_back(walk->path().lexically_relative(folder).string());
    }
  }
  if (error) return fail(batch::io_error(folder, "read the folder", error.value()));
  std::ranges::sort(names);
  return names;
}

}  // namespace

Result<DatasetReport> make_report(const ReportOptions& options) {
  const auto names = list_manifests(options.manifests);
  if (!names) return fail(names.error());
  const base::FileDescriptor folder(
      ::open(options.manifests.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) return fail(batch::io_error(options.manifests, "read the folder", errno));
  DatasetReport report;
  std::set<std::string> found;
  for (const std::string& name : *names) {
    const std::string shard = name.substr(0, name.size() - kShardEndingBytes);
    found.insert(shard);
    const auto record = read_record(folder.get(), name);
    if (!record) {
      report.unreadable.push_back(name);
      continue;
    }
    std::error_code error;
    const auto bytes = fs::file_size(fs::path(options.outputs) / shard, error);
    if (error || bytes != record->bytes_out) {
      report.without_output.push_back(shard);
      continue;
    }
    add_record(*record, report);
    if (options.on_manifest) options.on_manifest(shard, options.manifests + "/" + name);
    if (record->failed > 0) {
      read_failures(fs::path(options.manifests) / name, shard, options, report);
    }
  }
  for (const std::string& shard : options.expected) {
    if (!found.contains(shard)) report.missing.push_back(shard);
  }
  return report;
}

}  // namespace framewire::dataset
