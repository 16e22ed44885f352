#include <algorithm>
#include <codec/turbo/refinement.hpp>
#include <codec/turbo/scan_cursor.hpp>
#include <jpeg/markers.hpp>

namespace framewire::codec::turbo {
namespace {

const jpeg::HuffmanTable& table_of(const jpeg::JpegFile& file, jpeg::TableClass table_class,
                                   int index, int slot) {
  return index < 0 ? jpeg::standard_huffman_table(table_class, slot)
                   : file.huffman_tables[static_cast<std::size_t>(index)];
}

/// The first component of the scan with the same tables as component i; i itself if there is none
/// earlier.
std::size_t same_tables(const std::array<int, jpeg::kMaxComponents>& indices,
                        const std::array<std::uint8_t, jpeg::kMaxComponents>& slots,
                        std::size_t i) {
  for (std::size_t j = 0; j < i; ++j) {
    if (indices[j] == indices[i] && slots[j] == slots[i]) return j;
  }
  return i;
}

/// Bytes that encoders which write whole words, of up to 64 bits, may add to a segment's data.
constexpr int kMaxPaddingBytes = 7;

/// The marker behind a segment's last MCU where nothing but padding lies between: bits that fill a
/// byte, of any value as libjpeg has it, then zeros or ones that fill a word.
/// @return null where anything else does
const std::uint8_t* skip_padding(EntropyBits bits) {
  bits.align();
  std::uint32_t first = 0;
  for (int bytes = 0; bytes <= kMaxPaddingBytes; ++bytes) {
    if (const std::uint8_t* end = bits.end_of_data(); end != nullptr) return end;
    bits.need(8);
    const std::uint32_t byte = bits.take(8);
    if (bytes == 0) first = byte;
    if (byte != first || (byte != 0 && byte != 0xFF)) return nullptr;
  }
  return nullptr;
}

}  // namespace

ScanCursor::ScanCursor(const jpeg::JpegFile& file, const jpeg::Scan& scan)
    : scan_(&scan),
      frame_(&file.frame),
      progressive_(file.frame.process == jpeg::Process::kProgressive),
      mcus_in_row_(scan.component_count == 1 ? file.frame.components[scan.component[0]].width_blocks
                                             : file.frame.mcu_columns),
      end_(file.bytes.data() + scan.entropy_offset + scan.entropy_bytes),
      bits_(file.bytes.data() + scan.entropy_offset, end_),
      until_restart_(scan.restart_interval_mcus) {
  take_tables(file);
  ac_scan_ = {scan.spectral_start, scan.spectral_end, ac_[0].get(), 0};
}

void ScanCursor::take_tables(const jpeg::JpegFile& file) {
  const bool needs_dc = !progressive_ || (scan_->spectral_start == 0 && scan_->approx_high == 0);
  const bool needs_ac = !progressive_ || scan_->spectral_start != 0;
  const int low_bit = progressive_ ? scan_->approx_low : 0;
  const bool refinement = progressive_ && scan_->approx_high != 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(scan_->component_count); ++i) {
    if (const auto j = same_tables(scan_->dc_table, scan_->dc_slot, i); needs_dc) {
      dc_[i] = j < i ? dc_[j]
                     : std::make_shared<DcTable>(make_dc_table(table_of(
                           file, jpeg::TableClass::kDc, scan_->dc_table[i], scan_->dc_slot[i])));
    }
    if (const auto j = same_tables(scan_->ac_table, scan_->ac_slot, i); needs_ac) {
      ac_[i] =
          j < i ? ac_[j]
                : std::make_shared<AcTable>(make_ac_table(
                      table_of(file, jpeg::TableClass::kAc, scan_->ac_table[i], scan_->ac_slot[i]),
                      low_bit, refinement));
    }
  }
  if (!progressive_) pair_tables();
}

void ScanCursor::pair_tables() {
  const auto components = static_cast<std::size_t>(scan_->component_count);
  pairs_.reserve((1 + 2 * components) * std::tuple_size_v<PairTable>);
  const auto add = [&](const PairTable& table) {
    pairs_.insert(pairs_.end(), table.begin(), table.end());
  };
  add({});
  for (std::size_t i = 0; i < components; ++i) {
    std::size_t same = 0;
    while (dc_[same] != dc_[i] || ac_[same] != ac_[i]) ++same;
    dc_pairs_[i] = same < i ? dc_pairs_[same] : pairs_.data() + pairs_.size();
    if (same < i) continue;
    add(make_pair_table(*dc_[i], *ac_[i]));
    add(make_pair_table(*ac_[i]));
  }
}

int ScanCursor::rows_in_band(std::int32_t band) const {
  if (!single()) return 1;
  const jpeg::Component& component = frame_->components[scan_->component[0]];
  return std::clamp(component.height_blocks - band * component.v, 0, int{component.v});
}

bool ScanCursor::read(CoefficientBand& band, int row, std::int32_t mcu_count) {
  for (std::int32_t done = 0; done < mcu_count;) {
    std::int32_t count = mcu_count - done;
    if (scan_->restart_interval_mcus != 0) {
      if (until_restart_ == 0 && !restart()) return false;
      count = std::min(count, until_restart_);
      until_restart_ -= count;
    }
    if (!read_run(band, row, done, count)) return false;
    done += count;
  }
  return !bits_.overrun();
}

bool ScanCursor::restart() {
  const std::uint8_t* marker = bits_.end_of_data();
  if (marker == nullptr) {
    marker = skip_padding(bits_);
    is_padded_ = true;
  }
  if (marker == nullptr || end_ - marker < 2 || is_in_run()) return false;
  if (marker[0] != 0xFF || marker[1] != jpeg::marker::kRst0 + next_restart_) return false;
  bits_ = EntropyBits(marker + 2, end_);
  next_restart_ = (next_restart_ + 1) % 8;
  until_restart_ = scan_->restart_interval_mcus;
  predictions_.fill(0);
  return true;
}

bool ScanCursor::is_complete() const {
  return bits_.end_of_data() == end_ && !is_in_run() && !is_padded_;
}

bool ScanCursor::has_leftover() const {
  const std::uint8_t* at = skip_padding(bits_);
  if (at == nullptr) return true;
  for (; at != end_; ++at) {
    const bool is_marker = *at == 0xFF && end_ - at >= 2 && jpeg::is_restart(at[1]);
    if (is_marker) {
      ++at;
    } else if (*at != 0xFF) {
      return true;
    }
  }
  return false;
}

std::span<const RunBlock> ScanCursor::locate(CoefficientBand& band, int row, std::int32_t first) {
  std::size_t blocks = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(scan_->component_count); ++i) {
    const std::size_t at = scan_->component[i];
    const int h = single() ? 1 : frame_->components[at].h;
    const int v = single() ? 1 : frame_->components[at].v;
    for (int y = 0; y < v; ++y) {
      for (int x = 0; x < h; ++x) {
        mcu_[blocks++] = {band.row(at, row + y) + first * h + x,
                          h,
                          &predictions_[i],
                          dc_[i].get(),
                          ac_[i].get(),
                          dc_pairs_[i],
                          progressive_ ? nullptr : dc_pairs_[i] + std::tuple_size_v<PairTable>};
      }
    }
  }
  return std::span<const RunBlock>(mcu_).first(blocks);
}

bool ScanCursor::read_run(CoefficientBand& band, int row, std::int32_t first, int count) {
  if (!progressive_) {
    return decode_sequential(bits_, locate(band, row, first), count, pairs_.data());
  }
  if (scan_->spectral_start == 0) {
    const auto mcu = locate(band, row, first);
    if (scan_->approx_high == 0) return decode_dc_first(bits_, mcu, count, scan_->approx_low);
    decode_dc_refinement(bits_, mcu, count, scan_->approx_low);
    return true;
  }
  const std::size_t component = scan_->component[0];
  const AcRun run{band.row(component, row) + first, band.nonzero(component, row) + first, count};
  return scan_->approx_high == 0 ? decode_ac_first(bits_, ac_scan_, run)
                                 : decode_ac_refinement(bits_, ac_scan_, run);
}

}  // namespace framewire::codec::turbo
