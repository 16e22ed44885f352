#include <algorithm>
#include <codec/turbo/entropy_source.hpp>
#include <jpeg/markers.hpp>
#include <utility>

namespace framewire::codec::turbo {
namespace {

/// Blocks of a sequential file that are decoded before they are transformed: 8 KB. They stay in the
/// first-level cache, and are written long before the transform's vector loads read them.
constexpr int kPartBlocks = 64;

/// Most scans of a progressive file. Each brings some 5 KB of tables; no real file has as many.
constexpr std::size_t kMaxScans = 256;

int blocks_in_mcu(const jpeg::FrameHeader& frame) {
  int blocks = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(frame.component_count); ++i) {
    blocks += frame.components[i].h * frame.components[i].v;
  }
  return blocks;
}

bool is_one_pass(const jpeg::JpegFile& file) {
  return file.frame.process != jpeg::Process::kProgressive && file.scans.size() == 1;
}

std::int32_t part_mcus(const jpeg::JpegFile& file) {
  if (!is_one_pass(file)) return file.frame.mcu_columns;
  return std::max(1, kPartBlocks / blocks_in_mcu(file.frame));
}

/// Whether the scans of a sequential file send each component once, with all its coefficients.
/// libjpeg warns of parameters of progressive scans.
bool sends_components_once(const jpeg::JpegFile& file) {
  int sent = 0;
  std::array<bool, jpeg::kMaxComponents> seen{};
  for (const jpeg::Scan& scan : file.scans) {
    if (scan.spectral_start != 0 || scan.spectral_end != jpeg::kBlockSize - 1 ||
        scan.approx_high != 0 || scan.approx_low != 0) {
      return false;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(scan.component_count); ++i) {
      if (std::exchange(seen[scan.component[i]], true)) return false;
      ++sent;
    }
  }
  return sent == file.frame.component_count;
}

/// Whether a marker follows the scan's data, within what libjpeg gets to see.
bool ends_at_marker(const jpeg::JpegFile& file, const jpeg::Scan& scan) {
  const std::size_t end = scan.entropy_offset + scan.entropy_bytes;
  return end + 2 <= file.end_offset && file.bytes[end] == 0xFF && file.bytes[end + 1] != 0;
}

/// libjpeg warns of strange values in JFIF and Adobe segments. Before the first scan it reads them
/// for us, so only later segments matter here.
bool has_late_app_segment(const jpeg::JpegFile& file) {
  return std::any_of(file.segments.begin(), file.segments.end(), [&](const jpeg::Segment& s) {
    return s.offset > file.scans.front().offset &&
           (s.marker == jpeg::marker::kApp0 || s.marker == jpeg::marker::kApp14);
  });
}

}  // namespace

bool OwnEntropySource::accepts(const jpeg::JpegFile& file) {
  const jpeg::FrameHeader& frame = file.frame;
  if (frame.arithmetic || frame.hierarchical || frame.precision_bits != 8 ||
      frame.process == jpeg::Process::kLossless || frame.height_from_dnl) {
    return false;
  }
  if (!file.warnings.empty() || file.truncated || file.scans.empty() ||
      file.scans.size() > kMaxScans) {
    return false;
  }
  if (!std::all_of(file.scans.begin(), file.scans.end(),
                   [&](const jpeg::Scan& scan) { return ends_at_marker(file, scan); })) {
    return false;
  }
  if (is_one_pass(file)) return file.scans[0].component_count == frame.component_count;
  return (frame.component_count == 1 || blocks_in_mcu(frame) <= 10) &&
         !has_late_app_segment(file) &&
         (frame.process == jpeg::Process::kProgressive || sends_components_once(file));
}

OwnEntropySource::OwnEntropySource(const jpeg::JpegFile& file, Helpers* helpers)
    : frame_(file.frame), one_pass_(is_one_pass(file)), part_mcus_(part_mcus(file)) {
  cursors_.reserve(file.scans.size());
  for (const jpeg::Scan& scan : file.scans) cursors_.emplace_back(file, scan);
  if (helpers != nullptr && ScanPipeline::pays_for(file) && helpers->idle() > 0) {
    pipeline_.emplace(file, cursors_, *helpers);
  } else {
    band_.emplace(frame_, part_mcus_);
  }
}

bool OwnEntropySource::read(BlockSink* sink) {
  const bool clean = one_pass_   ? read_in_parts(sink)
                     : pipeline_ ? read_together(sink)
                                 : read_all_scans(sink);
  ++next_row_;
  return clean;
}

bool OwnEntropySource::is_complete() const {
  return std::ranges::all_of(cursors_,
                             [](const ScanCursor& cursor) { return cursor.is_complete(); });
}

bool OwnEntropySource::has_leftover() const {
  return std::ranges::any_of(cursors_,
                             [](const ScanCursor& cursor) { return cursor.has_leftover(); });
}

bool OwnEntropySource::read_together(BlockSink* sink) {
  CoefficientBand* band = pipeline_->read();
  if (band != nullptr && sink != nullptr) give_row(*sink, *band);
  return band != nullptr;
}

bool OwnEntropySource::read_all_scans(BlockSink* sink) {
  for (ScanCursor& cursor : cursors_) {
    const int rows = cursor.rows_in_band(next_row_);
    for (int row = 0; row < rows; ++row) {
      if (!cursor.read(*band_, row, cursor.mcus_in_row())) return false;
    }
    if (next_row_ + 1 == frame_.mcu_rows && cursor.is_in_run()) return false;
  }
  if (sink != nullptr) give_row(*sink, *band_);
  band_->clear();
  return true;
}

bool OwnEntropySource::read_in_parts(BlockSink* sink) {
  ScanCursor& cursor = cursors_.front();
  const int rows = cursor.rows_in_band(next_row_);
  for (int row = 0; row < rows; ++row) {
    for (std::int32_t mcu = 0; mcu < cursor.mcus_in_row(); mcu += part_mcus_) {
      const std::int32_t count = std::min(part_mcus_, cursor.mcus_in_row() - mcu);
      if (!cursor.read(*band_, row, count)) return false;
      if (sink != nullptr) give_part(*sink, row, mcu, count);
      band_->clear();
    }
  }
  return true;
}

void OwnEntropySource::give_row(BlockSink& sink, CoefficientBand& band) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(frame_.component_count); ++i) {
    const jpeg::Component& component = frame_.components[i];
    for (int y = 0; y < component.v; ++y) give(sink, band, i, y, 0, component.width_blocks);
  }
}

void OwnEntropySource::give_part(BlockSink& sink, int row, std::int32_t mcu, std::int32_t count) {
  if (cursors_.front().single()) return give(sink, *band_, 0, row, mcu, count);
  for (std::size_t i = 0; i < static_cast<std::size_t>(frame_.component_count); ++i) {
    const jpeg::Component& component = frame_.components[i];
    for (int y = 0; y < component.v; ++y) {
      give(sink, *band_, i, y, mcu * component.h, count * component.h);
    }
  }
}

/// Passes on `count` blocks of a row of the band, which begins at `column` of the component.
void OwnEntropySource::give(BlockSink& sink, CoefficientBand& band, std::size_t component, int row,
                            std::int32_t column, std::int32_t count) {
  const jpeg::Component& geometry = frame_.components[component];
  if (next_row_ * geometry.v + row >= geometry.height_blocks) return;
  count = std::min(count, geometry.width_blocks - column);  // the rest pads the last MCU
  if (count > 0) {
    sink.blocks(static_cast<int>(component), row, column, band.row(component, row), count);
  }
}

}  // namespace framewire::codec::turbo
