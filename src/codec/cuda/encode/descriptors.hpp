// Descriptors that the encoding kernels read: plain structs, filled on the host.
#pragma once

#include <codec/cuda/encode/optimal_codes_desc.hpp>
#include <codec/cuda/encode/size_search_state.hpp>
#include <codec/cuda/given_up.hpp>
#include <codec/cuda/status_bits.hpp>
#include <codec/cuda/tile.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

/// A component of an output stream.
struct EncodePlane {
  const std::uint8_t* samples = nullptr;
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
  std::int16_t* levels = nullptr;          ///< [total_blocks][64] zig-zag
  std::uint64_t* masks = nullptr;          ///< [total_blocks] non-zero coefficients
  std::uint32_t* bit_counts = nullptr;     ///< [total_blocks + 1]; later bit positions
  std::uint32_t* segment_bytes = nullptr;  ///< [segment_count + 1] raw offsets, the last the end
  std::uint32_t* raw = nullptr;            ///< entropy bits before stuffing
  std::uint32_t* end_marks = nullptr;      ///< a bit for each raw byte: it ends a segment
  std::uint32_t raw_capacity_bytes = 0;
  std::uint32_t header_bytes = 0;
  const std::uint8_t* header = nullptr;  ///< everything before the entropy-coded bytes
  std::uint32_t tail_bytes = 0;  ///< of the header, behind the place for the stream's own DHT
  std::uint32_t search = 0;      ///< 1 + index into EncodeView::searches; 0: any size will do
  const std::uint32_t* codes = nullptr;  ///< [2 components][2 DC, AC][256] length << 16 | code
  OptimalCodes* optimal = nullptr;       ///< null: the standard codes
  /// Header, stuffed bytes and EOI, before they are packed; until then the bits of blocks whose
  /// place is not known.
  std::uint8_t* stuffed = nullptr;
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

/// Arguments of every encoding kernel; passed by value.
struct EncodeView {
  const EncodeDesc* encodes = nullptr;
  std::uint32_t encode_count = 0;
  std::uint32_t* status = nullptr;  ///< [images]
  float* reciprocals = nullptr;     ///< [tables][64] natural order
  SizeSearch* searches = nullptr;
  const float* quality_reciprocals = nullptr;        ///< [101 qualities][2][64] natural order
  const std::uint8_t* quality_quantisers = nullptr;  ///< [101 qualities][2][64] zig-zag order
  OutputRecord* records = nullptr;                   ///< [streams]
  OutputRecord* host_records = nullptr;  ///< [streams], host memory that the device writes
  std::uint8_t* host_output = nullptr;
  std::uint64_t host_capacity_bytes = 0;
};

}  // namespace framewire::codec::cuda
