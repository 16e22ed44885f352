#include <fmt/format.h>
#include <algorithm>
#include <codec/reference/coefficients.hpp>
#include <codec/reference/scan_decoder.hpp>
#include <codec/strict_refusal.hpp>

namespace framewire::codec::reference {
namespace {

using jpeg::FrameHeader;
using jpeg::JpegFile;
using jpeg::Scan;

constexpr int kHighestLowBit = 13;  // Al; T.81 table B.3
constexpr int kRestartNumbers = 8;  // RST0 to RST7

Result<void> bad_scan(const Scan& scan, std::string what) {
  return fail(Status(StatusCode::kInvalidInput, std::move(what)).at(scan.offset));
}

/// The parameters of T.81 table B.3 and G.1.1.1.1, and slots within the tables' number.
Result<void> check_scan(const FrameHeader& frame, const Scan& scan) {
  const ScanKind kind = scan_kind(frame, scan);
  for (int i = 0; i < scan.component_count; ++i) {
    const auto n = static_cast<std::size_t>(i);
    if ((needs_dc_table(kind) && scan.dc_slot[n] > 3) ||
        (needs_ac_table(kind) && scan.ac_slot[n] > 3)) {
      return bad_scan(scan, fmt::format("scan uses entropy tables {} and {}; 0 to 3 exist",
                                        scan.dc_slot[n], scan.ac_slot[n]));
    }
  }
  if (frame.process != jpeg::Process::kProgressive) return {};
  const bool band_ok = scan.spectral_start == 0
                           ? scan.spectral_end == 0
                           : scan.spectral_end >= scan.spectral_start &&
                                 scan.spectral_end < jpeg::kBlockSize && scan.component_count == 1;
  const bool bits_ok = scan.approx_low <= kHighestLowBit &&
                       (scan.approx_high == 0 || scan.approx_high == scan.approx_low + 1);
  if (band_ok && bits_ok) return {};
  return bad_scan(scan, fmt::format("progressive scan has Ss={} Se={} Ah={} Al={} and {} "
                                    "components; expected DC alone or a band of one component",
                                    scan.spectral_start, scan.spectral_end, scan.approx_high,
                                    scan.approx_low, scan.component_count));
}

/// The blocks of one MCU. A scan of one component has one block an MCU and no padding.
struct McuGrid {
  std::int32_t columns = 0;
  std::int32_t rows = 0;
  bool interleaved = false;
};

McuGrid mcu_grid(const FrameHeader& frame, const Scan& scan) {
  if (scan.component_count > 1) return {frame.mcu_columns, frame.mcu_rows, true};
  const auto& component = frame.components[scan.component[0]];
  return {component.width_blocks, component.height_blocks, false};
}

void gather_mcu(const FrameHeader& frame, const Scan& scan, const McuGrid& grid,
                std::int32_t column, std::int32_t row, PaddedCoefficients& out,
                std::vector<McuBlock>& mcu) {
  mcu.clear();
  for (int i = 0; i < scan.component_count; ++i) {
    const std::size_t index = scan.component[static_cast<std::size_t>(i)];
    const auto& component = frame.components[index];
    ComponentBlocks& blocks = out.components[index];
    const int h = grid.interleaved ? component.h : 1;
    const int v = grid.interleaved ? component.v : 1;
    for (int y = 0; y < v; ++y) {
      for (int x = 0; x < h; ++x) mcu.push_back({&blocks.at(column * h + x, row * v + y), i});
    }
  }
}

Result<void> decode_mcus(const JpegFile& file, const Scan& scan, const Context& context,
                         EntropySource& source, ScanDecoder& decoder, PaddedCoefficients& out) {
  const McuGrid grid = mcu_grid(file.frame, scan);
  std::vector<McuBlock> mcu;
  std::int32_t until_restart = scan.restart_interval_mcus;
  int restarts = 0;
  decoder.start_segment();
  for (std::int32_t row = 0; row < grid.rows; ++row) {
    if (context.deadline.passed()) {
      return fail(StatusCode::kDeadline, "time ran out while decoding the scans");
    }
    for (std::int32_t column = 0; column < grid.columns; ++column) {
      if (scan.restart_interval_mcus > 0 && until_restart-- == 0) {
        source.restart(restarts++ % kRestartNumbers);
        decoder.start_segment();
        until_restart = scan.restart_interval_mcus - 1;
      }
      gather_mcu(file.frame, scan, grid, column, row, out, mcu);
      decoder.decode_mcu(mcu);
    }
  }
  return {};
}

/// What the scan's data had wrong, in words.
void report_damage(const JpegFile& file, const EntropySource& source, bool bad_code,
                   std::vector<Warning>& warnings) {
  // Arithmetic data may end before its last bits and still be complete.
  const bool ran_out = file.frame.arithmetic ? source.at_marker() : source.is_exhausted();
  if (ran_out && source.ends_with_input()) {
    warn_once(warnings, WarningKind::kTruncated, "the input ends inside a scan", source.offset());
  } else if (source.is_exhausted()) {
    warn_once(warnings, WarningKind::kCorruptData, "a scan's data ends before its last MCU",
              source.offset());
  }
  if (bad_code) {
    warn_once(warnings, WarningKind::kCorruptData, "a scan has codes that no encoder writes",
              source.offset());
  }
  if (source.was_resynchronised()) {
    warn_once(warnings, WarningKind::kCorruptData, "restart markers are not where they should be",
              source.offset());
  }
  if (!file.frame.arithmetic && source.has_leftover()) {
    warn_once(warnings, WarningKind::kExtraneousBytes, "a scan has more data than MCUs",
              source.offset());
  }
}

Result<void> decode_scan(const JpegFile& file, const Scan& scan, const Context& context,
                         PaddedCoefficients& out) {
  if (auto ok = check_scan(file.frame, scan); !ok) return ok;
  EntropySource source(file.bytes, scan.entropy_offset, scan.entropy_offset + scan.entropy_bytes);
  std::unique_ptr<ScanDecoder> decoder;
  if (file.frame.arithmetic) {
    decoder = make_arithmetic_decoder(file, scan, source);
  } else {
    auto made = make_huffman_decoder(file, scan, source);
    if (!made) return fail(std::move(made.error()));
    decoder = std::move(*made);
  }
  if (auto ok = decode_mcus(file, scan, context, source, *decoder, out); !ok) return ok;
  report_damage(file, source, decoder->saw_bad_code(), out.warnings);
  return {};
}

/// How many of the file's scans take part.
Result<std::size_t> count_scans(const JpegFile& file, const Context& context) {
  if (file.frame.process == jpeg::Process::kLossless || file.frame.hierarchical ||
      file.frame.precision_bits != 8) {
    return fail(Status(StatusCode::kUnsupported,
                       fmt::format("SOF{} with {} bits; 8-bit DCT frames are decoded",
                                   file.frame.sof_marker & 15, file.frame.precision_bits))
                    .at(file.frame.offset));
  }
  if (file.scans.empty()) {
    return fail(StatusCode::kInvalidInput, "no scan before the end; nothing can be decoded");
  }
  if (file.scans.size() > context.max_scans) {
    return fail(StatusCode::kTooLarge, fmt::format("{} scans; at most {} are decoded",
                                                   file.scans.size(), context.max_scans));
  }
  const bool whole = file.frame.process != jpeg::Process::kProgressive &&
                     file.scans[0].component_count == file.frame.component_count;
  return whole ? 1 : file.scans.size();
}

void allocate(const FrameHeader& frame, PaddedCoefficients& out) {
  for (int i = 0; i < frame.component_count; ++i) {
    const auto& component = frame.components[static_cast<std::size_t>(i)];
    ComponentBlocks& blocks = out.components.emplace_back();
    blocks.width_blocks = component.padded_width_blocks;
    blocks.height_blocks = component.padded_height_blocks;
    blocks.blocks.resize(static_cast<std::size_t>(blocks.width_blocks) * blocks.height_blocks);
  }
}

void report_missing(const JpegFile& file, std::size_t scans, std::vector<Warning>& warnings) {
  for (int i = 0; i < file.frame.component_count; ++i) {
    const bool seen = std::any_of(
        file.scans.begin(), file.scans.begin() + static_cast<std::ptrdiff_t>(scans),
        [&file, i](const Scan& scan) {
          const auto first = scan.component.begin();
          return needs_dc_table(scan_kind(file.frame, scan)) &&
                 std::find(first, first + scan.component_count, i) != first + scan.component_count;
        });
    if (!seen) {
      warn_once(warnings, WarningKind::kMissingScan,
                fmt::format("component {} has no scan and is grey", i), std::nullopt);
    }
  }
}

}  // namespace

void warn_once(std::vector<Warning>& warnings, WarningKind kind, std::string message,
               std::optional<std::uint64_t> offset) {
  const auto same = [kind](const Warning& w) { return w.kind == kind; };
  if (std::none_of(warnings.begin(), warnings.end(), same)) {
    warnings.push_back({kind, std::move(message), offset});
  }
}

Result<PaddedCoefficients> decode_coefficients(const JpegFile& file, const Context& context) {
  const auto scans = count_scans(file, context);
  if (!scans) return fail(scans.error());
  PaddedCoefficients out;
  allocate(file.frame, out);
  for (std::size_t i = 0; i < *scans; ++i) {
    if (auto ok = decode_scan(file, file.scans[i], context, out); !ok) return fail(ok.error());
  }
  report_missing(file, *scans, out.warnings);
  if (file.truncated) {
    warn_once(out.warnings, WarningKind::kTruncated, "the input ends before EOI",
              file.bytes.size());
  }
  if (context.strict && !out.warnings.empty()) return fail(strict_refusal(out.warnings.front()));
  return out;
}

}  // namespace framewire::codec::reference
