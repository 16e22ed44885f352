// Launch constants and batch sizes of what makes tensors on a GPU. The codec's stand in
// codec/cuda/tuning.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace framewire::tensor::cuda {

/// Threads of a block of the kernel that filters along rows, and output columns of a block at most.
inline constexpr int kAcrossThreads = 128;
/// Rows that such a block filters together, so that it reads each weight once for them.
inline constexpr int kAcrossRows = 8;
/// Pixels of a row that such a block has room for: with kAcrossRows rows they take 24 KiB of shared
/// memory.
inline constexpr int kAcrossPixels = 1024;
/// Source pixels of a row that such a block may need, since whole groups of pixels are made
/// (pixel_group.hpp). This bounds the kernel's support.
inline constexpr int kAcrossSpan = kAcrossPixels - 2 * 8;
/// Source samples that it weighs together lie in one word.
inline constexpr int kAcrossAlignment = 4;
/// Source samples that an output sample may be made of. Of more, weights of kWeightBits are a few
/// units each, and how these round may meet what the picture repeats: one pixel made of 993
/// stripes by Kernel::kArea was 4 levels off, of 10,921 8, of 256 less than 0.2.
inline constexpr int kMaxTaps = 256;
/// Pixels of the tensor that a block of the kernel that filters along columns makes, a thread each.
inline constexpr unsigned kDownColumns = 32;
inline constexpr unsigned kDownRows = 8;
inline constexpr int kDownThreads = kDownColumns * kDownRows;
/// Threads of a block of the kernel that makes weights, one output sample of an axis each.
inline constexpr int kWeightThreads = 128;

/// Groups of images that may be under way at once, each on a stream of its own: more where the
/// process has asked for kManyQueues hardware queues, which streams share. Measured (H200, 16 host
/// cores, 1920×1080 of 387 KB, five batches of 256 under way, images/s): 16 lanes 88,600 with the
/// driver's eight queues; 24 lanes 93,900 with 16, 24 or 32 queues, and 2 % less than 16 lanes with
/// eight. With three batches under way all make 88,600 to 89,200.
inline constexpr std::size_t kMaxLanes = 16;
inline constexpr std::size_t kMaxLanesOfManyQueues = 24;
inline constexpr int kManyQueues = 16;
/// Into how many groups a batch is cut, if their size allows. Measured (one H100, 16 host cores,
/// 500×375, images/s of batches of 256 and 1,024): 4 groups in 8 lanes 119,900 and 190,300, 8
/// groups in 16 lanes 129,800 and 196,000.
inline constexpr std::size_t kGroupsOfBatch = 8;
/// Images of a group.
inline constexpr std::size_t kMinGroup = 16;
inline constexpr std::size_t kMaxGroup = 64;
/// Bound on a group's files, which are copied to pinned memory; one file may take more. It bounds
/// what lies on the device, too: 43 images of 1920×1080 take some 500 MB there. Measured (H100, 16
/// host cores, 1920×1080 of 387 KB, three batches of 256 under way, images/s): groups of 8 MiB
/// 56,100, with subsequences of 256 bytes 69,100; of 16 MiB 69,000 and 71,900.
inline constexpr std::uint64_t kMaxGroupBytes = 16ull << 20;
/// Bound on what the images of a group take of device memory at once; one image may take more.
inline constexpr std::uint64_t kMaxBatchBytes = 512ull << 20;

}  // namespace framewire::tensor::cuda
