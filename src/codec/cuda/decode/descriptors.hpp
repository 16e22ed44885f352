// Descriptors that the decoding kernels read: plain structs, filled on the host.
#pragma once

#include <vector_types.h>
#include <base/host_device.hpp>
#include <codec/cuda/decode/entropy_layout.hpp>
#include <codec/cuda/given_up.hpp>
#include <codec/cuda/status_bits.hpp>
#include <codec/cuda/tile.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

/// Bytes behind a scan's data that kernels may read.
inline constexpr std::uint32_t kScanGuardBytes = 16;

/// The most that dc_run_blocks() gives.
inline constexpr std::uint32_t kMaxDcRun = 12;
/// Sums of DC differences of up to four components, 16 bits each, modulo 2^16.
struct DcSum {
  std::uint64_t lanes;
  std::uint64_t restarted;  ///< a segment begins in between; only what lies behind counts
};

/// Blocks whose DC differences one thread adds up: whole MCUs, of which none has more blocks.
FW_HD constexpr std::uint32_t dc_run_blocks(std::uint32_t blocks_per_mcu) {
  return kMaxDcRun / blocks_per_mcu * blocks_per_mcu;
}

/// Side of the corner that is stored for planes which need one of N×N. Of those that need 5 or 6
/// whole blocks are stored, pairs of rows of them: see word_of_block().
FW_HD constexpr std::uint32_t stored_side(std::uint32_t corner) { return corner > 4 ? 8 : corner; }

/// Index of a corner among 1, 2, 4, 5, 6 and 8.
FW_HD constexpr std::uint32_t corner_index(std::uint32_t corner) {
  return corner == 8 ? 5 : corner > 2 ? corner - 2 : corner - 1;
}
inline constexpr std::uint32_t kCornerCount = 6;
/// Samples an axis of DecodeView::edge_basis: those of the largest reduced corner.
inline constexpr std::uint32_t kEdgeSamples = 6;

/// One sequential scan.
struct ScanDesc {
  const std::uint8_t* data = nullptr;  ///< entropy-coded bytes, of any alignment: lead_bytes()
  std::uint32_t data_bytes = 0;        ///< up to the end of the file; the scan may end before
  std::uint32_t image = 0;
  std::uint32_t marker_follows = 0;     ///< whether one is known to lie behind data_bytes
  std::uint32_t ends_file = 0;          ///< whether nothing but an EOI at the end may follow it
  std::uint32_t first_subsequence = 0;  ///< a multiple of the thread block
  std::uint32_t subsequence_slots = 0;  ///< reserved; those behind the scan's end stay empty
  std::uint32_t block_tables = 0;       ///< of the first `period` blocks of an MCU; PhasePattern
  std::uint32_t period = 1;
  std::uint32_t marked_tables = 0;  ///< as block_tables, with low blocks marked: kLowSide
  std::uint32_t marked_period = 1;
  std::uint32_t low_phases = 0;  ///< bit i: block i of an MCU is low; only where N is 4
  std::uint32_t mcu_bytes = 0;   ///< of coefficients
  std::uint32_t blocks_per_mcu = 1;
  std::uint32_t phase_components = 0;  ///< scan component of each block of an MCU, 2 bits a block
  std::uint32_t total_blocks = 0;
  std::uint32_t segment_blocks = 0;  ///< blocks between restart markers; total_blocks without any
  std::uint32_t segment_count = 1;
  std::uint32_t has_restarts = 0;
  std::uint32_t pair_count = 1;
  std::uint32_t pairs[4] = {};           ///< table pair of each slot
  std::int16_t* coefficients = nullptr;  ///< corners where place_corner() says
  std::uint32_t* block_words = nullptr;  ///< [total_blocks] DC differences, later values
  DcSum* dc_sums = nullptr;              ///< [tiles of kImageThreads × dc_run_blocks()]
  // The next three only for scans with restart markers.
  std::uint32_t* segment_start = nullptr;  ///< [segment_count + 1] byte offsets in the scan
  std::uint32_t* segment_first = nullptr;  ///< [segment_count + 1] first subsequence of each
  std::uint32_t* marker_counts = nullptr;  ///< [tiles of kMarkerTileBytes] restart markers
  std::uint32_t corner = 8;                ///< N: the low-frequency corner stored of each block
  // Where corners are kept, blocks that the picture fills only in part are also kept whole
  // (docs/decisions/0002): those of the last MCU of each row, then those of the last row.
  std::uint32_t mcu_columns = 0;
  std::uint32_t mcu_rows = 0;
  std::uint32_t right_edge = 0;  ///< whether some component ends inside a block
  std::uint32_t bottom_edge = 0;
  std::int16_t* edges = nullptr;  ///< [blocks][64] zeroed before
  // Where `keeps_part`, coefficients are kept of these MCUs alone, and DC of all up to the last.
  std::uint32_t keeps_part = 0;
  std::uint32_t first_column = 0;
  std::uint32_t end_column = 0;
  std::uint32_t first_row = 0;
  std::uint32_t end_row = 0;
  std::uint32_t end_block = 0;  ///< behind the last one that is needed; total_blocks if all are
};

/// Number of bytes, not the scan's but readable, between the last multiple of 16 and the scan's
/// first byte.
FW_HD inline std::uint32_t lead_bytes(const ScanDesc& scan) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(scan.data) % 16);
}

FW_HD constexpr std::uint32_t corner_bytes(std::uint32_t side) { return side * side * 2; }
/// Low blocks are those of which corners of 2 or 1 are needed, where others of the scan need 4 and
/// none more: an even number of them, behind all others of an MCU. They have corners of 2, so that
/// four of them lie in a sector.
inline constexpr std::uint32_t kLowSide = 2;

struct CornerPlace {
  std::uint64_t at;     ///< byte in ScanDesc::coefficients
  std::uint32_t bytes;  ///< of this corner
};
/// Where the corner of a block lies: MCUs one behind the other, and in these the blocks.
FW_HD inline CornerPlace place_corner(const ScanDesc& scan, std::uint32_t block) {
  if (scan.low_phases == 0) {
    const std::uint32_t bytes = corner_bytes(scan.corner);
    return {static_cast<std::uint64_t>(block) * bytes, bytes};
  }
  const std::uint32_t mcu = block / scan.blocks_per_mcu;
  const std::uint32_t phase = block - mcu * scan.blocks_per_mcu;
  const std::uint32_t own = corner_bytes(scan.corner);
  CornerPlace place{static_cast<std::uint64_t>(mcu) * scan.mcu_bytes, own};
  for (std::uint32_t i = 0; i <= phase; ++i) {
    place.bytes = (scan.low_phases >> i & 1) != 0 ? corner_bytes(kLowSide) : own;
    if (i < phase) place.at += place.bytes;
  }
  return place;
}

/// Index among a scan's edge blocks. Only for blocks of an MCU at an edge that is kept.
FW_HD constexpr std::uint32_t edge_slot(std::uint32_t right_edge, std::uint32_t mcu_columns,
                                        std::uint32_t mcu_rows, std::uint32_t blocks_per_mcu,
                                        std::uint32_t mcu_x, std::uint32_t mcu_y,
                                        std::uint32_t phase) {
  if (right_edge != 0 && mcu_x + 1 == mcu_columns) return mcu_y * blocks_per_mcu + phase;
  return ((right_edge != 0 ? mcu_rows : 0) + mcu_x) * blocks_per_mcu + phase;
}

/// One component, to be inverse-transformed into a plane.
struct PlaneDesc {
  const std::int16_t* coefficients = nullptr;
  // In scan order like the coefficients: words, or for progressive files and uploaded coefficients,
  // of which all rows are stored, DC.
  const std::uint32_t* block_words = nullptr;
  const std::int16_t* dc = nullptr;
  std::uint8_t* samples = nullptr;
  std::uint32_t image = 0;
  std::uint32_t corner = 8;         ///< N of this plane
  std::uint32_t stored_corner = 8;  ///< side of its blocks' corners in `coefficients`
  std::uint32_t width_px = 0;
  std::uint32_t height_px = 0;
  std::uint32_t pitch_bytes = 0;  ///< a multiple of 16
  std::uint32_t width_blocks = 0;
  std::uint32_t height_blocks = 0;
  // The blocks that are transformed.
  std::uint32_t first_column = 0;
  std::uint32_t first_row = 0;
  std::uint32_t columns = 0;
  std::uint32_t rows = 0;
  std::uint32_t h = 1;  ///< blocks of an MCU across; 1 where the scan has this component alone
  std::uint32_t v = 1;
  std::uint32_t phase = 0;  ///< of the component's first block in an MCU
  std::uint32_t blocks_per_mcu = 1;
  std::uint32_t phase_bytes = 0;  ///< where its corner begins there
  std::uint32_t mcu_bytes = 0;    ///< of the coefficients of an MCU
  std::uint32_t mcu_columns = 0;
  std::uint32_t mcu_rows = 0;
  std::uint32_t right_edge = 0;  ///< of the scan, as in ScanDesc
  std::uint32_t bottom_edge = 0;
  std::uint32_t valid_x = 8;  ///< samples of the last block column that belong to the picture
  std::uint32_t valid_y = 8;
  const std::int16_t* edges = nullptr;
  std::uint16_t quantiser[64] = {};  ///< natural order
};

/// Arguments of every decoding kernel; passed by value.
struct DecodeView {
  const ScanDesc* scans = nullptr;
  const PlaneDesc* planes = nullptr;
  std::uint32_t scan_count = 0;
  EntropyLayout layout;
  std::uint32_t* status = nullptr;    ///< [images]
  std::uint32_t* scan_end = nullptr;  ///< [scans] where the first marker that ends it was found
  uint2* columns = nullptr;           ///< [groups of 32][column_words() / 2][32] unstuffed words
  std::uint32_t* lengths = nullptr;   ///< [subsequences] bits; with kFirstOfSegment
  std::uint32_t* entries = nullptr;   ///< [subsequences] state at the start
  std::uint32_t* exits = nullptr;     ///< [subsequences] state at the end
  std::uint32_t* blocks = nullptr;    ///< [subsequences] completed; later the first block
  Candidates* candidates = nullptr;   ///< [subsequences] in the memory of heads, which come later
  CandidateMap* candidate_maps = nullptr;  ///< [tiles of kSpanThreads subsequences]
  SegmentSum* tile_blocks = nullptr;       ///< the same
  std::uint32_t* segment_of = nullptr;     ///< [subsequences] only for scans with restart markers
  uint4* heads = nullptr;                  ///< [subsequences][2] corner of a block begun before
  const float* edge_basis = nullptr;  ///< [corner_index() of 1 to 6][valid 1 to 8][kEdgeSamples][8]
};

/// StoredBlock::row_pairs where all are stored.
inline constexpr std::uint32_t kAllRowPairs = 15;

/// A block's word: in the lower half its DC difference, later its value; above it which pairs of
/// rows of its corner are stored, the first at bit 16. The other pairs are zero: their memory holds
/// something older and must not be read. No word is 0.
FW_HD constexpr std::uint32_t word_of_block(std::uint32_t dc, std::uint32_t row_pairs) {
  return 1u << 31 | row_pairs << 16 | (dc & 0xFFFF);
}

struct StoredBlock {
  std::int32_t dc;
  std::uint32_t row_pairs;
};
FW_HD inline StoredBlock stored_block(const PlaneDesc& plane, std::uint32_t block) {
  if (plane.block_words == nullptr) return {plane.dc[block], kAllRowPairs};
  const std::uint32_t word = plane.block_words[block];
  return {static_cast<std::int16_t>(word & 0xFFFF), word >> 16 & kAllRowPairs};
}

/// Bit of lengths[]: the subsequence is the first of its segment.
inline constexpr std::uint32_t kFirstOfSegment = 1u << 31;

}  // namespace framewire::codec::cuda
