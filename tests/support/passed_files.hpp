// Descriptors that a test tries to send over a Unix socket.
#pragma once

#include <sys/socket.h>
#include <array>
#include <base/file_descriptor.hpp>
#include <base/passed_files.hpp>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace framewire::test {

/// @return 0 where the message went, with the descriptor; an error's number
inline int send_file(int socket, std::string_view text, int file) {
  iovec part{const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof file)> control{};
  msghdr head{};
  head.msg_iov = &part;
  head.msg_iovlen = 1;
  head.msg_control = control.data();
  head.msg_controllen = control.size();
  cmsghdr* const item = CMSG_FIRSTHDR(&head);
  item->cmsg_level = SOL_SOCKET;
  item->cmsg_type = SCM_RIGHTS;
  item->cmsg_len = CMSG_LEN(sizeof file);
  std::memcpy(CMSG_DATA(item), &file, sizeof file);
  return ::sendmsg(socket, &head, MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()) ? 0 : errno;
}

/// Whether this system can refuse descriptors: Linux 6.16 and later.
inline bool can_refuse_files() {
  constexpr int kPassRights = 83;
  const base::FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int off = 0;
  return ::setsockopt(socket.get(), SOL_SOCKET, kPassRights, &off, sizeof off) == 0;
}

}  // namespace framewire::test
