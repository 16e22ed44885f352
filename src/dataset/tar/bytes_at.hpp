// Bytes that can be read at any offset: a file, or memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <framewire/status.hpp>
#include <span>

namespace framewire::dataset::tar {

/// What an archive is read from. One thread at a time, unless an implementation says otherwise.
class BytesAt {
 public:
  BytesAt() = default;
  BytesAt(const BytesAt&) = delete;
  BytesAt& operator=(const BytesAt&) = delete;
  virtual ~BytesAt() = default;

  /// Reads as many bytes from `offset` on as there are, at most into.size().
  /// @return how many came; fewer than asked for only at the end. io_error
  [[nodiscard]] virtual Result<std::size_t> read_at(std::uint64_t offset,
                                                    std::span<std::uint8_t> into) = 0;
};

}  // namespace framewire::dataset::tar
