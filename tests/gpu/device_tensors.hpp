// Batches on a device, for tests that compare them.
#pragma once

#include <gtest/gtest.h>
#include <cstdint>
#include <framewire/tensor.hpp>
#include <gpu/buffer.hpp>
#include <gpu/stream.hpp>
#include <tests/gpu/gpu.hpp>
#include <tests/support/tensors.hpp>
#include <vector>

namespace framewire::gpu_tests {

using JpegBytes = std::vector<std::uint8_t>;

/// What follows a batch, and must not change.
inline constexpr std::size_t kGuard = 64;
inline constexpr std::uint8_t kFill = 0xA5;

/// A batch on a device, and what is said of it.
struct DeviceBatch {
  JpegBytes elements;  ///< and the guard
  std::vector<std::uint8_t> ok;
  Result<void> done;
};

inline DeviceBatch decode_on_device(TensorDecoder& decoder, const std::vector<TensorItem>& items) {
  const std::size_t bytes = items.size() * decoder.image_bytes();
  auto memory = gpu::Buffer::make(gpu::BufferKind::kDevice, bytes + kGuard).value();
  auto stream = gpu::Stream::make().value();
  DeviceBatch batch;
  batch.elements.assign(bytes + kGuard, kFill);
  batch.ok.assign(items.size(), 7);
  (void)cudaMemcpy(memory.data(), batch.elements.data(), bytes + kGuard, cudaMemcpyHostToDevice);
  batch.done = decoder.decode_to_device(
      items, {memory.data(), bytes, CudaStream(stream.get()), batch.ok.data()});
  (void)cudaMemcpy(batch.elements.data(), memory.data(), bytes + kGuard, cudaMemcpyDeviceToHost);
  return batch;
}

inline TensorOptions options_of(int width_px, int height_px) {
  return test::tensor_options(width_px, height_px, 2);
}

class GpuTensor : public GpuTest {};

}  // namespace framewire::gpu_tests
