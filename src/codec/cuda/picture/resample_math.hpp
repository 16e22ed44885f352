// What both resampling paths share on the device.
#pragma once

#include <cstdint>

namespace framewire::codec::cuda {

__device__ inline std::int32_t dot_signed(std::uint32_t samples, std::uint32_t weights,
                                          std::int32_t sum) {
#if defined(__CUDA_ARCH__)
  std::int32_t result = 0;
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(samples), "r"(weights), "r"(sum));
  return result;
#else
  for (int i = 0; i < 32; i += 8) {
    sum += static_cast<std::int32_t>(samples >> i & 0xFF) *
           static_cast<std::int8_t>(weights >> i & 0xFF);
  }
  return sum;
#endif
}

__device__ inline std::uint32_t to_sample(float value) {
  return static_cast<std::uint32_t>(fminf(fmaxf(value, 0.f), 255.f));
}

}  // namespace framewire::codec::cuda
