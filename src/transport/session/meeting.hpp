// How two ends of a connection prove to each other that they are processes of one user on one
// machine. Neither end's own claim counts (docs/decisions/0020).
//
// The server opens a Unix socket under an abstract name made of a prefix of ours and 128 random
// bits, and tells the bits over the control connection. The client makes the name from them, so it
// never goes to a place that the peer has chosen. There each asks the kernel who the other is, and
// each shows a token that went over the control connection: the client first.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <base/file_descriptor.hpp>
#include <optional>
#include <transport/shared/local_peer.hpp>
#include <transport/wire/control.hpp>
#include <transport/wire/stream.hpp>
#include <vector>

namespace framewire::transport::session {

/// An abstract Unix address: a zero byte, a prefix of ours, and a place's bits in hex. No file.
struct LocalName {
  sockaddr_un address{};
  socklen_t bytes = 0;
};
[[nodiscard]] LocalName name_of(const wire::Rendezvous& rendezvous);

/// The server's side.
class MeetingPoint {
 public:
  /// @return io_error, busy
  [[nodiscard]] static Result<MeetingPoint> open();
  /// What the client must be told, over the control connection only.
  [[nodiscard]] const wire::Rendezvous& rendezvous() const noexcept { return rendezvous_; }
  /// Waits until the client has come, or sends something on the control connection, such as that it
  /// could not come. Others that connect, however many, do not keep it out.
  /// @return nothing where it has not come by then
  [[nodiscard]] std::optional<shared::LocalPeer> await(const wire::ByteStream& control,
                                                       base::Clock::time_point deadline);

 private:
  MeetingPoint() = default;
  bool accept_one();
  std::optional<shared::LocalPeer> check_tokens();

  wire::Rendezvous rendezvous_;
  base::FileDescriptor listener_;
  std::vector<shared::LocalPeer> unproven_;  ///< processes of our user that have shown no token yet
};

/// The client's side. Takes a second at most. @return unsupported where the two do not meet
[[nodiscard]] Result<shared::LocalPeer> meet(const wire::Rendezvous& rendezvous,
                                             base::Clock::time_point deadline);

}  // namespace framewire::transport::session
