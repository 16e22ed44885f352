// Streams that run nothing until somebody waits for it: work that is used before it was waited for
// is then not done.
#pragma once

#include <cuda_runtime_api.h>
#include <functional>

namespace cuda_emulation {

/// Enqueues work; without a stream it is done at once.
[[nodiscard]] cudaError_t enqueue(cudaStream_t stream, std::function<void()> work);
/// Whether a kernel may be launched there: streams belong to the device that they were made on.
[[nodiscard]] bool of_current_device(cudaStream_t stream);
/// Does what is enqueued anywhere.
void run_everything();
/// Keeps an error for cudaGetLastError() and returns it.
cudaError_t note(cudaError_t error);

}  // namespace cuda_emulation
