#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>
#include <base/file_descriptor.hpp>
#include <base/wait_for.hpp>
#include <cerrno>
#include <cstring>
#include <transport/shared/local_peer.hpp>
#include <utility>

namespace framewire::transport::shared {
namespace {

// The user that the kernel names where a user has no number in this process' user namespace.
constexpr uid_t kOverflowUser = 65534;

using ControlBuffer = std::array<char, CMSG_SPACE(LocalPeer::kMaxFiles * sizeof(int))>;

// Owns them all, so that none stays open; @return whether there were no more than fit
bool take_files(msghdr& head, LocalPeer::Message& message) {
  std::size_t taken = 0;
  bool fit = (head.msg_flags & MSG_CTRUNC) == 0;
  for (cmsghdr* item = CMSG_FIRSTHDR(&head); item != nullptr; item = CMSG_NXTHDR(&head, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t files = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < files; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(item) + i * sizeof fd, sizeof fd);
      base::FileDescriptor file(fd);
      fit = fit && taken < message.files.size();
      if (fit) message.files[taken++] = std::move(file);
    }
  }
  return fit;
}

}  // namespace

bool is_same_user(const base::FileDescriptor& socket) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
         peer.uid == ::geteuid() && peer.uid != kOverflowUser;
}

bool equal_secrets(std::span<const std::byte> one, std::span<const std::byte> other) {
  if (one.size() != other.size()) return false;
  auto difference = std::byte{0};
  for (std::size_t i = 0; i < one.size(); ++i) difference |= one[i] ^ other[i];
  return difference == std::byte{0};
}

Result<void> LocalPeer::send(std::span<const std::byte> bytes, std::span<const int> files) const {
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) ControlBuffer control{};
  msghdr head{};
  head.msg_iov = &part;
  head.msg_iovlen = 1;
  if (files.size() > kMaxFiles) return fail(StatusCode::kInternal, "too many files at once");
  if (!files.empty()) {
    head.msg_control = control.data();
    head.msg_controllen = CMSG_SPACE(files.size_bytes());
    cmsghdr* const item = CMSG_FIRSTHDR(&head);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(files.size_bytes());
    std::memcpy(CMSG_DATA(item), files.data(), files.size_bytes());
  }
  if (::sendmsg(socket_.get(), &head, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size())) {
    return {};
  }
  return fail(StatusCode::kPeerLost, "the peer left in the middle of the handover");
}

Result<std::optional<LocalPeer::Message>> LocalPeer::receive_now(std::span<std::byte> bytes) const {
  Message message;
  iovec part{bytes.data(), bytes.size()};
  alignas(cmsghdr) ControlBuffer control{};
  msghdr head{};
  head.msg_iov = &part;
  head.msg_iovlen = 1;
  head.msg_control = control.data();
  head.msg_controllen = control.size();
  const auto count = ::recvmsg(socket_.get(), &head, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  if (count < 0) return fail(StatusCode::kPeerLost, "the peer left in the middle of the handover");
  // Before anything is said of the bytes: a message of none may bring files, too.
  const bool fit = take_files(head, message);
  if (count == 0) return fail(StatusCode::kPeerLost, "the peer left in the middle of the handover");
  if (!fit || static_cast<std::size_t>(count) != bytes.size() ||
      (head.msg_flags & MSG_TRUNC) != 0) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("the peer's message of the handover is not {} bytes with {} files at "
                            "most",
                            bytes.size(), kMaxFiles));
  }
  return message;
}

Result<LocalPeer::Message> LocalPeer::receive(std::span<std::byte> bytes,
                                              base::Clock::time_point deadline) const {
  while (base::wait_for(socket_.get(), false, deadline)) {
    auto message = receive_now(bytes);
    if (!message) return fail(message.error());
    if (*message) return std::move(**message);
  }
  return fail(StatusCode::kDeadline, "the peer did not hand over in time");
}

}  // namespace framewire::transport::shared
