// Sums over a block with cub's interface.
#pragma once

#include <cuda_runtime.h>

namespace cub {

template <typename T, int kThreads>
class BlockReduce {
 public:
  struct TempStorage {
    T values[kThreads];
  };
  explicit BlockReduce(TempStorage& storage) : storage_(storage) {}

  /// The sum; only thread 0 has it.
  T Sum(T value) {
    storage_.values[threadIdx.x] = value;
    __syncthreads();
    if (threadIdx.x != 0) return T();
    T sum = storage_.values[0];
    for (unsigned i = 1; i < kThreads; ++i) sum += storage_.values[i];
    return sum;
  }

 private:
  TempStorage& storage_;
};

}  // namespace cub
