// framewire serve as users meet it: settings, their mistakes, and its end.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <tests/integration/support.hpp>
#include <thread>

#ifdef FRAMEWIRE_SERVICE

namespace framewire::test {
namespace {

using namespace std::chrono_literals;

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(CliServe, ChecksWhatHolds) {
  const TemporaryFolder folder;
  write_text(folder.path() / "a.toml", "queue = 7\nsecret = \"hush\"\n");
  const Ran ran = run_program(
      {"serve", "--check", "--config", folder / "a.toml", "--ttl", "5", folder.path().string()});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(contains(ran.out, "queue = 7  # file, ")) << ran.out;
  EXPECT_TRUE(contains(ran.out, "ttl = 5  # flag\n")) << ran.out;
  EXPECT_TRUE(contains(ran.out, "folder = " + folder.path().string() + "  # argument\n"));
  EXPECT_FALSE(contains(ran.out, "hush"));
}

TEST(CliServe, NamesMistakes) {
  const TemporaryFolder folder;
  write_text(folder.path() / "a.toml", "queue = 7\nqeue = 7\n");
  const Ran key = run_program({"serve", "--config", folder / "a.toml"});
  EXPECT_EQ(key.exit_code, 2);
  EXPECT_TRUE(contains(key.err, "a.toml:2")) << key.err;
  const Ran value = run_program({"serve", "--queue", "0"});
  EXPECT_EQ(value.exit_code, 2);
  EXPECT_TRUE(contains(value.err, "queue")) << value.err;
  const Ran place = run_program({"serve", "--listen", "unix:/nowhere/at/all"});
  EXPECT_EQ(place.exit_code, 3);
  EXPECT_TRUE(contains(place.err, "/nowhere/at/all")) << place.err;
  EXPECT_EQ(run_program({"serve", "--listen", ":0", folder / "none"}).exit_code, 3);
}

TEST(CliServe, EndsInOrder) {
  const TemporaryFolder folder;
  const std::string path = folder / "socket";
  const pid_t server = start_program({"serve", "--listen", "unix:" + path});
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int connected = -1;
  for (int i = 0; i < 500 && connected != 0; ++i) {
    connected = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    if (connected != 0) std::this_thread::sleep_for(20ms);
  }
  ASSERT_EQ(connected, 0);
  const std::string request = "GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n";
  ASSERT_EQ(::send(fd, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
  char answer[1024] = "";
  ASSERT_GT(::recv(fd, answer, sizeof answer - 1, 0), 0);
  EXPECT_TRUE(std::string_view(answer).starts_with("HTTP/1.1 200 OK")) << answer;
  ASSERT_EQ(::kill(server, SIGTERM), 0);
  const Ran ended = wait_for(server);
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_NE(::access(path.c_str(), F_OK), 0) << "the socket's file is left";
  ::close(fd);
}

}  // namespace
}  // namespace framewire::test

#endif
