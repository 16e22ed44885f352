// framewire batch --server HOST:PORT, against framewire serve --remote-clients.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <framewire/client.hpp>
#include <fstream>
#include <functional>
#include <tests/integration/batch_fixture.hpp>
#include <tests/integration/stream_ends.hpp>
#include <thread>

namespace framewire::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class CliRemote : public BatchTest {
 protected:
  void SetUp() override {
    BatchTest::SetUp();
    write_keys("keys", "studio 00112233445566778899aabbccddeeff\n");
    write_keys("wrong", "studio ffffffffffffffffffffffffffffffff\n");
  }
  void write_keys(const std::string& name, const std::string& text) const {
    write_file(folder_ / name, Bytes(text.begin(), text.end()));
    ::chmod((folder_ / name).c_str(), 0600);
  }
  [[nodiscard]] Words with_server(const std::string& keys = "keys") const {
    return {"--server", address_, "--psk", folder_ / keys};
  }

  const std::string address_ = "127.0.0.1:" + std::to_string(free_port());
};

TEST_F(CliRemote, WithoutAServerNothingIsDone) {
  const Ran ran = run_program(batch("out", with_server()));
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("cannot connect"));
}

TEST_F(CliRemote, WhatDoesNotGoTogetherIsNamed) {
  const auto expect_misuse = [this](const Words& more, const std::string& said) {
    const Ran ran = run_program(batch("out", more));
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(said));
  };
  expect_misuse({"--server", address_}, "accepted: --psk FILE");
  expect_misuse({"--psk", folder_ / "keys"}, "--psk: is for --server HOST:PORT");
  expect_misuse({"--retries", "2"}, "--retries: is for --server");
  expect_misuse({"--server", folder_ / "socket", "--psk", folder_ / "keys"}, "needs none");
  Words words = with_server();
  words.insert(words.end(), {"--retries", "many"});
  expect_misuse(words, "--retries: found 'many'");
  words = with_server();
  words.insert(words.end(), {"--device", "0"});
  expect_misuse(words, "--device");
}

#ifdef FRAMEWIRE_SERVICE
TEST_F(CliRemote, AServerAsksForKeys) {
  const Ran open = run_program({"serve", "--remote-clients", address_});
  EXPECT_EQ(open.exit_code, 2) << open.err;
  EXPECT_THAT(open.err, HasSubstr("accepted: with remote-psk"));
  const Ran alone = run_program({"serve", "--remote-psk", folder_ / "keys"});
  EXPECT_EQ(alone.exit_code, 2) << alone.err;
  EXPECT_THAT(alone.err, HasSubstr("remote-psk: needs remote-clients"));
}

class CliRemoteServer : public CliRemote, public ::testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    CliRemote::SetUp();
    start();
  }
  void start() {
    server_ = start_program(serve_with_workers(
        GetParam(), {"--listen", "127.0.0.1:0", "--drain-delay", "0", "--remote-clients", address_,
                     "--remote-psk", folder_ / "keys"}));
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    transport::SessionOptions session;
    session.security.psk_file = folder_ / "keys";
    while (!Client::connect(address_, session) && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  void TearDown() override {
    if (server_ <= 0) return;
    ::kill(server_, SIGTERM);
    EXPECT_EQ(wait_for(server_).exit_code, 0);
  }
  void add_large_inputs() const {
    for (int i = 0; i < 40; ++i) {
      write_file(folder_ / ("in/large" + std::to_string(i) + ".jpg"), make_jpeg(1600, 1200));
    }
  }
  void await_some_outputs() const {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    // Whole files alone: unfinished ones, which come and go, have names of their own.
    const auto finished = [this] {
      int count = 0;
      std::error_code ignored;
      for (const auto& file : fs::directory_iterator(folder_ / "out", ignored)) {
        count += file.path().extension() == ".jpg" ? 1 : 0;
      }
      return count;
    };
    while (finished() < 10 && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  void kill_server() {
    ::kill(server_, SIGKILL);
    (void)wait_for(server_);
    server_ = 0;
  }
  pid_t server_ = 0;
};

TEST_P(CliRemoteServer, OutputsAndRowsAreThoseOfABatchAlone) {
  const Ran alone = run_program(batch("alone"));
  const Ran served = run_program(batch("served", with_server()));
  EXPECT_EQ(alone.exit_code, 1) << alone.err;
  EXPECT_EQ(served.exit_code, 1) << served.err;
  EXPECT_EQ(read_tree(folder_ / "served"), read_tree(folder_ / "alone"));
  EXPECT_EQ(read_tree(folder_ / "served").size(), 39u);
  EXPECT_EQ(rows("served"), rows("alone"));
  const json report = json::parse(served.out);
  EXPECT_EQ(report["ok"], 39);
  EXPECT_EQ(report["with_warnings"], 1);
}

TEST_P(CliRemoteServer, AnotherKeyIsDenied) {
  const Ran ran = run_program(batch("out", with_server("wrong")));
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("denied"));
}

TEST_P(CliRemoteServer, ABatchWhoseServerIsKilledGoesOnWithTheNext) {
  add_large_inputs();
  const pid_t batch_process = start_program(batch("out", with_server()));
  await_some_outputs();
  kill_server();
  start();
  EXPECT_EQ(wait_for(batch_process).exit_code, 1);  // the file that is no JPEG
  EXPECT_EQ(read_tree(folder_ / "out").size(), 79u);
  const Ran alone = run_program(batch("alone"));
  EXPECT_EQ(read_tree(folder_ / "out"), read_tree(folder_ / "alone"));
  EXPECT_EQ(rows("out"), rows("alone"));
}

TEST_P(CliRemoteServer, WithoutRetriesWhatIsLeftFailsAndIsResumed) {
  add_large_inputs();
  Words words = batch("out", with_server());
  words.insert(words.end(), {"--retries", "0"});
  const pid_t batch_process = start_program(words);
  await_some_outputs();
  kill_server();
  EXPECT_EQ(wait_for(batch_process).exit_code, 3);
  start();
  words.push_back("--resume");
  const Ran resumed = run_program(words);
  EXPECT_EQ(resumed.exit_code, 1) << resumed.err;
  EXPECT_EQ(read_tree(folder_ / "out").size(), 79u);
}

/// Two hosts, which are network namespaces, joined by a cable.
class CliRemoteHosts : public CliRemote {
 protected:
  static constexpr const char* kAddress = "10.77.0.1:7100";
  static constexpr const char* kRemotePort = ":1BBC";  // as the kernel writes 7100

  void SetUp() override {
    CliRemote::SetUp();
    const std::string id = std::to_string(::getpid());
    near_ = "fw-near-" + id;
    far_ = "fw-far-" + id;
    const bool made =
        ip("netns add " + near_) && ip("netns add " + far_) &&
        ip("link add fwn netns " + near_ + " type veth peer name fwf netns " + far_) &&
        ip("-n " + near_ + " addr add 10.77.0.2/24 dev fwn") &&
        ip("-n " + far_ + " addr add 10.77.0.1/24 dev fwf") &&
        ip("-n " + near_ + " link set fwn up") && ip("-n " + far_ + " link set fwf up") &&
        ip("-n " + far_ + " link set lo up");
    if (!made) GTEST_SKIP() << "no network namespaces here";
  }
  void TearDown() override {
    if (server_ > 0) ::kill(server_, SIGKILL);
    if (server_ > 0) (void)wait_for(server_);
    (void)ip("netns del " + near_);
    (void)ip("netns del " + far_);
  }
  static bool ip(const std::string& words) {
    return std::system(("ip " + words + " >/dev/null 2>&1").c_str()) == 0;
  }
  /// Has a new process run on that host.
  [[nodiscard]] static std::function<void()> on(const std::string& host) {
    return [path = "/var/run/netns/" + host] {
      const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (fd < 0 || ::setns(fd, CLONE_NEWNET) != 0) ::_exit(99);
    };
  }
  /// Whether a process' host has a connection to the server.
  [[nodiscard]] static bool connected(pid_t process) {
    std::ifstream lines("/proc/" + std::to_string(process) + "/net/tcp");
    std::string line;
    while (std::getline(lines, line)) {
      if (line.find(std::string(kRemotePort) + " 01 ") != std::string::npos) return true;
    }
    return false;
  }
  template <typename Truth>
  static bool soon(Truth true_at_last) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!true_at_last()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }

  std::string near_;
  std::string far_;
  pid_t server_ = 0;
};

TEST_F(CliRemoteHosts, ACableThatIsPulledAndPutBackCostsNoOutput) {
  for (int i = 0; i < 60; ++i) {
    write_file(folder_ / ("in/large" + std::to_string(i) + ".jpg"), make_jpeg(1600, 1200));
  }
  server_ = start_program({"serve", "--listen", "127.0.0.1:0", "--remote-clients", kAddress,
                           "--remote-psk", folder_ / "keys"},
                          on(far_));
  const Words words =
      batch("out", {"--server", kAddress, "--psk", folder_ / "keys", "--retries", "5"});
  // Until the server listens there is nobody to connect to.
  ASSERT_TRUE(soon([&] {
    return run_program({"batch", folder_ / "in/101.jpg", folder_ / "first", "--server", kAddress,
                        "--psk", folder_ / "keys"},
                       {}, on(near_))
               .exit_code == 0;
  }));
  const pid_t process = start_program(words, on(near_));
  ASSERT_TRUE(soon([&] { return fs::exists(folder_ / "out/101.jpg"); }));
  ASSERT_TRUE(ip("-n " + near_ + " link set fwn down"));
  EXPECT_TRUE(soon([&] { return !connected(process); }));
  ASSERT_TRUE(ip("-n " + near_ + " link set fwn up"));
  EXPECT_EQ(wait_for(process).exit_code, 1);  // the file that is no JPEG
  const Ran alone = run_program(batch("alone"));
  EXPECT_EQ(read_tree(folder_ / "out").size(), 99u);
  EXPECT_EQ(read_tree(folder_ / "out"), read_tree(folder_ / "alone"));
}

INSTANTIATE_TEST_SUITE_P(InOneProcess, CliRemoteServer, ::testing::Values(0));
INSTANTIATE_TEST_SUITE_P(WithWorkers, CliRemoteServer, ::testing::Values(2));
#endif

}  // namespace
}  // namespace framewire::test
