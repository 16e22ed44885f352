// What this codec takes; everything else is for the CPU.
#include <codec/cuda/tuning.h>
#include <fmt/format.h>
#include <algorithm>
#include <base/checked.hpp>
#include <codec/cuda/decode/progressive_script.hpp>
#include <codec/cuda/item.hpp>
#include <color/converter.hpp>

namespace framewire::codec::cuda {
namespace {

constexpr int kMaxBlocksPerMcu = 10;  // T.81 B.2.3
/// Bit positions in a scan are 32-bit numbers.
constexpr std::size_t kMaxScanBytes = (std::size_t{1} << 29) - 1;

tl::unexpected<Status> unsupported(std::string what) {
  return fail(StatusCode::kUnsupported, "the CUDA codec does not take " + std::move(what));
}

Result<void> check_scans(const jpeg::JpegFile& file) {
  std::array<int, jpeg::kMaxComponents> seen{};
  for (const jpeg::Scan& scan : file.scans) {
    if (scan.entropy_bytes > kMaxScanBytes) {
      return unsupported(
          fmt::format("scans of {} bytes; at most {}", scan.entropy_bytes, kMaxScanBytes));
    }
    int blocks = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(scan.component_count); ++i) {
      const std::size_t c = scan.component[i];
      ++seen[c];
      blocks += file.frame.components[c].h * file.frame.components[c].v;
      if (file.component_quant[c] < 0) return unsupported("components without quantisation table");
    }
    if (scan.component_count > 1 && blocks > kMaxBlocksPerMcu) {
      return unsupported(fmt::format("MCUs of {} blocks; at most {}", blocks, kMaxBlocksPerMcu));
    }
    if (scan.spectral_start != 0 || scan.spectral_end != 63 || scan.approx_low != 0) {
      return unsupported("scans of part of the coefficients");
    }
  }
  for (int c = 0; c < file.frame.component_count; ++c) {
    if (seen[static_cast<std::size_t>(c)] != 1) {
      return unsupported(
          fmt::format("component {} in {} scans; exactly 1", c, seen[static_cast<std::size_t>(c)]));
    }
  }
  return {};
}

Result<void> check_conversion(const Item& item) {
  if (item.plan->color_path == plan::ColorPath::kPlanar) return {};
  if (item.file == nullptr) return unsupported("colour conversion of planes without their file");
  if (!item.plan->convert_icc) return {};
  if (item.converter == nullptr) return unsupported("profiles without their converter");
  if (item.converter->table() == nullptr) return unsupported("profiles that make no table");
  return {};
}

/// Checks what the kernels trust.
Result<void> check_coefficients(const Item& item) {
  const jpeg::FrameHeader& frame = item.file->frame;
  const auto& given = item.coefficients->components;
  bool fits = given.size() == static_cast<std::size_t>(frame.component_count);
  for (std::size_t c = 0; fits && c < given.size(); ++c) {
    fits = given[c].width_blocks == frame.components[c].width_blocks &&
           given[c].height_blocks == frame.components[c].height_blocks &&
           given[c].coefficients.size() == static_cast<std::size_t>(given[c].width_blocks) *
                                               static_cast<std::size_t>(given[c].height_blocks) *
                                               jpeg::kBlockSize;
  }
  if (!fits) return fail(StatusCode::kInternal, "coefficients do not fit the frame");
  return {};
}

Result<void> check_planes(const Item& item) {
  if (item.plan == nullptr) return unsupported("planes without a plan");
  if (!item.parts.empty() &&
      item.parts.size() != static_cast<std::size_t>(item.plan->plane_count)) {
    return fail(StatusCode::kInternal, "parts do not fit the plan");
  }
  for (int i = 0; i < item.plan->plane_count; ++i) {
    const plan::PlanePlan& wanted = item.plan->planes[static_cast<std::size_t>(i)];
    const auto c = static_cast<std::size_t>(wanted.component);
    const std::int32_t rows =
        item.parts.empty() ? wanted.y.in_size : item.parts[static_cast<std::size_t>(i)].in_count;
    if (c >= item.planes.size() || item.planes[c].samples == nullptr ||
        item.planes[c].width_px != wanted.x.in_size || item.planes[c].height_px != rows) {
      return fail(StatusCode::kInternal, "planes do not fit the plan");
    }
    if (reinterpret_cast<std::uintptr_t>(item.planes[c].samples) % 16 != 0 ||
        item.planes[c].pitch_bytes % 16 != 0 ||
        item.planes[c].pitch_bytes < item.planes[c].width_px) {
      return unsupported("planes whose rows do not begin at multiples of 16 bytes");
    }
  }
  return {};
}

/// Refuses headers that libjpeg accepts with a warning: the CPU codec then gives that warning.
Result<void> check_headers(const jpeg::JpegFile& file) {
  if (file.jfif && file.jfif->version_major != 1) {
    return unsupported(fmt::format("JFIF version {}", file.jfif->version_major));
  }
  const int transform = file.adobe_transform.value_or(0);
  const int known = file.frame.component_count == 4 ? 2 : 1;
  if (transform != 0 && transform != known && !file.jfif) {
    return unsupported(fmt::format("Adobe transform {}", transform));
  }
  return {};
}

/// What our own entropy decoder takes.
Result<void> check_file(const jpeg::JpegFile& file) {
  const jpeg::FrameHeader& frame = file.frame;
  if (frame.arithmetic) return unsupported("arithmetic coding without the coefficients");
  if (auto ok = check_headers(file); !ok) return ok;
  if (frame.process == jpeg::Process::kProgressive) {
    const std::string fault = find_progressive_fault(file);
    if (!fault.empty()) return unsupported("progressive files " + fault);
    return {};
  }
  return check_scans(file);
}

Result<void> check_source(const Item& item) {
  if (!item.planes.empty()) return check_planes(item);
  const jpeg::FrameHeader& frame = item.file->frame;
  if (frame.process == jpeg::Process::kLossless || frame.hierarchical) {
    return unsupported("lossless and hierarchical files");
  }
  if (frame.precision_bits != 8) return unsupported("samples of other than 8 bits");
  if (frame.width_px <= 0 || frame.height_px <= 0) return unsupported("frames of unknown size");
  return item.coefficients != nullptr ? check_coefficients(item) : check_file(*item.file);
}

}  // namespace

Result<void> check_batch(std::span<const Item> items) {
  std::uint64_t in = 0, out = 0, pieces = 0;
  for (const Item& item : items) {
    if (item.plan != nullptr) out += count_output_blocks(item.plan->encode) + 1;
    if (!item.planes.empty() || item.file == nullptr) continue;
    const jpeg::FrameHeader& frame = item.file->frame;
    std::uint64_t blocks = 0;
    for (std::size_t c = 0; c < static_cast<std::size_t>(frame.component_count); ++c) {
      blocks += static_cast<std::uint64_t>(frame.components[c].padded_width_blocks) *
                    static_cast<std::uint64_t>(frame.components[c].padded_height_blocks) +
                8;
    }
    in += blocks;
    for (const jpeg::Scan& scan : item.file->scans) {
      pieces += scan.entropy_bytes / kMinSubsequenceBytes + kSpanThreads +
                (scan.restart_interval_mcus != 0 ? blocks : 0);
    }
  }
  if (std::max({in, out, pieces}) <= UINT32_MAX) return {};
  return unsupported(
      fmt::format("batches of {} blocks in, {} blocks out and {} subsequences; "
                  "at most {} of each",
                  in, out, pieces, UINT32_MAX));
}

std::uint64_t count_output_blocks(const plan::EncodePlan& encode) {
  const auto components = static_cast<std::size_t>(encode.component_count);
  std::uint64_t h_max = 1, v_max = 1, blocks_per_mcu = 0;
  for (std::size_t c = 0; c < components && components > 1; ++c) {
    h_max = std::max<std::uint64_t>(h_max, encode.h[c]);
    v_max = std::max<std::uint64_t>(v_max, encode.v[c]);
  }
  for (std::size_t c = 0; c < components; ++c) {
    blocks_per_mcu += components == 1 ? 1u : std::uint64_t{encode.h[c]} * encode.v[c];
  }
  return base::ceil_div(static_cast<std::uint64_t>(encode.width_px), 8 * h_max) *
         base::ceil_div(static_cast<std::uint64_t>(encode.height_px), 8 * v_max) * blocks_per_mcu;
}

Result<void> check_item(const Item& item) {
  if (auto ok = check_source(item); !ok) return ok;
  return check_output(item);
}

Result<void> check_output(const Item& item) {
  if (item.plan == nullptr) return {};
  if (auto ok = check_conversion(item); !ok) return ok;
  if (item.plan->encode.progressive) return unsupported("progressive output");
  const std::uint64_t blocks = count_output_blocks(item.plan->encode);
  if (blocks > kMaxOutputBlocks) {
    return unsupported(fmt::format("outputs of {} blocks; at most {}", blocks, kMaxOutputBlocks));
  }
  return {};
}

}  // namespace framewire::codec::cuda
