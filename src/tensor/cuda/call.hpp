// A batch that lanes make, and what becomes of it besides its elements.
#pragma once

#include <cuda_runtime_api.h>
#include <atomic>
#include <cstdint>
#include <framewire/tensor.hpp>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace framewire::tensor::cuda {

/// Thread-safe.
class CallOutcome {
 public:
  /// Keeps the first error.
  void note(Result<void> result) {
    if (result) return;
    const std::lock_guard lock(mutex_);
    if (result_) result_ = std::move(result);
    failed_.store(true, std::memory_order_relaxed);
  }
  [[nodiscard]] bool failed() const noexcept { return failed_.load(std::memory_order_relaxed); }
  [[nodiscard]] Result<void> result() const {
    const std::lock_guard lock(mutex_);
    return result_;
  }
  /// Leaves an image to the host, which the device does not take, or gave up.
  void leave(std::size_t image) {
    const std::lock_guard lock(mutex_);
    left_over_.push_back(image);
  }
  [[nodiscard]] std::vector<std::size_t> take_left_over() {
    const std::lock_guard lock(mutex_);
    return std::exchange(left_over_, {});
  }

 private:
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  Result<void> result_;
  std::vector<std::size_t> left_over_;
};

/// A batch, as all lanes see it. Stays where it is until none has a part of it under way.
struct Call {
  std::span<const TensorItem> items;
  std::uint8_t* out = nullptr;  ///< device
  std::uint64_t image_bytes = 0;
  cudaEvent_t after = nullptr;   ///< writing begins when it has been passed
  const void* tables = nullptr;  ///< device
  std::span<Result<TensorImage>> images;
  CallOutcome outcome{};
};

}  // namespace framewire::tensor::cuda
