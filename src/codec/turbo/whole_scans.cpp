#include <algorithm>
#include <codec/turbo/entropy_source.hpp>
#include <codec/turbo/whole_scans.hpp>

namespace framewire::codec {
namespace {

/// Whether fill bytes stand among a scan's data, or behind it.
bool has_fill(const jpeg::JpegFile& file) {
  constexpr std::uint8_t kFill[] = {0xFF, 0xFF};
  return std::ranges::any_of(file.scans, [&](const jpeg::Scan& scan) {
    const auto data = file.bytes.subspan(scan.entropy_offset, scan.entropy_bytes);
    return !std::ranges::search(data, kFill).empty();
  });
}

}  // namespace

bool scans_are_whole(const jpeg::JpegFile& file, const base::Deadline& deadline) {
  const bool several = file.frame.process != jpeg::Process::kProgressive && file.scans.size() > 1;
  if (several || !turbo::OwnEntropySource::accepts(file) || has_fill(file)) return false;
  turbo::OwnEntropySource source(file);
  for (std::int32_t row = 0; row < file.frame.mcu_rows; ++row) {
    if (deadline.passed() || !source.read(nullptr)) return false;
  }
  return source.is_complete();
}

}  // namespace framewire::codec
