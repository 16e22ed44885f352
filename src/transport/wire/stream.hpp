// A reliable stream of bytes to one peer, in clear or under TLS; never blocks.
#pragma once

#include <base/clock.hpp>
#include <base/file_descriptor.hpp>
#include <cstddef>
#include <framewire/status.hpp>
#include <memory>
#include <span>
#include <string>

namespace framewire::transport::wire {

/// One thread at a time.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// @return bytes read, 0 where none have come yet; peer_lost at the end of the stream
  [[nodiscard]] virtual Result<std::size_t> read(std::span<std::byte> to) = 0;
  /// @return bytes taken, 0 where there is no room yet; peer_lost. What was not taken must be
  ///         offered again unchanged before anything else.
  [[nodiscard]] virtual Result<std::size_t> write(std::span<const std::byte> from) = 0;
  /// Whether bytes wait inside, of which the socket knows nothing.
  [[nodiscard]] virtual bool buffered() const = 0;
  [[nodiscard]] virtual int fd() const = 0;
  /// "tcp" or "tls", and the peer's name, which only "tls" has proven.
  [[nodiscard]] virtual std::string kind() const = 0;
  [[nodiscard]] virtual std::string peer() const = 0;
};

/// In clear: whoever can reach the port, or the wire, can be the peer.
[[nodiscard]] std::unique_ptr<ByteStream> make_plain_stream(base::FileDescriptor socket);

/// All of it, or an error. @return deadline, peer_lost
[[nodiscard]] Result<void> read_all(ByteStream& stream, std::span<std::byte> to,
                                    base::Clock::time_point deadline);
[[nodiscard]] Result<void> write_all(ByteStream& stream, std::span<const std::byte> from,
                                     base::Clock::time_point deadline);

}  // namespace framewire::transport::wire
