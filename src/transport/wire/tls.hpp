// Who may connect: certificates or pre-shared keys, both ways, over TLS 1.3.
#pragma once

#include <base/clock.hpp>
#include <base/file_descriptor.hpp>
#include <framewire/status.hpp>
#include <framewire/transport.hpp>
#include <memory>
#include <string>
#include <transport/wire/stream.hpp>

namespace framewire::transport::wire {

/// Whether exactly one way is given, and that completely. @return invalid_input
[[nodiscard]] Result<void> check(const Security& security);

/// One handshake on its way, a step at a time. One thread at a time; ends before its TlsContext.
class TlsHandshake {
 public:
  ~TlsHandshake();
  TlsHandshake(TlsHandshake&&) noexcept;
  TlsHandshake& operator=(TlsHandshake&&) noexcept;

  /// Does what can be done without waiting.
  /// @return the stream once the peer has proven who it is; null before. As shake_hands(), but for
  ///         the deadline
  [[nodiscard]] Result<std::unique_ptr<ByteStream>> step();
  /// What the socket must be ready for before the next step().
  [[nodiscard]] bool wants_to_write() const;
  [[nodiscard]] int fd() const;

 private:
  friend class TlsContext;
  class Impl;
  explicit TlsHandshake(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// One side's keys, loaded and checked once. Thread-safe after make().
class TlsContext {
 public:
  /// @return invalid_input where the security is incomplete, says two things at once, or a file
  ///         does not hold what it should; io_error where one cannot be read; denied where others
  ///         have a say in a key's file, see read_secret()
  [[nodiscard]] static Result<TlsContext> make(const Security& security, bool server);
  ~TlsContext();
  TlsContext(TlsContext&&) noexcept;
  TlsContext& operator=(TlsContext&&) noexcept;

  /// Begins to shake hands as the side that the context is for; nothing is sent yet.
  /// @param host  the name that a server's certificate must carry, unless `allowed` names peers
  /// @return busy; invalid_input for a host that no certificate can carry
  [[nodiscard]] Result<TlsHandshake> begin(base::FileDescriptor socket,
                                           const std::string& host) const;
  /// begin(), and steps to the end.
  /// @return denied where the peer has not proven who it is, or is not allowed; peer_lost; deadline
  [[nodiscard]] Result<std::unique_ptr<ByteStream>> shake_hands(
      base::FileDescriptor socket, const std::string& host, base::Clock::time_point deadline) const;

 private:
  friend class TlsHandshake;
  class Impl;
  explicit TlsContext(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace framewire::transport::wire
