// Arrays in shared memory that one lane reads again and again.
#pragma once

#include <base/host_device.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

/// A view of an array in shared memory whose address stays in a register. Left to itself the
/// compiler computes the address anew for each element, and waits for that longer than for the
/// element.
template <typename T>
class NearArray {
 public:
#if defined(__CUDA_ARCH__)
  __device__ explicit NearArray(const T* array)
      : at_(static_cast<std::uint32_t>(__cvta_generic_to_shared(array))) {
    asm volatile("" : "+r"(at_));
  }
  /// An element of 16 bits, widened without a mask.
  __device__ std::uint32_t wide(std::uint32_t index) const {
    static_assert(sizeof(T) == 2);
    std::uint32_t value;
    asm volatile("ld.shared.u16 %0, [%1];" : "=r"(value) : "r"(at_ + index * 2));
    return value;
  }
  /// wide() of the index that a word's highest bits are: the multiplication keeps the compiler from
  /// making three instructions that wait for one another of two.
  __device__ std::uint32_t wide_at_top(std::uint32_t word, int bits) const {
    static_assert(sizeof(T) == 2);
    std::uint32_t at;
    asm("mad.lo.u32 %0, %1, 2, %2;" : "=r"(at) : "r"(word >> (32 - bits)), "r"(at_));
    std::uint32_t value;
    asm volatile("ld.shared.u16 %0, [%1];" : "=r"(value) : "r"(at));
    return value;
  }
  __device__ T operator[](std::uint32_t index) const {
    const std::uint32_t at = at_ + index * static_cast<std::uint32_t>(sizeof(T));
    if constexpr (sizeof(T) == 2) {
      std::uint16_t value;
      asm volatile("ld.shared.u16 %0, [%1];" : "=h"(value) : "r"(at));
      return value;
    } else if constexpr (sizeof(T) == 4) {
      std::uint32_t value;
      asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(at));
      return value;
    } else {
      static_assert(sizeof(T) == 8);
      std::uint64_t value;
      asm volatile("ld.shared.u64 %0, [%1];" : "=l"(value) : "r"(at));
      return value;
    }
  }

 private:
  std::uint32_t at_;
#else
  explicit NearArray(const T* array) : array_(array) {}
  std::uint32_t wide(std::uint32_t index) const { return array_[index]; }
  std::uint32_t wide_at_top(std::uint32_t word, int bits) const {
    return array_[word >> (32 - bits)];
  }
  T operator[](std::uint32_t index) const { return array_[index]; }

 private:
  const T* array_;
#endif
};

}  // namespace framewire::codec::cuda
