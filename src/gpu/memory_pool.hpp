// Device memory that grows without stopping the device.
#pragma once

#include <cuda_runtime_api.h>
#include <cstddef>
#include <cstdint>
#include <framewire/status.hpp>
#include <gpu/buffer.hpp>
#include <gpu/stream.hpp>
#include <memory>

namespace framewire::gpu {

/// Memory of one device for buffers that take and give back in the order of a stream
/// (cudaMemPool_t). cudaMalloc() and cudaFree() wait for all work on the device, in whatever
/// stream, and let nobody enqueue more meanwhile. What is given back stays here for others.
/// Thread-safe.
class MemoryPool {
 public:
  /// On the calling thread's current device.
  /// @param kept_bytes  bound on what is kept while nobody uses it, with what is in use
  /// @return unsupported where the device has no such pools; device_lost
  [[nodiscard]] static Result<MemoryPool> make(std::uint64_t kept_bytes);
  [[nodiscard]] cudaMemPool_t get() const noexcept { return pool_.get(); }

 private:
  struct Destroy {
    void operator()(cudaMemPool_t pool) const noexcept { (void)cudaMemPoolDestroy(pool); }
  };
  explicit MemoryPool(cudaMemPool_t pool) : pool_(pool) {}
  std::unique_ptr<CUmemPoolHandle_st, Destroy> pool_;
};

/// Device memory for the work of one stream; move-only.
class StreamBuffer {
 public:
  StreamBuffer() = default;
  ~StreamBuffer() { release(); }
  StreamBuffer(StreamBuffer&& other) noexcept { *this = std::move(other); }
  StreamBuffer& operator=(StreamBuffer&& other) noexcept;
  StreamBuffer(const StreamBuffer&) = delete;
  StreamBuffer& operator=(const StreamBuffer&) = delete;

  /// From now on memory comes from `pool`. Not while any is held.
  void set_pool(std::shared_ptr<const MemoryPool> pool) noexcept { pool_ = std::move(pool); }
  [[nodiscard]] std::uint8_t* data() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  /// Makes the buffer at least `bytes` large. Growing loses the contents, and waits for `stream`
  /// alone where there is a pool, else for the device.
  /// @param stream  the same in every call, of which nothing that uses the buffer is under way;
  ///                outlives the buffer
  /// @return busy where memory ran out; device_lost
  [[nodiscard]] Result<void> reserve(std::size_t bytes, const Stream& stream);

 private:
  void release() noexcept;

  std::shared_ptr<const MemoryPool> pool_;
  Buffer own_;                      ///< without a pool
  std::uint8_t* pooled_ = nullptr;  ///< with one
  cudaStream_t stream_ = nullptr;   ///< of pooled_
  std::size_t bytes_ = 0;
};

}  // namespace framewire::gpu
