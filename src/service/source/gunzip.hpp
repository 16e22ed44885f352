// Unpacks a body that an origin compressed as gzip.
#pragma once

#include <memory>
#include <optional>
#include <service/source/sources.hpp>
#include <span>

struct z_stream_s;

namespace framewire::service::source {

class Body;

/// Unpacks piece by piece, and knows whether the whole has come: libcurl takes a body that is cut
/// off for a whole one. Several members one after the other are one body (RFC 1952, 2.2).
/// Thread safety: one thread at a time.
class Gunzip {
 public:
  Gunzip() noexcept;
  ~Gunzip();
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  /// Appends what `packed` holds.
  /// @return why there is no original: bad_answer where that is no gzip, and what Body::append()
  /// says
  [[nodiscard]] std::optional<FetchErrorKind> append(std::span<const std::uint8_t> packed,
                                                     Body& body) noexcept;
  /// Whether what came ended with a member's end. An empty body has not.
  [[nodiscard]] bool ended() const noexcept { return ended_; }

 private:
  std::unique_ptr<z_stream_s> stream_;  ///< null where memory ran out
  bool ended_ = false;
};

}  // namespace framewire::service::source
