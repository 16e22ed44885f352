// Slices of blocks of memory, for inputs.
#pragma once

#include <cstddef>
#include <framewire/engine.hpp>
#include <framewire/status.hpp>
#include <functional>
#include <mutex>

namespace framewire::engine {

/// Hands out slices that lie one behind the other in blocks of memory, such as an engine's, whose
/// devices copy neighbours together. A block is let go with the last of its slices. Thread-safe.
class InputPool {
 public:
  /// @return a block of at least as many bytes, or why there is none
  using Source = std::function<Result<InputSlice>(std::size_t bytes)>;
  explicit InputPool(Source source) : source_(std::move(source)) {}

  /// An input of more than kBlockBytes has a block of its own. @return as the source
  [[nodiscard]] Result<InputSlice> take(std::size_t bytes);

  static constexpr std::size_t kBlockBytes = std::size_t{8} << 20;

 private:
  const Source source_;
  std::mutex mutex_;
  InputSlice rest_;  ///< of the block that slices are taken of
};

}  // namespace framewire::engine
