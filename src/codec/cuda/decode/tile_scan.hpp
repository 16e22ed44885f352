// Prefix sums over more elements than one thread block holds: first the sum of each tile; then each
// element from the sums of the tiles before its own.
#pragma once

#include <cstdint>

namespace framewire::codec::cuda {

/// The sum of the first `count` tiles' sums, for all threads of a block.
/// @tparam Scan  a cub::BlockScan over T
/// @param none  the neutral element of `add`
template <typename Scan, typename T, typename Add>
__device__ T sum_of_tiles(const T* sums, std::uint32_t count, T none, Add add,
                          typename Scan::TempStorage& storage) {
  T before = none;
  for (std::uint32_t first = 0; first < count; first += blockDim.x) {
    const std::uint32_t at = first + threadIdx.x;
    T unused{};
    T total{};
    Scan(storage).ExclusiveScan(at < count ? sums[at] : none, unused, none, add, total);
    before = add(before, total);
    __syncthreads();
  }
  return before;
}

}  // namespace framewire::codec::cuda
