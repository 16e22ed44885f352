// Memory of a GPU that batches are made in.
#pragma once

#include <cstddef>
#include <framewire/cuda_stream.hpp>
#include <framewire/status.hpp>
#include <memory>

namespace framewire::python {

/// The memory of one batch.
class DeviceBlock {
 public:
  virtual ~DeviceBlock() = default;
  /// Device, 256-byte aligned; null for a batch of no images.
  [[nodiscard]] virtual void* data() const noexcept = 0;
  /// A consumer works on the memory in this stream, and may still do so when it lets go of it.
  virtual void note_use(CudaStream stream) = 0;
  /// A consumer works on the memory in streams that it has not named.
  virtual void note_unknown_use() noexcept = 0;
};

/// Memory for a batch, and from when on it may be written.
struct TakenBlock {
  std::shared_ptr<DeviceBlock> block;
  CudaStream free_after;  ///< what this stream holds is the earlier use of the memory
};

/// Lends blocks and keeps those that come back, a few, for later batches: cudaMalloc() and
/// cudaFree() wait for all that the device has under way, as long as making a small batch takes.
///
/// Whoever holds a block lets go of it by dropping the last share, on any thread, with the GIL or
/// without. Nothing of CUDA is called then: what consumers have enqueued is looked at when the next
/// block is taken. Thread-safe.
class DeviceMemory {
 public:
  /// @param device  CUDA ordinal
  /// @return unsupported where the package was built without CUDA; device_lost; busy
  [[nodiscard]] static Result<std::shared_ptr<DeviceMemory>> make(int device);
  virtual ~DeviceMemory() = default;

  /// Lends memory. A block that came back is lent again once work in the streams where it was used
  /// is over: if these are the legacy default stream and `stream` alone, the new batch waits for
  /// them on the device; otherwise the block is freed, after all work of the device.
  /// @param bytes   0 for a batch of no images
  /// @param stream  alive, of this device
  /// @return busy where memory ran out; device_lost
  [[nodiscard]] virtual Result<TakenBlock> take(std::size_t bytes, CudaStream stream) = 0;
  /// Frees what is not lent; what is lent is freed when it comes back, after all work of the
  /// device.
  virtual void close() noexcept = 0;
};

/// @return invalid_input for a stream that belongs to another device than `device`, or to none;
///         nothing is found out where CUDA is older than 12.8, and about CUDA's default streams
[[nodiscard]] Result<void> check_stream(CudaStream stream, int device);

/// Waits until what a stream holds is over. @return device_lost
[[nodiscard]] Result<void> synchronise(CudaStream stream, int device);

/// Copies device memory to host memory, and waits for it; ordered after the legacy default stream.
/// @return device_lost
[[nodiscard]] Result<void> copy_to_host(void* to, const void* from, std::size_t bytes, int device);

}  // namespace framewire::python
