// A place in one scan's entropy-coded data, moved forward MCU by MCU.
#pragma once

#include <array>
#include <codec/turbo/block_decoding.hpp>
#include <codec/turbo/coefficient_band.hpp>
#include <jpeg/types.hpp>
#include <memory>
#include <span>
#include <vector>

namespace framewire::codec::turbo {

/// Every scan of a file can have a cursor of its own, so that all of them deliver the same MCU row
/// before any goes on to the next.
class ScanCursor {
 public:
  /// @param file  must outlive the cursor; the scan's tables must exist
  ScanCursor(const jpeg::JpegFile& file, const jpeg::Scan& scan);
  ScanCursor(ScanCursor&&) = default;  // and no copies: tables are pointed to

  /// Whether an MCU is one block of one component, not a group of several components.
  [[nodiscard]] bool single() const noexcept { return scan_->component_count == 1; }
  /// MCUs in each row of MCUs; blocks, where single().
  [[nodiscard]] std::int32_t mcus_in_row() const noexcept { return mcus_in_row_; }
  /// Rows of MCUs of this scan in MCU row `band` of the frame.
  [[nodiscard]] int rows_in_band(std::int32_t band) const;

  /// Adds what the next `mcu_count` MCUs hold to the first columns of the band.
  /// @param row  within the band; 0 unless single()
  /// @return false where the data is not clean
  [[nodiscard]] bool read(CoefficientBand& band, int row, std::int32_t mcu_count);

  /// Whether a run of blocks goes on for which nothing is coded; no clean scan ends in one.
  [[nodiscard]] bool is_in_run() const noexcept { return ac_scan_.end_of_band_run != 0; }

  /// After the last MCU: whether the data ends there, to the byte, and no restart marker before had
  /// bytes of padding.
  [[nodiscard]] bool is_complete() const;

  /// After the last MCU: whether more data follows it. Fill bytes, restart markers and padding are
  /// no data.
  [[nodiscard]] bool has_leftover() const;

 private:
  void take_tables(const jpeg::JpegFile& file);
  void pair_tables();
  [[nodiscard]] bool restart();
  [[nodiscard]] bool read_run(CoefficientBand& band, int row, std::int32_t first, int count);
  [[nodiscard]] std::span<const RunBlock> locate(CoefficientBand& band, int row,
                                                 std::int32_t first);

  const jpeg::Scan* scan_;
  const jpeg::FrameHeader* frame_;
  bool progressive_;
  std::int32_t mcus_in_row_ = 0;
  const std::uint8_t* end_ = nullptr;
  EntropyBits bits_;
  std::int32_t until_restart_ = 0;  ///< MCUs; meaningless without an interval
  int next_restart_ = 0;            ///< n of the RSTn to come
  bool is_padded_ = false;          ///< whole bytes of padding were before a restart marker
  AcScan ac_scan_;
  std::array<std::int32_t, jpeg::kMaxComponents> predictions_{};
  std::array<std::shared_ptr<const DcTable>, jpeg::kMaxComponents> dc_;
  std::array<std::shared_ptr<const AcTable>, jpeg::kMaxComponents> ac_;
  /// Of a sequential scan: a table that knows nothing, then each component's of DC and of AC.
  std::vector<PairEntry> pairs_;
  std::array<const PairEntry*, jpeg::kMaxComponents> dc_pairs_{};
  std::array<RunBlock, 10> mcu_{};  ///< T.81 B.2.3: at most ten blocks
};

}  // namespace framewire::codec::turbo
