// One entropy-coding procedure of a scan: Huffman or arithmetic, sequential or progressive.
#pragma once

#include <codec/reference/coefficients.hpp>
#include <codec/reference/entropy_source.hpp>
#include <cstdint>
#include <framewire/status.hpp>
#include <jpeg/types.hpp>
#include <memory>
#include <span>

namespace framewire::codec::reference {

/// One block of an MCU.
struct McuBlock {
  Block* block = nullptr;
  int scan_component = 0;  ///< index among the scan's components
};

/// What a scan carries (T.81 G.1.1.1); sequential scans carry everything at once.
enum class ScanKind : std::uint8_t { kSequential, kDcFirst, kDcRefine, kAcFirst, kAcRefine };

[[nodiscard]] inline ScanKind scan_kind(const jpeg::FrameHeader& frame, const jpeg::Scan& scan) {
  if (frame.process != jpeg::Process::kProgressive) return ScanKind::kSequential;
  if (scan.spectral_start == 0) {
    return scan.approx_high == 0 ? ScanKind::kDcFirst : ScanKind::kDcRefine;
  }
  return scan.approx_high == 0 ? ScanKind::kAcFirst : ScanKind::kAcRefine;
}

/// Which tables a scan reads; the slots of the others mean nothing.
[[nodiscard]] inline bool needs_dc_table(ScanKind kind) {
  return kind == ScanKind::kSequential || kind == ScanKind::kDcFirst;
}
[[nodiscard]] inline bool needs_ac_table(ScanKind kind) {
  return kind != ScanKind::kDcFirst && kind != ScanKind::kDcRefine;
}

/// Holds the state that restart markers reset: predictors, runs, statistics.
class ScanDecoder {
 public:
  ScanDecoder() = default;
  ScanDecoder(const ScanDecoder&) = delete;
  ScanDecoder& operator=(const ScanDecoder&) = delete;
  virtual ~ScanDecoder() = default;

  /// Called before the first MCU of the scan and after each restart.
  virtual void start_segment() = 0;
  virtual void decode_mcu(std::span<const McuBlock> blocks) = 0;

  /// Whether data was met that no encoder writes.
  [[nodiscard]] bool saw_bad_code() const { return saw_bad_code_; }

 protected:
  bool saw_bad_code_ = false;
};

/// @param source  must outlive the result
/// @return invalid_input for tables that are missing or not usable
[[nodiscard]] Result<std::unique_ptr<ScanDecoder>> make_huffman_decoder(const jpeg::JpegFile& file,
                                                                        const jpeg::Scan& scan,
                                                                        EntropySource& source);
/// @param source  must outlive the result
[[nodiscard]] std::unique_ptr<ScanDecoder> make_arithmetic_decoder(const jpeg::JpegFile& file,
                                                                   const jpeg::Scan& scan,
                                                                   EntropySource& source);

}  // namespace framewire::codec::reference
