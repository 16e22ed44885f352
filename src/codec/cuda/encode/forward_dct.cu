// Idea: one thread a dct_block, all 64 values in registers. Outputs are small: they have a
// sixteenth of the input's blocks, so this stage seldom matters.
//
// Source: T.81 A.3.3 by the factorisation in transforms.hpp.
#include <codec/cuda/tuning.h>
#include <codec/cuda/encode/encode_place.hpp>
#include <codec/cuda/encode/forward_dct.hpp>
#include <codec/cuda/encode/size_search.hpp>
#include <codec/cuda/transforms.hpp>
#include <codec/cuda/zigzag.hpp>
#include <gpu/launch.hpp>

namespace framewire::codec::cuda {
namespace {

__device__ void load_samples(const EncodePlane& plane, std::uint32_t x, std::uint32_t y, float* a) {
  const std::uint8_t* samples = plane.samples;
  const bool whole = x + 8 <= plane.width_px && y + 8 <= plane.height_px;
#pragma unroll
  for (std::uint32_t row = 0; row < 8; ++row) {
    const std::uint8_t* line =
        samples + static_cast<std::uint64_t>(min(y + row, plane.height_px - 1)) * plane.pitch_bytes;
    uint2 words{};
    if (whole) {
      words = *reinterpret_cast<const uint2*>(line + x);
    } else {
      for (std::uint32_t i = 0; i < 4; ++i) {
        words.x |= static_cast<std::uint32_t>(line[min(x + i, plane.width_px - 1)]) << (8 * i);
        words.y |= static_cast<std::uint32_t>(line[min(x + 4 + i, plane.width_px - 1)]) << (8 * i);
      }
    }
#pragma unroll
    for (std::uint32_t i = 0; i < 4; ++i) {
      a[row * 8 + i] = static_cast<float>(words.x >> (8 * i) & 255) - 128.f;
      a[row * 8 + 4 + i] = static_cast<float>(words.y >> (8 * i) & 255) - 128.f;
    }
  }
}

/// Nearest level, halves away from zero.
__device__ std::int32_t quantise(float coefficient, float reciprocal) {
  const float level = coefficient * reciprocal;
  return static_cast<std::int32_t>(level + (level < 0.f ? -0.5f : 0.5f));
}

__global__ void __launch_bounds__(kBlocksPerTile)
    forward_dct_kernel(EncodeView batch, const Tile* tiles) {
  gpu::grid_dependency_sync();
  const Tile tile = tiles[blockIdx.x];
  const EncodeDesc& stream = batch.encodes[tile.owner];
  const std::uint32_t block = tile.part * kBlocksPerTile + threadIdx.x;
  if (block >= stream.total_blocks || nothing_to_encode(batch, stream)) return;
  const EncodePlace own = place_output_block(stream, block);
  const EncodePlane& plane = stream.planes[own.plane];
  const EncodePlace place = dc_source(plane, own);
  const std::uint64_t kept = place.position == own.position ? ~0ull : 1;
  float a[64];
  load_samples(plane, place.x * 8, place.y * 8, a);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    forward_8(a[i * 8], a[i * 8 + 1], a[i * 8 + 2], a[i * 8 + 3], a[i * 8 + 4], a[i * 8 + 5],
              a[i * 8 + 6], a[i * 8 + 7]);
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    forward_8(a[i], a[i + 8], a[i + 16], a[i + 24], a[i + 32], a[i + 40], a[i + 48], a[i + 56]);
  }
  const float* reciprocals = batch.reciprocals + plane.quantiser * 64;
  auto* out = reinterpret_cast<uint4*>(stream.levels + static_cast<std::uint64_t>(block) * 64);
  std::uint64_t mask = 0;
#pragma unroll
  for (std::uint32_t group = 0; group < 8; ++group) {
    std::uint32_t words[4] = {};
#pragma unroll
    for (std::uint32_t i = 0; i < 8; ++i) {
      constexpr NaturalOrder kOrder{};
      const std::uint32_t position = kOrder.at[group * 8 + i];
      std::int32_t level = quantise(a[position], __ldg(reciprocals + position));
      if ((kept >> (group * 8 + i) & 1) == 0) level = 0;
      words[i / 2] |= (static_cast<std::uint32_t>(level) & 0xFFFF) << (i % 2 * 16);
      if (level != 0) mask |= 1ull << (group * 8 + i);
    }
    out[group] = make_uint4(words[0], words[1], words[2], words[3]);
  }
  stream.masks[block] = mask;
}

}  // namespace

void launch_forward_dct(const EncodeView& batch, const Tile* tiles, std::uint32_t tile_count,
                        cudaStream_t stream) {
  gpu::launch(forward_dct_kernel, tile_count, kBlocksPerTile, 0, stream, batch, tiles);
}

}  // namespace framewire::codec::cuda
