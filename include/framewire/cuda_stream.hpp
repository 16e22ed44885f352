// A name for CUDA's streams without CUDA's headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace framewire {

/// A CUDA stream of the caller's; a view, copied freely.
///
///     CudaStream(stream)                // a cudaStream_t
///     CudaStream::legacy_default()      // what CUDA itself takes where it is given 0
///     CudaStream::per_thread_default()
///
/// Made on purpose, never by conversion. A null pointer is no stream: functions that take a
/// CudaStream answer invalid_input to it. CUDA's default stream, which waits for all others, is
/// meant only where it is named.
class CudaStream {
 public:
  /// @param stream  a cudaStream_t of the device that the function at hand works on
  explicit CudaStream(void* stream) noexcept : stream_(stream) {}
  CudaStream(std::nullptr_t) = delete;

  /// cudaStreamLegacy: ordered with all streams that were not made with cudaStreamNonBlocking.
  [[nodiscard]] static CudaStream legacy_default() noexcept { return CudaStream(handle(1)); }
  /// cudaStreamPerThread: the calling thread's own.
  [[nodiscard]] static CudaStream per_thread_default() noexcept { return CudaStream(handle(2)); }

  /// A cudaStream_t; null only where one was given.
  [[nodiscard]] void* get() const noexcept { return stream_; }
  [[nodiscard]] bool is_null() const noexcept { return stream_ == nullptr; }
  friend bool operator==(CudaStream a, CudaStream b) noexcept { return a.stream_ == b.stream_; }

 private:
  /// cudaStreamLegacy and cudaStreamPerThread are numbers in the place of addresses.
  static void* handle(std::uintptr_t number) noexcept { return reinterpret_cast<void*>(number); }

  void* stream_;
};

}  // namespace framewire
