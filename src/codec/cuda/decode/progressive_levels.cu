// Idea: behind its first scan DC needs no chain. A refinement sends one bit a block and no codes,
// so that a bit's place in the data is the block's place in the scan: one thread block an image
// counts the bytes that are not stuffing, and each thread then knows whose bits its own bytes are.
#include <codec/cuda/tuning.h>
#include <codec/cuda/decode/progressive.hpp>
#include <codec/cuda/decode/scan_bytes.hpp>
#include <codec/cuda/given_up.hpp>
#include <codec/cuda/status_bits.hpp>
#include <gpu/launch.hpp>

namespace framewire::codec::cuda {
namespace {

/// Adds a bit to the block that is the scan's `block`-th; to none where that fills up an MCU.
__device__ void add_bit(const ProgressivePlane* planes, const DcRefinementDesc& scan,
                        std::uint32_t block) {
  const std::uint32_t mcu = block / scan.blocks_per_mcu;
  const std::uint32_t phase = block - mcu * scan.blocks_per_mcu;
  std::uint32_t component = 0;
  std::uint32_t begin = 0;
  while (component + 1 < scan.component_count && phase >= scan.phase_end[component]) {
    begin = scan.phase_end[component++];
  }
  const std::uint32_t h = scan.h[component];
  const std::uint32_t v = (scan.phase_end[component] - begin) / h;
  const std::uint32_t row = mcu / scan.mcu_columns;
  const std::uint32_t x = (mcu - row * scan.mcu_columns) * h + (phase - begin) % h;
  const std::uint32_t y = row * v + (phase - begin) / h;
  const ProgressivePlane& plane = planes[scan.planes[component]];
  if (x >= plane.width_blocks || y >= plane.height_blocks) return;
  std::int16_t& level = plane.dc[y * plane.width_blocks + x];
  level = static_cast<std::int16_t>(static_cast<std::uint32_t>(level) | 1u << scan.low_bit);
}

/// Spreads the bits of one thread's bytes. @return StatusBit
__device__ std::uint32_t refine_from(const ProgressivePlane* planes, const DcRefinementDesc& scan,
                                     std::uint32_t at, ByteCount before) {
  const std::uint32_t segment_bytes = (scan.segment_blocks + 7) / 8;
  std::uint32_t faults = 0;
  for (std::uint32_t i = at; i < at + kThreadBytes && i < scan.data_bytes; ++i) {
    const ByteKind kind = kind_of(scan.data, scan.data_bytes, i);
    if (kind == ByteKind::kNothing) continue;
    if (kind == ByteKind::kMarker) {
      const bool in_order = is_restart(scan.data, scan.data_bytes, i, before.markers);
      if (!in_order || before.bytes != (before.markers + 1) * segment_bytes) faults |= kExtraneous;
      ++before.markers;
      continue;
    }
    const std::uint32_t segment = before.bytes / segment_bytes;
    const std::uint32_t first = segment * scan.segment_blocks;
    const std::uint32_t bit = (before.bytes - segment * segment_bytes) * 8;
    ++before.bytes;
    if (segment != before.markers || first >= scan.total_blocks) {
      faults |= kExtraneous;
      continue;
    }
    const std::uint32_t quota = min(scan.segment_blocks, scan.total_blocks - first);
    for (std::uint32_t n = 0; n < 8 && bit + n < quota; ++n) {
      if ((scan.data[i] >> (7 - n) & 1) != 0) add_bit(planes, scan, first + bit + n);
    }
    if (bit >= quota) faults |= kExtraneous;
  }
  return faults;
}

/// How many bytes of bits a clean scan has.
__device__ std::uint32_t expected_bytes(const DcRefinementDesc& scan) {
  const std::uint32_t whole = (scan.total_blocks - 1) / scan.segment_blocks;
  const std::uint32_t last = scan.total_blocks - whole * scan.segment_blocks;
  return whole * ((scan.segment_blocks + 7) / 8) + (last + 7) / 8;
}

__device__ std::uint32_t refine_dc(const ProgressivePlane* planes, const DcRefinementDesc& scan,
                                   typename CountScan::TempStorage& storage) {
  ByteCount before;
  std::uint32_t faults = 0;
  for (std::uint32_t tile = 0; tile < scan.data_bytes; tile += kImageThreads * kThreadBytes) {
    const std::uint32_t at = tile + threadIdx.x * kThreadBytes;
    ByteCount sum{};
    ByteCount total{};
    CountScan(storage).ExclusiveScan(count_bytes(scan.data, scan.data_bytes, at), sum, ByteCount{},
                                     AddCounts(), total);
    faults |= refine_from(planes, scan, at, AddCounts()(before, sum));
    before = AddCounts()(before, total);
    __syncthreads();
  }
  return faults | (before.bytes < expected_bytes(scan) ? kTruncated : 0);
}

/// Copies the sums of DC differences, which lie in their scan's order.
__device__ void place_dc(const ProgressivePlane& plane) {
  const std::uint32_t blocks = plane.width_blocks * plane.height_blocks;
  for (std::uint32_t i = threadIdx.x; i < blocks; i += kImageThreads) {
    const std::uint32_t y = i / plane.width_blocks;
    const std::uint32_t x = i - y * plane.width_blocks;
    const std::uint32_t mcu = y / plane.v * plane.mcu_columns + x / plane.h;
    const std::uint32_t phase = plane.phase + y % plane.v * plane.h + x % plane.h;
    const std::uint32_t sum = plane.sums[mcu * plane.blocks_per_mcu + phase] & 0xFFFF;
    plane.dc[i] = static_cast<std::int16_t>(sum << plane.dc_low_bit);
  }
}

__global__ void __launch_bounds__(kImageThreads) progressive_dc_kernel(ProgressiveView view) {
  gpu::grid_dependency_sync();
  __shared__ typename CountScan::TempStorage storage;
  const ProgressiveImage image = view.images[blockIdx.x];
  // Read once for all threads: some may find faults while others have not begun.
  if (__syncthreads_or(given_up(view, image.image) ? 1 : 0) != 0) return;
  for (std::uint32_t i = 0; i < image.plane_count; ++i) {
    place_dc(view.planes[image.first_plane + i]);
  }
  __syncthreads();
  std::uint32_t faults = 0;
  for (std::uint32_t i = 0; i < image.refinement_count; ++i) {
    faults |= refine_dc(view.planes, view.refinements[image.first_refinement + i], storage);
    __syncthreads();
  }
  if (faults != 0) atomicOr(&view.status[image.image], faults);
}

/// Two levels at once.
__device__ std::uint32_t to_twos_complement(std::uint32_t pair) {
  std::uint32_t turned = 0;
  for (std::uint32_t shift = 0; shift < 32; shift += 16) {
    const std::uint32_t level = pair >> shift & 0xFFFF;
    const std::uint32_t value = (level & 0x8000u) != 0 ? 0u - (level & 0x7FFFu) : level;
    turned |= (value & 0xFFFF) << shift;
  }
  return turned;
}

__global__ void __launch_bounds__(kAssembleThreads)
    assemble_levels_kernel(ProgressiveView view, const Tile* tiles) {
  gpu::grid_dependency_sync();
  const Tile tile = tiles[blockIdx.x];
  const ProgressivePlane& plane = view.planes[tile.owner];
  if (given_up(view, plane.image)) return;
  auto* pairs = reinterpret_cast<std::uint32_t*>(plane.levels);
  // An odd last level shares its word with nothing: slices begin at multiples of 256 bytes.
  const std::uint32_t end = min((tile.part + 1) * kLevelsPerTile / 2, (plane.level_count + 1) / 2);
  for (std::uint32_t i = tile.part * (kLevelsPerTile / 2) + threadIdx.x; i < end;
       i += kAssembleThreads) {
    if (const std::uint32_t pair = pairs[i]; (pair & 0x80008000u) != 0) {
      pairs[i] = to_twos_complement(pair);
    }
  }
}

}  // namespace

void load_progressive_levels() {
  gpu::load(progressive_dc_kernel);
  gpu::load(assemble_levels_kernel);
}

void launch_progressive_dc(const ProgressiveView& view, std::uint32_t image_count,
                           cudaStream_t stream) {
  if (image_count == 0) return;
  gpu::launch(progressive_dc_kernel, image_count, kImageThreads, 0, stream, view);
}

void launch_assemble_levels(const ProgressiveView& view, const Tile* tiles,
                            std::uint32_t tile_count, cudaStream_t stream) {
  if (tile_count == 0) return;
  gpu::launch(assemble_levels_kernel, tile_count, kAssembleThreads, 0, stream, view, tiles);
}

}  // namespace framewire::codec::cuda
