// framewire serve: how long its end may take while pictures are in work.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <string>
#include <tests/integration/support.hpp>
#include <thread>
#include <vector>

#ifdef FRAMEWIRE_SERVICE

namespace framewire::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

int connect_when_there(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  for (int i = 0; i < 3000; ++i) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
    ::close(fd);
    std::this_thread::sleep_for(10ms);
  }
  return -1;
}

// Seconds of work for one thread.
std::string slow_request() {
  const auto jpeg = make_jpeg(3000, 2000);
  return "POST /v1/resize?size=8000x&enlarge=true&kernel=lanczos3&sharpen=2 HTTP/1.1\r\nHost: a\r\n"
         "Connection: close\r\nContent-Length: " +
         std::to_string(jpeg.size()) + "\r\n\r\n" + std::string(jpeg.begin(), jpeg.end());
}

bool send_whole(int fd, const std::string& text) {
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t put = ::send(fd, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (put <= 0) return false;
    sent += static_cast<std::size_t>(put);
  }
  return true;
}

// Until the other end has closed.
std::chrono::milliseconds time_of_answer(int fd) {
  const auto begun = Clock::now();
  char part[65536];
  while (::recv(fd, part, sizeof part, 0) > 0) {
  }
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begun);
}

struct HurriedEnd {
  std::vector<std::string> flags;
  int signals;
};

class CliServeEnd : public testing::TestWithParam<const char*> {};

TEST_P(CliServeEnd, DoesNotWaitForPicturesThatAreCutOff) {
  const std::string request = slow_request();
  for (const HurriedEnd& hurry : {HurriedEnd{{"--drain-timeout", "1"}, 1},
                                  HurriedEnd{{"--drain-delay", "60000"}, 2}, HurriedEnd{{}, 2}}) {
    const TemporaryFolder folder;
    const std::string path = folder / "socket";
    Words words = {
        "serve", "--listen", "unix:" + path, "--workers",         GetParam(), "--engine-threads",
        "1",     "--codec",  "turbo",        "--request-timeout", "60000"};
    words.insert(words.end(), hurry.flags.begin(), hurry.flags.end());
    const pid_t server = start_program(words);
    const int first = connect_when_there(path);
    ASSERT_GE(first, 0);
    ASSERT_TRUE(send_whole(first, request));
    const auto whole = time_of_answer(first);
    ::close(first);
    const int second = connect_when_there(path);
    ASSERT_TRUE(send_whole(second, request));
    std::this_thread::sleep_for(whole / 5);
    const auto begun = Clock::now();
    for (int i = 0; i < hurry.signals; ++i) {
      // Two that are pending at one time are one.
      if (i != 0) std::this_thread::sleep_for(200ms);
      ASSERT_EQ(::kill(server, SIGTERM), 0);
    }
    const Ran ended = wait_for(server);
    const auto taken = Clock::now() - begun;
    ::close(second);
    EXPECT_EQ(ended.exit_code, 130);
    EXPECT_LT(taken, std::max<Clock::duration>(whole * 3 / 5, 500ms));
    EXPECT_NE(::access(path.c_str(), F_OK), 0) << "the socket's file is left";
  }
}

INSTANTIATE_TEST_SUITE_P(InOneProcess, CliServeEnd, testing::Values("0"));
INSTANTIATE_TEST_SUITE_P(WithWorkers, CliServeEnd, testing::Values("1"));

}  // namespace
}  // namespace framewire::test

#endif
