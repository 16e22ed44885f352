#include <commands/tensor/batch_memory.hpp>
#include <transport/device.hpp>

namespace framewire::app {

Result<void> TensorBatchMemory::reserve_on_device(int device, std::uint64_t bytes) {
  if (device_.size() >= bytes) return {};
  auto devices = transport::cuda_devices();
  if (!devices) return fail(devices.error());
  device_ = {};
  auto region = transport::Region::allocate_device(**devices, device, bytes);
  if (!region) return fail(region.error());
  device_ = std::move(*region);
  return {};
}

Result<void> TensorBatchMemory::decode(TensorDecoder& decoder, std::span<const TensorItem> items) {
  const std::uint64_t bytes = items.size() * decoder.image_bytes();
  const int device = decoder.options().device;
  if (device < 0) {
    if (host_.size() < bytes) host_.resize(bytes);
    return decoder.decode(items, {host_.data(), bytes, nullptr});
  }
  if (auto ready = reserve_on_device(device, bytes); !ready) return ready;
  return decoder.decode_to_device(
      items, {device_.data(), bytes, CudaStream::per_thread_default(), nullptr});
}

Result<TensorBatch> TensorBatchMemory::begin(TensorDecoder& decoder,
                                             std::span<const TensorItem> items) {
  const std::uint64_t bytes = items.size() * decoder.image_bytes();
  if (auto ready = reserve_on_device(decoder.options().device, bytes); !ready) {
    return fail(ready.error());
  }
  return decoder.begin_to_device(
      items, {device_.data(), bytes, CudaStream::per_thread_default(), nullptr});
}

Result<std::span<const std::uint8_t>> TensorBatchMemory::read(std::uint64_t bytes) {
  if (device_.size() > 0 && bytes > 0) {
    if (host_.size() < bytes) host_.resize(bytes);
    auto queue = device_.devices()->make_queue(device_.device());
    if (!queue) return fail(queue.error());
    auto* const to = reinterpret_cast<std::byte*>(host_.data());
    if (auto copied = (*queue)->copy(to, device_.data(), bytes, transport::Sides::kAny); !copied) {
      return fail(copied.error());
    }
    if (auto done = (*queue)->synchronize(); !done) return fail(done.error());
  }
  return std::span<const std::uint8_t>(host_).first(bytes);
}

}  // namespace framewire::app
