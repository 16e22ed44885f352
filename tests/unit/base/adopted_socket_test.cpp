#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <array>
#include <base/adopted_socket.hpp>
#include <base/file_descriptor.hpp>
#include <cerrno>

namespace framewire::base {
namespace {

/// A socket of loopback that listens.
FileDescriptor listening() {
  FileDescriptor made(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::bind(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(made.get(), 1), 0);
  return made;
}

TEST(AdoptedSocket, KnowsWhatListens) {
  const FileDescriptor listens = listening();
  EXPECT_EQ(family_of_listening(listens.get(), SOCK_STREAM), AF_INET);
  EXPECT_EQ(family_of_listening(listens.get(), SOCK_SEQPACKET), -1);
}

TEST(AdoptedSocket, KnowsWhatDoesNot) {
  const FileDescriptor idle(::socket(AF_UNIX, SOCK_STREAM, 0));
  EXPECT_EQ(family_of_listening(idle.get(), SOCK_STREAM), -1);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const FileDescriptor read(ends[0]);
  const FileDescriptor write(ends[1]);
  EXPECT_EQ(family_of_listening(read.get(), SOCK_STREAM), -1);
  EXPECT_EQ(family_of_listening(-1, SOCK_STREAM), -1);
}

TEST(AdoptedSocket, NeverBlocksAndIsNotInherited) {
  const FileDescriptor listens = listening();
  ASSERT_EQ(adopt_socket(listens.get(), AF_INET), 0);
  EXPECT_NE(::fcntl(listens.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(::fcntl(listens.get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(adopt_socket(-1, AF_INET), EBADF);
}

}  // namespace
}  // namespace framewire::base
