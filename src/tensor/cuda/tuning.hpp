// Launch constants and batch sizes of what makes tensors on a GPU. The codec's stand in
// codec/cuda/tuning.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace framewire::tensor::cuda {

/// Threads of a block of the kernel that filters along rows, and output columns of a block at most.
inline constexpr int kAcrossThreads = 128;
/// Rows that such a block filters together, so that it reads each weight once for them.
inline constexpr int kAcrossRows = 4;
/// Source pixels of a row that such a block may need: with kAcrossRows rows they take 32 KiB of
/// shared memory. This bounds the kernel's support.
inline constexpr int kAcrossPixels = 2048;
/// Threads of a block of the kernel that filters along columns, one pixel of the tensor each.
inline constexpr int kDownThreads = 256;
/// Threads of a block of the kernel that makes weights, one output sample of an axis each.
inline constexpr int kWeightThreads = 128;

/// Threads that prepare images, at most, and that a batch is divided among. Measured with 1 to 16
/// of them: docs/benchmarks/tensors.md.
inline constexpr std::size_t kMaxLanes = 16;
inline constexpr std::size_t kSharingLanes = 12;
/// Images that a lane decodes together, at least and at most. Fewer leave the device idle, more
/// keep memory.
inline constexpr std::size_t kMinBatch = 16;
inline constexpr std::size_t kMaxBatch = 128;
/// Bound on what the images of a batch take of device memory; one image may take more.
inline constexpr std::uint64_t kMaxBatchBytes = 512ull << 20;

}  // namespace framewire::tensor::cuda
