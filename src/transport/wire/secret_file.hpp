// Files that hold secrets: one rule for all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <framewire/status.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::transport::wire {

/// Bytes that are overwritten before their memory is given back. Move-only.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::size_t bytes) : bytes_(bytes) {}
  ~Secret() { wipe(); }
  Secret(Secret&& other) noexcept : bytes_(std::move(other.bytes_)) { other.bytes_.clear(); }
  Secret& operator=(Secret&& other) noexcept;

  [[nodiscard]] std::uint8_t* data() noexcept { return bytes_.data(); }
  [[nodiscard]] const std::uint8_t* data() const noexcept { return bytes_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  [[nodiscard]] std::string_view text() const noexcept {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }
  /// The first bytes only; the others are overwritten.
  void shrink(std::size_t bytes) noexcept;

 private:
  void wipe() noexcept;
  std::vector<std::uint8_t> bytes_;
};

/// Reads a whole file that nobody else may read. It is opened once, and what is looked at is what
/// was opened: a regular file of this user or of root, without any right for group or others.
/// Links are followed: whose file it is counts, not by which way it was found. Waits for nothing,
/// also where the name is a pipe's.
/// @param what  what the file is, for messages: "the key file"
/// @return io_error where it cannot be read; denied for a file that others have a say in;
///         invalid_input for what is no regular file, or longer than `max_bytes`
[[nodiscard]] Result<Secret> read_secret(const std::string& path, std::string_view what,
                                         std::size_t max_bytes);

}  // namespace framewire::transport::wire
