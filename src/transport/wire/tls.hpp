// Who may connect: certificates or pre-shared keys, both ways, over TLS 1.3.
#pragma once

#include <framewire/status.hpp>
#include <framewire/transport.hpp>
#include <memory>
#include <string>
#include "base/clock.hpp"
#include "transport/wire/stream.hpp"

namespace framewire::transport::wire {

/// Whether exactly one way is given, and that completely. @return invalid_input
[[nodiscard]] Result<void> check(const Security& security);

/// One side's keys, loaded and checked once. Thread-safe after make().
class TlsContext {
 public:
  /// @return invalid_input where the security is incomplete, says two things at once, or a file
  /// does
  ///         not hold what it should; io_error where one cannot be read; denied where the key file
  ///         can be read by others
  [[nodiscard]] static Result<TlsContext> make(const Security& security, bool server);
  ~TlsContext();
  TlsContext(TlsContext&&) noexcept;
  TlsContext& operator=(TlsContext&&) noexcept;

  /// Shakes hands as the side that the context is for.
  /// @param host  the name that a server's certificate must carry, unless `allowed` names peers
  /// @return denied where the peer has not proven who it is, or is not allowed; peer_lost; deadline
  [[nodiscard]] Result<std::unique_ptr<Stream>> shake_hands(Socket socket, const std::string& host,
                                                            base::Clock::time_point deadline) const;

 private:
  class Impl;
  explicit TlsContext(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace framewire::transport::wire
