// Coefficients of clean Huffman-coded files by our own decoder, one MCU row after another.
//
// Source: ITU-T T.81. Scans of a progressive file meet only in the block that they describe. So
// each scan has a cursor of its own, and all of them together deliver one MCU row at a time: no
// more than that row is ever in memory. Measured in docs/decisions/0005-own-entropy-decoder.md.
// Where other threads can help, ScanPipeline reads several rows at a time.
#pragma once

#include <codec/turbo/coefficient_band.hpp>
#include <codec/turbo/scan_cursor.hpp>
#include <codec/turbo/scan_pipeline.hpp>
#include <optional>
#include <vector>

namespace framewire::codec::turbo {

class OwnEntropySource {
 public:
  /// Whether the headers leave nothing for libjpeg to warn about: Huffman-coded, complete, and
  /// progressive, or sequential with every component in one scan. What the data holds shows while
  /// reading.
  [[nodiscard]] static bool accepts(const jpeg::JpegFile& file);

  /// @param file     accepted; must outlive the source
  /// @param helpers  may be null; else outlives the source
  explicit OwnEntropySource(const jpeg::JpegFile& file, Helpers* helpers = nullptr);

  /// Reads the next MCU row, and gives its blocks that belong to the picture to `sink` unless null.
  /// @return false where the data is not clean: libjpeg must then decode the file from its start
  [[nodiscard]] bool read(BlockSink* sink);

  /// After the last row: whether every scan's data ends where its last MCU does, to the byte.
  [[nodiscard]] bool is_complete() const;

  /// After the last row: whether a scan has more data than MCUs. No sample depends on it.
  [[nodiscard]] bool has_leftover() const;

 private:
  [[nodiscard]] bool read_in_parts(BlockSink* sink);
  [[nodiscard]] bool read_together(BlockSink* sink);
  [[nodiscard]] bool read_all_scans(BlockSink* sink);
  void give_row(BlockSink& sink, CoefficientBand& band);
  void give_part(BlockSink& sink, int row, std::int32_t mcu, std::int32_t count);
  void give(BlockSink& sink, CoefficientBand& band, std::size_t component, int row,
            std::int32_t column, std::int32_t count);

  const jpeg::FrameHeader& frame_;
  bool one_pass_;           ///< the only scan of a sequential file
  std::int32_t part_mcus_;  ///< how many MCUs of a row the band holds
  std::vector<ScanCursor> cursors_;
  std::optional<ScanPipeline> pipeline_;  ///< where threads help
  std::optional<CoefficientBand> band_;   ///< where none do
  std::int32_t next_row_ = 0;
};

}  // namespace framewire::codec::turbo
