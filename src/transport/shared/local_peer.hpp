// A process of the same user on the same machine, which the kernel has said that it is, and what it
// and we hand each other: messages with file descriptors.
#pragma once

#include <array>
#include <base/clock.hpp>
#include <base/file_descriptor.hpp>
#include <cstddef>
#include <framewire/status.hpp>
#include <optional>
#include <span>

namespace framewire::transport::shared {

/// Whether the process at the other end of a connected Unix socket runs as our user, by the
/// kernel's word. A user that has no name here (in a container, say) is nobody's equal.
[[nodiscard]] bool is_same_user(const base::FileDescriptor& socket);

/// Compares in a time that does not depend on where they differ.
[[nodiscard]] bool equal_secrets(std::span<const std::byte> one, std::span<const std::byte> other);

/// A SOCK_SEQPACKET socket to such a process. Whatever comes over it is not believed for that.
class LocalPeer {
 public:
  static constexpr std::size_t kMaxFiles = 2;
  struct Message {
    std::array<base::FileDescriptor, kMaxFiles> files;  ///< in order; empty where fewer came
  };

  /// @param socket  of which it has been proved: see session/meeting.hpp
  explicit LocalPeer(base::FileDescriptor socket) noexcept : socket_(std::move(socket)) {}

  /// @param files  kMaxFiles at most; stay ours @return peer_lost
  [[nodiscard]] Result<void> send(std::span<const std::byte> bytes,
                                  std::span<const int> files = {}) const;
  /// Waits for a message of exactly that length.
  /// @return invalid_input for any other, or more files; peer_lost; deadline
  [[nodiscard]] Result<Message> receive(std::span<std::byte> bytes,
                                        base::Clock::time_point deadline) const;
  /// As receive(), without waiting. @return nothing where no message has come yet
  [[nodiscard]] Result<std::optional<Message>> receive_now(std::span<std::byte> bytes) const;

  [[nodiscard]] int fd() const noexcept { return socket_.get(); }

 private:
  base::FileDescriptor socket_;
};

}  // namespace framewire::transport::shared
