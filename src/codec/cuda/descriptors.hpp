// What a batch looks like to the kernels: plain structs, filled on the host, read on the device.
// Offsets count bytes from the start of the batch's device memory unless they say otherwise.
#pragma once

#include <vector_types.h>
#include <base/host_device.hpp>
#include <codec/cuda/entropy_layout.hpp>
#include <codec/cuda/finish_desc.hpp>
#include <codec/cuda/optimal_codes_desc.hpp>
#include <codec/cuda/size_search_state.hpp>
#include <codec/cuda/status_bits.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

/// Readable behind a scan's data.
inline constexpr std::uint32_t kScanGuardBytes = 16;

/// Which part of an image or plane one thread block works on.
struct Tile {
  std::uint32_t owner = 0;
  std::uint32_t part = 0;
};

/// One sequential scan.
struct ScanDesc {
  std::uint64_t data = 0;        ///< entropy-coded bytes, of any alignment: lead_bytes()
  std::uint32_t data_bytes = 0;  ///< up to the end of the file; the scan may end before
  std::uint32_t image = 0;
  std::uint32_t marker_follows = 0;     ///< whether one is known to lie behind data_bytes
  std::uint32_t first_subsequence = 0;  ///< a multiple of the thread block
  std::uint32_t subsequence_slots = 0;  ///< reserved; those behind the scan's end stay empty
  std::uint32_t slots = 0;              ///< table slot of each block of an MCU, 2 bits a block
  std::uint32_t period = 1;             ///< after how many blocks `slots` repeats
  std::uint32_t blocks_per_mcu = 1;
  std::uint32_t phase_components = 0;  ///< scan component of each block of an MCU, 2 bits a block
  std::uint32_t total_blocks = 0;
  std::uint32_t segment_blocks = 0;  ///< blocks between restart markers; total_blocks without any
  std::uint32_t segment_count = 1;
  std::uint32_t first_segment = 0;      ///< into the segment table; only with restart markers
  std::uint32_t first_marker_tile = 0;  ///< into BatchView::marker_counts; likewise
  std::uint32_t has_restarts = 0;
  std::uint32_t pair_count = 1;
  std::uint32_t pairs[4] = {};      ///< table pair of each slot
  std::uint64_t coefficients = 0;   ///< [total_blocks][N×N] int16
  std::uint64_t row_pairs = 0;      ///< [total_blocks] uint8, of whole blocks; see stored_rows()
  std::uint32_t first_dc = 0;       ///< into the DC array, in blocks
  std::uint32_t first_dc_tile = 0;  ///< into BatchView::dc_sums
  std::uint32_t corner = 8;         ///< N: the low-frequency corner kept of each block
  // Blocks that the picture fills only in part are kept whole besides (docs/decisions/0002): those
  // of the last MCU of each row, then those of the last row.
  std::uint32_t mcu_columns = 0;
  std::uint32_t mcu_rows = 0;
  std::uint32_t right_edge = 0;  ///< whether some component ends inside a block
  std::uint32_t bottom_edge = 0;
  std::uint64_t edges = 0;  ///< [blocks] of 64 int16, zeroed before
};

/// Bytes of something else between the last multiple of 16 and a scan's first byte; readable.
FW_HD constexpr std::uint32_t lead_bytes(const ScanDesc& scan) {
  return static_cast<std::uint32_t>(scan.data % 16);
}

/// Index among a scan's edge blocks; only for blocks of MCUs at an edge that is kept.
FW_HD constexpr std::uint32_t edge_slot(std::uint32_t right_edge, std::uint32_t mcu_columns,
                                        std::uint32_t mcu_rows, std::uint32_t blocks_per_mcu,
                                        std::uint32_t mcu_x, std::uint32_t mcu_y,
                                        std::uint32_t phase) {
  if (right_edge != 0 && mcu_x + 1 == mcu_columns) return mcu_y * blocks_per_mcu + phase;
  return ((right_edge != 0 ? mcu_rows : 0) + mcu_x) * blocks_per_mcu + phase;
}

/// One component to be inverted into a plane.
struct PlaneDesc {
  std::uint64_t coefficients = 0;
  std::uint64_t row_pairs = 0;  ///< as in ScanDesc; 0: all rows are stored
  std::uint64_t dc = 0;         ///< [blocks] int16, in scan order like the coefficients
  std::uint64_t samples = 0;
  std::uint32_t image = 0;
  std::uint32_t corner = 8;         ///< N of this plane
  std::uint32_t stored_corner = 8;  ///< of its scan: the largest that a component of it needs
  std::uint32_t width_px = 0;
  std::uint32_t height_px = 0;
  std::uint32_t pitch_bytes = 0;  ///< a multiple of 16
  std::uint32_t width_blocks = 0;
  std::uint32_t height_blocks = 0;
  std::uint32_t h = 1;  ///< blocks of an MCU across; 1 where the scan has this component alone
  std::uint32_t v = 1;
  std::uint32_t phase = 0;  ///< of the component's first block in an MCU
  std::uint32_t blocks_per_mcu = 1;
  std::uint32_t mcu_columns = 0;
  std::uint32_t mcu_rows = 0;
  std::uint32_t right_edge = 0;  ///< of the scan, as in ScanDesc
  std::uint32_t bottom_edge = 0;
  std::uint32_t valid_x = 8;  ///< samples of the last block column that belong to the picture
  std::uint32_t valid_y = 8;
  std::uint64_t edges = 0;
  std::uint16_t quantiser[64] = {};  ///< natural order
};

/// One axis filter, packed for the kernel (filter_pack.hpp).
struct FilterDesc {
  std::uint64_t first = 0;  ///< x: [out]; y: [groups] first source sample
  std::uint64_t weights =
      0;                  ///< x: [out][run] pairs of 4 high, 4 low bytes; y: [groups][run] float4
  std::uint32_t run = 0;  ///< x: words of 4 samples; y: samples
};

/// One plane to be resampled.
struct ResampleDesc {
  std::uint32_t image = 0;
  std::uint64_t source = 0;  ///< of planes outside the batch's memory: their distance, modulo 2^64
  std::uint64_t target = 0;
  std::uint32_t source_pitch_bytes = 0;
  std::uint32_t source_height_px = 0;
  std::uint32_t target_pitch_bytes = 0;
  std::uint32_t width_px = 0;
  std::uint32_t height_px = 0;
  std::uint32_t tile_columns = 0;
  std::uint32_t tile_height = 0;
  std::uint32_t x_filter = 0;
  std::uint32_t y_filter = 0;
  std::uint64_t rows = 0;  ///< [source_height_px][width_px] float; only in resample_long
};

/// A component of an output stream.
struct EncodePlane {
  std::uint64_t samples = 0;
  std::uint32_t width_px = 0;
  std::uint32_t height_px = 0;
  std::uint32_t pitch_bytes = 0;
  std::uint32_t h = 1;
  std::uint32_t v = 1;
  std::uint32_t phase = 0;
  std::uint32_t quantiser = 0;  ///< index into the reciprocal tables
  std::uint32_t code = 0;       ///< 0 luminance, 1 chrominance Huffman codes
};

/// One output stream.
struct EncodeDesc {
  EncodePlane planes[4];
  std::uint32_t plane_count = 0;
  std::uint32_t image = 0;
  std::uint32_t phase_planes = 0;  ///< plane of each block of an MCU, 2 bits a block
  std::uint32_t blocks_per_mcu = 1;
  std::uint32_t mcu_columns = 0;
  std::uint32_t total_blocks = 0;
  std::uint32_t segment_blocks = 0;  ///< total_blocks without restart markers
  std::uint32_t segment_count = 1;
  std::uint32_t first_block = 0;    ///< into the arrays over all output blocks
  std::uint32_t first_segment = 0;  ///< into the array over all output segments and streams' ends
  std::uint64_t raw = 0;            ///< entropy bits before stuffing
  std::uint32_t raw_capacity_bytes = 0;
  std::uint32_t header_bytes = 0;
  std::uint64_t header = 0;      ///< everything before the entropy-coded bytes
  std::uint32_t tail_bytes = 0;  ///< of the header, behind the place for the stream's own DHT
  std::uint32_t search = 0;      ///< 1 + index into BatchView::searches; 0: any size will do
  std::uint64_t codes = 0;       ///< [2 components][2 DC, AC][256] length << 16 | code
  std::uint64_t optimal = 0;     ///< OptimalCodes; 0: the standard codes
  std::uint64_t stuffed = 0;     ///< header, stuffed bytes and EOI, before they are packed together
  std::uint32_t stuffed_capacity_bytes = 0;
};

/// Where a finished stream lies in the output buffer.
struct OutputRecord {
  std::uint64_t offset = 0;
  std::uint32_t bytes = 0;
  std::uint32_t status = 0;
  std::uint32_t quality = 0;  ///< that the stream has; 0: the planned one
  std::uint32_t missed = 0;   ///< even quality 1 was too large
};

/// Sums of DC differences of up to four components, 16 bits each, modulo 2^16.
struct DcSum {
  std::uint64_t lanes;
  std::uint64_t restarted;  ///< a segment begins in between; only what lies behind counts
};

/// Pointers to everything that kernels share; passed by value.
struct BatchView {
  std::uint8_t* base = nullptr;  ///< of the batch's device memory
  const ScanDesc* scans = nullptr;
  const PlaneDesc* planes = nullptr;
  const FilterDesc* filters = nullptr;
  const ResampleDesc* resamples = nullptr;
  const ConvertDesc* converts = nullptr;
  const SharpenDesc* sharpens = nullptr;
  const PlaceDesc* places = nullptr;
  const EncodeDesc* encodes = nullptr;
  std::uint32_t scan_count = 0;
  std::uint32_t encode_count = 0;
  EntropyLayout layout;
  std::uint32_t* status = nullptr;    ///< [images]
  std::uint32_t* scan_end = nullptr;  ///< [scans] where the first marker that ends it was found
  std::uint32_t* columns = nullptr;   ///< [groups of 32][column_words()][32] unstuffed words
  std::uint32_t* lengths = nullptr;   ///< [subsequences] bits; with kFirstOfSegment
  std::uint32_t* entries = nullptr;   ///< [subsequences] state at the start
  std::uint32_t* exits = nullptr;     ///< [subsequences] state at the end
  std::uint32_t* blocks = nullptr;    ///< [subsequences] completed; later the first block
  Paths* paths = nullptr;             ///< [subsequences] in the place of heads, before them
  Link* links = nullptr;              ///< [subsequences / kSpanThreads] of whole tiles; if traced
  SegmentSum* tile_blocks = nullptr;  ///< the same
  std::uint32_t* segment_start = nullptr;  ///< [segments + 1 a scan] byte offsets in the scan
  std::uint32_t* segment_first = nullptr;  ///< [segments + 1 a scan] first subsequence of each
  std::uint32_t* segment_of = nullptr;     ///< [subsequences] only for scans with restart markers
  uint4* heads = nullptr;                  ///< [subsequences][2] corner of a block begun before
  std::int16_t* dc = nullptr;              ///< [blocks of all scans] differences, later values
  std::uint32_t* marker_counts = nullptr;  ///< [tiles of kMarkerTileBytes] restart markers
  DcSum* dc_sums = nullptr;                ///< [tiles of kImageThreads MCUs of all scans]
  // The output side.
  std::int16_t* levels = nullptr;          ///< [output blocks][64] zig-zag
  std::uint64_t* masks = nullptr;          ///< [output blocks] non-zero coefficients
  std::uint32_t* bit_counts = nullptr;     ///< [output blocks]; later bit positions
  std::uint32_t* segment_bytes = nullptr;  ///< [output segments, streams' ends] raw offsets
  const float* edge_basis = nullptr;       ///< [corners 1, 2, 4][valid 1 to 8][4 samples][8]
  const float* reciprocals = nullptr;      ///< [tables][64] natural order
  SizeSearch* searches = nullptr;
  const float* quality_reciprocals = nullptr;        ///< [101 qualities][2][64] natural order
  const std::uint8_t* quality_quantisers = nullptr;  ///< [101 qualities][2][64] zig-zag order
  OutputRecord* records = nullptr;                   ///< [streams]
  OutputRecord* host_records = nullptr;  ///< [streams], host memory that the device writes
  std::uint8_t* host_output = nullptr;
  std::uint64_t host_capacity_bytes = 0;
};

/// Whether an image is the CPU's: no later stage looks at what the stages before left unwritten.
FW_HD inline bool given_up(const BatchView& batch, std::uint32_t image) {
  return batch.status[image] != 0;
}

/// All four pairs of rows of a block.
inline constexpr std::uint32_t kAllRowPairs = 15;

/// Which pairs of rows of a block are stored, the lowest bit for the first; all others are zero and
/// hold what was there before.
FW_HD inline std::uint32_t stored_rows(const BatchView& batch, const PlaneDesc& plane,
                                       std::uint32_t block) {
  return plane.row_pairs == 0 ? kAllRowPairs : (batch.base + plane.row_pairs)[block];
}

/// In lengths[]: nothing before this subsequence matters to it.
inline constexpr std::uint32_t kFirstOfSegment = 1u << 31;

}  // namespace framewire::codec::cuda
