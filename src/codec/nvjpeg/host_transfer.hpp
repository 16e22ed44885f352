// Planes between host and device memory, for the codec interface of single images.
#pragma once

#include <cuda_runtime_api.h>
#include <codec/codec.hpp>
#include <codec/nvjpeg/encoder.hpp>
#include <gpu/buffer.hpp>

namespace framewire::codec::nvjpeg {

/// Copies planes to `memory`, which grows as needed. Rows are padded to whole dct_blocks.
/// @param item  gets the planes; they are valid as long as `memory`
/// @return busy, device_lost
[[nodiscard]] Result<void> copy_in(const Planes& planes, gpu::Buffer& memory, EncodeItem& item,
                                   cudaStream_t stream);

/// Enqueues the copy of one plane. @param plane  filled when the stream has passed
[[nodiscard]] Result<void> copy_out(const DevicePlane& from, Plane& plane, cudaStream_t stream);

}  // namespace framewire::codec::nvjpeg
