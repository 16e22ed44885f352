#include <fmt/format.h>
#include <dataset/report.hpp>
#include <dataset/report_place.hpp>
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
    const bool failures = (*record)->failed > 0;
    if (!failures && !options.on_line) continue;
    const auto read = (*place)->read_lines(name, [&](std::string_view line) {
      if (options.on_line) options.on_line(shard, line);
      if (failures) add_failure(line, shard, options, report);
    });
    if (!read) return fail(read.error());
  }
  for (const std::string& shard : options.expected) {
    if (!found.contains(shard)) report.missing.push_back(shard);
  }
  return report;
}

}  // namespace framewire::dataset
