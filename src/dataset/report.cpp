#include <fmt/format.h>
#include <algorithm>
#include <base/ascii.hpp>
#include <dataset/report.hpp>
#include <dataset/report_place.hpp>
#include <framewire/batch/manifest.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace framewire::dataset {
namespace {

std::string text_in(const nlohmann::json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// A row of a manifest, if it is not ok. What is no row is passed over.
void add_failure(std::string_view line, const std::string& shard, const ReportOptions& options,
                 DatasetReport& report) {
  const auto row = nlohmann::json::parse(line, nullptr, false);
  if (!row.is_object() || row.contains("shard") || text_in(row, "status") == "ok") return;
  FailedRow failed{shard, text_in(row, "input"), text_in(row, "error_class"),
                   text_in(row, "message")};
  // Ours are about a dozen; a stranger's rows may name any number.
  constexpr std::size_t kMaxClasses = 64;
  const bool room =
      report.errors.size() < kMaxClasses || report.errors.contains(failed.error_class);
  ++report.errors[room ? failed.error_class : "other"];
  if (options.on_failed) options.on_failed(failed);
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

/// A shard that was packed of files: later ones of its batch may have what failed in it.
struct PackedShard {
  std::string name;
  std::string manifest;
  bool failures = false;
};

/// Shards by what they were packed of, by which options and by which pattern.
using PackedShards = std::map<std::string, std::vector<PackedShard>>;

// The pattern of a shard, as far as its name tells: its number may be any of the digits.
std::string packed_of(const ShardRecord& record) {
  std::string pattern;
  const std::size_t last = record.shard.rfind('/') + 1;  // 0 where there is none
  for (std::size_t i = 0; i < record.shard.size(); ++i) {
    const bool digit = i >= last && base::is_digit(record.shard[i]);
    if (!digit) pattern += record.shard[i];
    if (digit && !pattern.ends_with('#')) pattern += '#';
  }
  return record.input + '\0' + record.options_hash + '\0' + pattern;
}

/// Counts the failures of shards that were packed by one batch and those that resumed it. Of a
/// picture that was tried again the last row counts.
class PackedFailures {
 public:
  PackedFailures(ReportPlace& place, const ReportOptions& options, DatasetReport& report)
      : place_(place), options_(options), report_(report) {}

  Result<void> count(std::vector<PackedShard>& shards) {
    std::ranges::sort(shards, {}, [](const PackedShard& shard) {
      return std::pair(shard.name.size(), shard.name);  // 9.tar before 10.tar
    });
    const auto first = std::ranges::find_if(shards, &PackedShard::failures);
    if (first == shards.end()) return {};
    last_.clear();
    const auto begin = static_cast<std::size_t>(first - shards.begin());
    for (std::size_t i = begin; i < shards.size(); ++i) {
      const auto read = place_.read_lines(shards[i].manifest, [&](std::string_view line) {
        const auto row = batch::parse_row(line);
        if (!row) return;
        if (!row->ok) last_[row->name] = i;
        if (row->ok) last_.erase(row->name);
      });
      if (!read) return read;
    }
    for (std::size_t i = begin; i < shards.size(); ++i) {
      if (!shards[i].failures) continue;
      if (auto told = tell(shards[i], i); !told) return told;
    }
    return {};
  }

 private:
  Result<void> tell(const PackedShard& shard, std::size_t index) {
    std::uint64_t later = 0;
    const auto read = place_.read_lines(shard.manifest, [&](std::string_view line) {
      const auto row = batch::parse_row(line);
      const auto last = row && !row->ok ? last_.find(row->name) : last_.end();
      const bool superseded = row && !row->ok && (last == last_.end() || last->second != index);
      if (superseded) ++later;
      if (!superseded) add_failure(line, shard.name, options_, report_);
    });
    if (!read) return read;
    report_.failed -= std::min(later, report_.failed);
    report_.dropped -= std::min(later, report_.dropped);
    const auto record = std::ranges::find(report_.with_failures, shard.name, &ShardRecord::shard);
    if (record != report_.with_failures.end()) record->failed -= std::min(later, record->failed);
    return {};
  }

  ReportPlace& place_;
  const ReportOptions& options_;
  DatasetReport& report_;
  std::map<std::string, std::size_t> last_;  ///< of each picture that has failed: its last shard
};

Result<std::unique_ptr<ReportPlace>> open_place(const ReportOptions& options) {
  const bool remote = store::is_object_url(options.manifests);
  if (store::is_object_url(options.outputs) == remote) {
    return remote ? open_report_store(options) : open_report_folder(options);
  }
  return fail(Status(StatusCode::kInvalidInput,
                     "and the manifests do not both lie in folders or both in stores; accepted: "
                     "outputs where their manifests are")
                  .about(options.outputs));
}

}  // namespace

Result<void> check_number(std::size_t manifests, const ReportOptions& options) {
  if (manifests <= options.max_manifests) return {};
  return fail(Status(StatusCode::kTooLarge,
                     fmt::format("has more than {} manifests; accepted: reports on parts of it",
                                 options.max_manifests))
                  .about(options.manifests));
}

Result<DatasetReport> make_report(const ReportOptions& options) {
  const auto place = open_place(options);
  if (!place) return fail(place.error());
  DatasetReport report;
  std::set<std::string> found;
  PackedShards packed;
  for (const std::string& name : (*place)->manifests()) {
    const std::string shard = name.substr(0, name.size() - kRowsEnding.size());
    found.insert(shard);
    auto record = (*place)->next_record();
    if (!record) return fail(record.error());
    if (!*record) {
      report.unreadable.push_back(name);
      continue;
    }
    // JSON has no names that are not UTF-8, and a stranger's may say anything.
    (*record)->shard = shard;
    if (!(*place)->has_output(shard, **record)) {
      report.without_output.push_back(std::move(**record));
      continue;
    }
    add_record(**record, report);
    if (options.on_manifest) options.on_manifest(shard, options.manifests + "/" + name);
    bool failures = (*record)->failed > 0;
    if (!store::without_query((*record)->input).ends_with(".tar")) {
      packed[packed_of(**record)].push_back({shard, name, failures});
      failures = false;  // counted when all are known
    }
    if (!failures && !options.on_line) continue;
    const auto read = (*place)->read_lines(name, [&](std::string_view line) {
      if (options.on_line) options.on_line(shard, line);
      if (failures) add_failure(line, shard, options, report);
    });
    if (!read) return fail(read.error());
  }
  PackedFailures failures(**place, options, report);
  for (auto& [batch, shards] : packed) {
    if (auto counted = failures.count(shards); !counted) return fail(counted.error());
  }
  std::erase_if(report.with_failures,
                [](const ShardRecord& record) { return record.failed == 0 && !record.damaged_at; });
  for (const std::string& shard : options.expected) {
    if (!found.contains(shard)) report.missing.push_back(shard);
  }
  return report;
}

}  // namespace framewire::dataset
