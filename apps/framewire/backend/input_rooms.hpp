// Room for inputs in memory that comes in blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <framewire/status.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

namespace framewire::app {

/// Bytes, with what keeps them.
struct KeptBytes {
  std::span<std::uint8_t> bytes;
  std::shared_ptr<const void> keeper;
};

/// Hands out rooms that lie one behind the other in blocks of memory, such as an engine's, whose
/// devices copy neighbours together. A block is let go with the last of its rooms. Thread-safe.
class InputRooms {
 public:
  /// @return a block of at least as many bytes, or why there is none
  using Source = std::function<Result<KeptBytes>(std::size_t bytes)>;
  explicit InputRooms(Source source) : source_(std::move(source)) {}

  /// An input of more than kBlockBytes has a block of its own. @return as the source
  [[nodiscard]] Result<KeptBytes> take(std::size_t bytes);

  static constexpr std::size_t kBlockBytes = std::size_t{8} << 20;

 private:
  const Source source_;
  std::mutex mutex_;
  KeptBytes rest_;  ///< of the block that rooms are taken of
};

}  // namespace framewire::app
