#include <algorithm>
#include <batch/row.hpp>
#include <dataset/late_failures.hpp>

namespace framewire::dataset {

LateFailures::LateFailures(std::span<const FailedRowLine> rows) : rows_(rows) {
  for (const FailedRowLine& row : rows) names_.insert(row.name);
}

std::string LateFailures::take(std::string_view line) {
  if (const auto row = batch::parse_row(line)) {
    const bool replaced = !row->ok && names_.contains(row->name);
    if (replaced) ++replaced_;
    return replaced ? std::string() : std::string(line) + "\n";
  }
  auto record = parse_record(line);
  if (!record) return std::string(line) + "\n";
  complete_ = true;
  const auto with_more = [&](std::uint64_t count) {
    return count - std::min<std::uint64_t>(count, replaced_) + rows_.size();
  };
  record->failed = with_more(record->failed);
  record->dropped = with_more(record->dropped);
  std::string text;
  for (const FailedRowLine& row : rows_) text += row.line;
  return text + to_json_line(*record);
}

}  // namespace framewire::dataset
