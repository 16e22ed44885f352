// Where a report finds manifests and outputs.
#pragma once

#include <dataset/report.hpp>
#include <dataset/shard_record.hpp>
#include <framewire/status.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::dataset {

/// Manifests below one place, by name. One thread.
class ReportPlace {
 public:
  ReportPlace() = default;
  ReportPlace(const ReportPlace&) = delete;
  ReportPlace& operator=(const ReportPlace&) = delete;
  virtual ~ReportPlace() = default;

  /// Names of all manifests, in order.
  [[nodiscard]] virtual const std::vector<std::string>& manifests() const = 0;
  /// The record of each of them in turn. @return nothing where there is none
  [[nodiscard]] virtual Result<std::optional<ShardRecord>> next_record() = 0;
  /// Whether the output is there that a record tells of.
  [[nodiscard]] virtual bool has_output(const std::string& shard, const ShardRecord& record) = 0;
  /// Hands out each line of a manifest.
  [[nodiscard]] virtual Result<void> read_lines(
      const std::string& manifest, const std::function<void(std::string_view)>& take) = 0;
};

inline constexpr std::string_view kManifestEnding = ".tar.jsonl";
/// What of it is not the shard's name.
inline constexpr std::string_view kRowsEnding = ".jsonl";

/// @return too_large for more manifests than ReportOptions::max_manifests
[[nodiscard]] Result<void> check_number(std::size_t manifests, const ReportOptions& options);

/// @return io_error where a folder cannot be read; what a store says; as check_number()
[[nodiscard]] Result<std::unique_ptr<ReportPlace>> open_report_folder(const ReportOptions& options);
[[nodiscard]] Result<std::unique_ptr<ReportPlace>> open_report_store(const ReportOptions& options);

}  // namespace framewire::dataset
