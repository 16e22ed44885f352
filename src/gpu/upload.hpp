// Small copies to the device that wait for no other stream's.
#pragma once

#include <cuda_runtime_api.h>
#include <cstddef>

namespace framewire::gpu {

/// Enqueues a copy to the device on `stream`, or adds it to the calling thread's recording.
/// cudaGetLastError() tells whether that worked.
/// @param from  pinned host memory that kernels read at the same address
/// (BufferKind::kPinnedMapped)
void upload(void* to, const void* from, std::size_t bytes, cudaStream_t stream);

}  // namespace framewire::gpu
