// A socket that whoever started the program has opened.
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <tests/service/local/raw_client.hpp>
#include <tests/support/passed_files.hpp>

namespace framewire::service::local::test {
namespace {

using LocalInheritedSocket = LocalServerTest;

int listening(int type, const std::string& path) {
  const int fd = ::socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(fd, 16), 0);
  return fd;
}

TEST_F(LocalInheritedSocket, IsServedAndNotDeleted) {
  LocalServerOptions options;
  options.listener_fd = listening(SOCK_SEQPACKET, folder_.socket());
  start(std::move(options));
  {
    Client client = connect();
    const auto resized = client.submit(photo(), width(20)).get();
    ASSERT_TRUE(resized) << resized.error().to_string();
  }
  EXPECT_TRUE(server_->drain(kPatience));
  server_.reset();
  EXPECT_EQ(::access(folder_.socket().c_str(), F_OK), 0)
      << "the file is not the server's to delete";
}

TEST_F(LocalInheritedSocket, RefusesDescriptors) {
  if (!framewire::test::can_refuse_files()) GTEST_SKIP() << "Linux before 6.16 accepts them";
  LocalServerOptions options;
  options.listener_fd = listening(SOCK_SEQPACKET, folder_.socket());
  start(std::move(options));
  EXPECT_EQ(framewire::test::send_file(connect_raw(folder_.socket()).get(), "w", STDERR_FILENO),
            EPERM);
}

TEST_F(LocalInheritedSocket, OfAnotherKindIsRefused) {
  Engine engine = Engine::make(host_engine(1)).value();
  LocalServerOptions options;
  options.listener_fd = listening(SOCK_STREAM, folder_.socket());
  const auto started = LocalServer::start(engine, std::move(options));
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code(), StatusCode::kInvalidInput);
  EXPECT_THAT(started.error().to_string(), testing::HasSubstr("sequential packets"));
}

}  // namespace
}  // namespace framewire::service::local::test
