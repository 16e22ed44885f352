// Prefix sums over a block with cub's interface.
#pragma once

#include <cuda_runtime.h>

namespace cub {

enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_WARP_SCANS };

template <typename T, int kThreads, BlockScanAlgorithm = BLOCK_SCAN_RAKING>
class BlockScan {
 public:
  struct TempStorage {
    T values[kThreads];
    T all;
  };
  explicit BlockScan(TempStorage& storage) : storage_(storage) {}

  /// @param all  every thread's value, without `initial`
  template <typename Operator>
  void ExclusiveScan(T value, T& before, T initial, Operator add, T& all) {
    storage_.values[threadIdx.x] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
      T sum = initial;
      storage_.all = storage_.values[0];
      for (unsigned i = 0; i < kThreads; ++i) {
        const T own = storage_.values[i];
        storage_.values[i] = sum;
        sum = add(sum, own);
        if (i != 0) storage_.all = add(storage_.all, own);
      }
    }
    __syncthreads();
    before = storage_.values[threadIdx.x];
    all = storage_.all;
    // As on a device, the storage is the caller's again only behind a barrier of its own.
  }
  void ExclusiveSum(T value, T& before, T& all) {
    ExclusiveScan(value, before, T(), [](T a, T b) { return a + b; }, all);
  }

 private:
  TempStorage& storage_;
};

}  // namespace cub
