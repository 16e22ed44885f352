// Descriptors that the kernels for progressive scans read: plain structs, filled on the host.
#pragma once

#include <base/host_device.hpp>
#include <codec/cuda/decode/entry.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

/// Bits that index AcLookup::entries.
inline constexpr int kAcLookupBits = 9;

/// The code of one AC scan. An entry is symbol << 8 | length; 0: a longer code, or none.
struct AcLookup {
  std::uint16_t entries[1 << kAcLookupBits];
  CanonicalCode code;
};

FW_HD inline std::uint16_t build_ac_entry(const CanonicalCode& code, std::uint32_t index) {
  const Symbol symbol = find_symbol(code, index << (16 - kAcLookupBits));
  if (symbol.code_bits == 0 || symbol.code_bits > kAcLookupBits) return 0;
  return static_cast<std::uint16_t>(symbol.value << 8 | static_cast<unsigned>(symbol.code_bits));
}

/// One component of a progressive file, its blocks row by row without those that fill up MCUs.
///
/// Levels are kept as sign and magnitude while scans add to them, so that a correction is one bit
/// to be set, whatever the sign; assemble_kernel turns them into two's complement. Blocks at an
/// edge that is kept whole (docs/decisions/0002) lie behind the corners, in the order of
/// edge_slot(); their corners stay zero, since nobody reads them.
struct ProgressivePlane {
  std::int16_t* levels = nullptr;  ///< [blocks][N×N], then [edge blocks][64]; zeroed before
  std::uint32_t level_count = 0;   ///< of both together, and one more where that is odd
  std::uint32_t edges_at = 0;      ///< index of the first edge block's first level
  std::uint32_t image = 0;
  std::uint32_t width_blocks = 0;
  std::uint32_t height_blocks = 0;
  std::uint32_t corner_shift = 3;  ///< binary logarithm of N
  std::uint32_t right_edge = 0;    ///< whether the last column's blocks are kept whole
  std::uint32_t bottom_edge = 0;
  std::uint64_t corner_mask = 0;  ///< bit k: the k-th coefficient sent lies in the corner
  // DC, which the first scan leaves in that scan's order: see scan_block() in block_place.hpp.
  const std::uint32_t* sums = nullptr;  ///< in the lower halves of word_of_block()
  std::int16_t* dc = nullptr;           ///< [blocks]
  std::uint32_t dc_low_bit = 0;
  std::uint32_t h = 1;
  std::uint32_t v = 1;
  std::uint32_t phase = 0;
  std::uint32_t blocks_per_mcu = 1;
  std::uint32_t mcu_columns = 0;
};

/// What a scan's data has for one block: AcScanDesc::starts. Nothing: 0.
inline constexpr std::uint32_t kBlockCoded = 1u << 31;  ///< codes begin at the bit in kBlockStart
inline constexpr std::uint32_t kBlockInRun = 1u << 30;  ///< correction bits do, and no codes
inline constexpr std::uint32_t kBlockStart = kBlockInRun - 1;

/// One AC scan.
struct AcScanDesc {
  const std::uint8_t* data = nullptr;  ///< of any alignment
  std::uint32_t data_bytes = 0;        ///< up to the marker behind the scan
  std::uint32_t plane = 0;
  std::uint32_t first = 1;           ///< Ss
  std::uint32_t last = 63;           ///< Se
  std::uint32_t low_bit = 0;         ///< Al
  std::uint32_t segment_blocks = 0;  ///< between restart markers; all blocks without any
  std::uint32_t segment_count = 1;
  std::uint32_t word_count = 0;
  AcLookup* table = nullptr;
  std::uint32_t* words = nullptr;         ///< [word_count] `data`, big-endian, without stuffing and
                                          ///< markers; zeros behind it, at least one word of them
  std::uint32_t* segment_ends = nullptr;  ///< [segment_count] in bytes of `words`
  std::uint32_t* starts = nullptr;        ///< [blocks] zeroed before
  // Histories of the plane's blocks: for each the bits k of coefficients that are not zero.
  const unsigned long long* before = nullptr;  ///< [blocks] of refinements
  unsigned long long* after =
      nullptr;  ///< [blocks] null where no refinement follows; zeroed before
                ///< the first scans of a plane, which add to the same one
  // How many blocks of each first scan of the plane have their bits in the history: zeroed before.
  std::uint32_t* passed = nullptr;        ///< [1] of first scans, where refinements follow
  const std::uint32_t* awaits = nullptr;  ///< [awaited] of a plane's first refinement
  std::uint32_t awaited = 0;
};

/// A lane that decodes one AC scan.
struct AcLane {
  std::uint32_t scan = 0;
  std::uint32_t follows = 0;  ///< whether it refines what the lane before it refines
};

/// Lanes that share a warp.
struct AcWarp {
  std::uint32_t first_lane = 0;
  std::uint32_t lane_count = 0;
  std::uint32_t refines = 0;  ///< whether these are refinements, or first scans
};

/// The AC scans of a plane: first ones, then refinements, in the file's order.
struct AcPlaneScans {
  std::uint32_t plane = 0;
  std::uint32_t first_scan = 0;
  std::uint32_t first_count = 0;
  std::uint32_t refinement_count = 0;
};

/// A scan that sends one more bit of DC values.
struct DcRefinementDesc {
  const std::uint8_t* data = nullptr;
  std::uint32_t data_bytes = 0;
  std::uint32_t low_bit = 0;  ///< Al
  std::uint32_t total_blocks = 0;
  std::uint32_t segment_blocks = 0;
  std::uint32_t blocks_per_mcu = 1;
  std::uint32_t mcu_columns = 0;
  std::uint32_t component_count = 0;
  std::uint32_t planes[4] = {};     ///< of each component of the scan
  std::uint32_t h[4] = {};          ///< blocks of an MCU across
  std::uint32_t phase_end[4] = {};  ///< one past the component's last block of an MCU
};

/// One progressive image: its planes and its scans of DC refinement, in their order.
struct ProgressiveImage {
  std::uint32_t image = 0;
  std::uint32_t first_plane = 0;
  std::uint32_t plane_count = 0;
  std::uint32_t first_refinement = 0;
  std::uint32_t refinement_count = 0;
};

/// Arguments of the kernels for progressive scans; passed by value.
struct ProgressiveView {
  const ProgressivePlane* planes = nullptr;
  const AcScanDesc* scans = nullptr;
  const DcRefinementDesc* refinements = nullptr;
  const ProgressiveImage* images = nullptr;
  std::uint32_t* status = nullptr;  ///< [images of the batch]
  std::uint32_t* begun = nullptr;   ///< [1] warps that have begun; zeroed before
};

}  // namespace framewire::codec::cuda
