// Unpacks a body that was sent, or stored, compressed as gzip.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <framewire/status.hpp>
#include <memory>
#include <span>
#include <string_view>

struct z_stream_s;

namespace framewire::store::s3 {

/// Whether a value of Content-Encoding means one compression as gzip.
[[nodiscard]] bool is_gzip(std::string_view coding) noexcept;

/// Unpacks piece by piece, and knows whether the whole has come: libcurl takes a body that is cut
/// off for a whole one. Several members one after the other are one body (RFC 1952, 2.2).
/// Thread safety: one thread at a time.
class Gunzip {
 public:
  Gunzip() noexcept;
  ~Gunzip();
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  /// The next bytes of the body. They stay until next() has no more of them.
  void give(std::span<const std::uint8_t> packed) noexcept;
  /// Unpacks some of what give() was told of. @return at most 64 KB, valid until the next call;
  /// empty once there is no more; busy where memory ran out, io_error where that is no gzip
  [[nodiscard]] Result<std::span<const std::uint8_t>> next();
  /// How many of the bytes of give() have not been read.
  [[nodiscard]] std::size_t unread() const noexcept { return packed_.size(); }
  /// Whether what came ended with a member's end. An empty body has not.
  [[nodiscard]] bool ended() const noexcept { return ended_; }

 private:
  static constexpr std::size_t kPieceBytes = 64 * 1'024;

  std::unique_ptr<z_stream_s> stream_;  ///< null where memory ran out
  std::unique_ptr<std::array<std::uint8_t, kPieceBytes>> piece_;
  std::span<const std::uint8_t> packed_;
  bool full_ = false;  ///< the piece: more may be left behind that has no input to wait for
  bool ended_ = false;
};

}  // namespace framewire::store::s3
