// The CUDA codec behind BatchCodec, as engines use it.
#pragma once

#include <codec/batch_codec.hpp>
#include <codec/cuda/device_shared.hpp>
#include <framewire/status.hpp>
#include <memory>

namespace framewire::codec {

/// On the calling thread's current device.
/// @param timed  measures every stage, for stages()
/// @param max_device_bytes  buffers grow a quarter ahead of need, but not beyond this
/// @param shared  by all codecs of one device
/// @param warm_device_bytes  that are allocated now; at most max_device_bytes
/// @return busy where memory ran out, device_lost
[[nodiscard]] Result<std::unique_ptr<BatchCodec>> make_cuda_batch_codec(
    bool timed, std::uint64_t max_device_bytes, cuda::DeviceShared shared,
    std::uint64_t warm_device_bytes);

/// Has the driver load, on the calling thread's current device, what batches of progressive files
/// run: with their first launches everything else there would wait.
void load_progressive_kernels();

}  // namespace framewire::codec
