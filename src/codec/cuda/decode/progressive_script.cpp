#include <codec/cuda/tuning.h>
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <codec/cuda/decode/progressive_script.hpp>
#include <cstdint>
#include <jpeg/markers.hpp>

namespace framewire::codec::cuda {
namespace {

constexpr std::int8_t kNotSent = -1;
/// The lowest bit that has been sent of each coefficient of one component.
using LowBits = std::array<std::int8_t, jpeg::kBlockSize>;

/// What one component's AC scans cost a lane that decodes them.
struct ChainCost {
  std::uint64_t longest_first_bytes = 0;
  std::uint64_t refinement_bytes = 0;
  std::uint64_t refinements = 0;
};

/// Notes what a scan sends of one component. @return whether that comes in order
bool send(const jpeg::Scan& scan, LowBits& low_bits) {
  if (scan.spectral_start != 0 && low_bits[0] == kNotSent) return false;
  for (std::size_t k = scan.spectral_start; k <= scan.spectral_end; ++k) {
    const int due = scan.approx_high == 0 ? kNotSent : scan.approx_high;
    if (low_bits[k] != due) return false;
    low_bits[k] = static_cast<std::int8_t>(scan.approx_low);
  }
  return true;
}

void count(const jpeg::Scan& scan, ChainCost& cost) {
  if (scan.spectral_start == 0) return;
  if (scan.approx_high == 0) {
    cost.longest_first_bytes =
        std::max<std::uint64_t>(cost.longest_first_bytes, scan.entropy_bytes);
  } else {
    cost.refinement_bytes += scan.entropy_bytes;
    ++cost.refinements;
  }
}

/// Whether a marker follows the scan's data, within what libjpeg gets to see.
bool ends_at_marker(const jpeg::JpegFile& file, const jpeg::Scan& scan) {
  const std::size_t end = scan.entropy_offset + scan.entropy_bytes;
  return end + 2 <= file.end_offset && file.bytes[end] == 0xFF && file.bytes[end + 1] != 0;
}

/// libjpeg judges JFIF and Adobe segments wherever they stand; the parser has seen to those before
/// the first scan.
bool has_late_app_segment(const jpeg::JpegFile& file) {
  return std::ranges::any_of(file.segments, [&](const jpeg::Segment& segment) {
    return segment.offset > file.scans.front().offset &&
           (segment.marker == jpeg::marker::kApp0 || segment.marker == jpeg::marker::kApp14);
  });
}

std::string find_long_chain(const jpeg::JpegFile& file,
                            const std::array<ChainCost, jpeg::kMaxComponents>& costs) {
  for (std::size_t c = 0; c < static_cast<std::size_t>(file.frame.component_count); ++c) {
    const jpeg::Component& component = file.frame.components[c];
    const std::uint64_t bytes = std::max(costs[c].longest_first_bytes, costs[c].refinement_bytes);
    // Each scan passes all of them; those of first scans are bounded for the levels' sake.
    const std::uint64_t blocks = std::max<std::uint64_t>(1, costs[c].refinements) *
                                 static_cast<std::uint64_t>(component.width_blocks) *
                                 static_cast<std::uint64_t>(component.height_blocks);
    if (bytes > kMaxChainBytes) {
      return fmt::format("with {} bytes to be decoded one after the other; at most {}", bytes,
                         kMaxChainBytes);
    }
    if (blocks > kMaxChainBlocks) {
      return fmt::format("with {} blocks to be decoded one after the other; at most {}", blocks,
                         kMaxChainBlocks);
    }
  }
  return {};
}

}  // namespace

std::string find_progressive_fault(const jpeg::JpegFile& file) {
  if (file.frame.height_from_dnl) return "with a DNL marker";
  if (file.truncated || !file.warnings.empty() || file.scans.empty()) return "with faults";
  if (file.scans.size() > kMaxProgressiveScans) {
    return fmt::format("of {} scans; at most {}", file.scans.size(), kMaxProgressiveScans);
  }
  if (has_late_app_segment(file)) return "with JFIF or Adobe segments between scans";
  std::array<LowBits, jpeg::kMaxComponents> low_bits{};
  for (LowBits& component : low_bits) component.fill(kNotSent);
  std::array<ChainCost, jpeg::kMaxComponents> costs;
  for (const jpeg::Scan& scan : file.scans) {
    if (!ends_at_marker(file, scan)) return "with a scan that no marker ends";
    for (std::size_t i = 0; i < static_cast<std::size_t>(scan.component_count); ++i) {
      if (!send(scan, low_bits[scan.component[i]])) return "with scans out of order";
      count(scan, costs[scan.component[i]]);
    }
  }
  for (std::size_t c = 0; c < static_cast<std::size_t>(file.frame.component_count); ++c) {
    const bool whole = std::ranges::all_of(low_bits[c], [](std::int8_t bit) { return bit == 0; });
    if (!whole) return "without the last bits of some coefficients";
    if (file.component_quant[c] < 0) return "with components without quantisation table";
  }
  return find_long_chain(file, costs);
}

}  // namespace framewire::codec::cuda
