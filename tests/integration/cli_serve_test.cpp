// framewire serve as users meet it: settings, their mistakes, and its end.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <tests/integration/support.hpp>
#include <tests/service/mps/fake_control.hpp>
#include <tests/support/slower.hpp>
#include <thread>
#include <vector>

#ifdef FRAMEWIRE_SERVICE

namespace framewire::test {
namespace {

using namespace std::chrono_literals;

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// Connects to a server that has just been started. @return below 0 where it does not listen
int connect_to(const std::string& path, int tries = 3000) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  for (int i = 0; i < tries; ++i) {
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
    std::this_thread::sleep_for(20ms);
  }
  ::close(fd);
  return -1;
}

/// What the server sends until it closes.
std::string ask(const std::string& path, const std::string& target, int tries = 3000) {
  const int fd = connect_to(path, tries);
  const std::string request = "GET " + target + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  std::string answer;
  if (::send(fd, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
    char part[4096];
    for (ssize_t got = 0; (got = ::recv(fd, part, sizeof part, 0)) > 0;) {
      answer.append(part, static_cast<std::size_t>(got));
    }
  }
  ::close(fd);
  return answer;
}

std::string body_of(const std::string& answer) {
  const auto end = answer.find("\r\n\r\n");
  return end == std::string::npos ? "" : answer.substr(end + 4);
}

/// Processes that this one has started, by /proc.
std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  const std::string tasks = "/proc/" + std::to_string(parent) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks)) {
    std::ifstream list(task.path() / "children");
    for (pid_t child = 0; list >> child;) children.push_back(child);
  }
  return children;
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

// What the start refuses, a check refuses as well, with the same code and words.
TEST(CliServe, ChecksWhatTheStartWouldMeet) {
  const TemporaryFolder folder;
  const std::string text = folder / "text";
  write_text(text, "no picture, no key, no certificate\n");
  const std::string none = folder / "none";
  const std::string socket = "unix:" + folder / "socket";
  const std::string deep = folder / "none/cache";
  const std::string clients = "127.0.0.1:0";
  const std::pair<Words, int> cases[] = {
      {{none}, 3},
      {{"--fallback-image", none}, 3},
      {{"--fallback-image", text}, 2},
      {{"--cache-dir", deep}, 3},
      {{"--cache-dir", text}, 3},
      {{"--remote", "--allowed-sources", "foo"}, 2},
      {{"--allowed-options", "foo"}, 2},
      {{"--remote-clients", clients, "--remote-psk", none}, 3},
      {{"--remote-clients", clients, "--remote-psk", text}, 3},
      {{"--remote", "--origin-ca", none}, 3},
      {{"--remote", "--origin-ca", text}, 2},
      {{"--local", deep}, 3},
      {{"--local", text}, 3},
      {{"--local", folder / std::string(108, 'x')}, 2},
  };
  const auto before = read_tree(folder.path());
  for (const auto& [settings, code] : cases) {
    Words words = {"serve", "--listen", socket};
    words.insert(words.end(), settings.begin(), settings.end());
    const Ran start = run_program(words);
    words.emplace_back("--check");
    const Ran check = run_program(words);
    EXPECT_EQ(start.exit_code, code) << settings.back() << start.err;
    EXPECT_EQ(check.exit_code, code) << settings.back() << check.err;
    EXPECT_EQ(check.out, "") << settings.back();
  }
  EXPECT_EQ(run_program({"serve", "--cache-dir", folder / "cache", "--check"}).exit_code, 0);
  EXPECT_EQ(read_tree(folder.path()), before) << "a check makes nothing";
}

// What only a start meets: a worker that has no room.
TEST(CliServe, NamesTheBoundInWhichNoWorkerStarts) {
  const TemporaryFolder folder;
  Words words =
      serve_with_workers(1, {"--listen", "unix:" + folder / "socket", "--worker-memory", "1M"});
  const Ran start = run_program(words);
  EXPECT_EQ(start.exit_code, 3);
  EXPECT_TRUE(contains(start.err, "no worker starts: ")) << start.err;
  EXPECT_TRUE(contains(start.err, "; worker-memory lets it take 1048576 bytes")) << start.err;
  words.emplace_back("--check");
  EXPECT_EQ(run_program(words).exit_code, 0);
}

TEST(CliServe, NamesMistakes) {
  const TemporaryFolder folder;
  write_text(folder.path() / "a.toml", "queue = 7\nqeue = 7\n");
  const Ran key = run_program({"serve", "--config", folder / "a.toml"});
  EXPECT_EQ(key.exit_code, 2);
  EXPECT_TRUE(contains(key.err, "a.toml:2")) << key.err;
  const Ran value = run_program({"serve", "--queue", "1.5"});
  EXPECT_EQ(value.exit_code, 2);
  EXPECT_TRUE(contains(value.err, "queue")) << value.err;
  for (const auto& [setting, bad] :
       {std::pair("--allowed-options", "foo"), std::pair("--arguments-separator", "/"),
        std::pair("--url-replacements", "*"), std::pair("--path-prefix", "x"),
        std::pair("--trusted-signatures", "a/b")}) {
    const Ran named = run_program({"serve", setting, bad});
    EXPECT_EQ(named.exit_code, 2);
    EXPECT_TRUE(contains(named.err, std::string(setting).substr(2) + ": ")) << named.err;
  }
  const Ran place = run_program({"serve", "--listen", "unix:/nowhere/at/all"});
  EXPECT_EQ(place.exit_code, 3);
  EXPECT_TRUE(contains(place.err, "/nowhere/at/all")) << place.err;
  EXPECT_EQ(run_program({"serve", "--listen", ":0", folder / "none"}).exit_code, 3);
}

TEST(CliServe, EndsInOrder) {
  const TemporaryFolder folder;
  const std::string path = folder / "socket";
  const pid_t server = start_program({"serve", "--listen", "unix:" + path});
  const int fd = connect_to(path);
  ASSERT_GE(fd, 0);
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

// Standard error is a pipe that is full, and stays so.
TEST(CliServe, EndsThoughNobodyReadsWhatItSays) {
  const TemporaryFolder folder;
  const std::string path = folder / "socket";
  const std::string log = folder / "log";
  ASSERT_EQ(::mkfifo(log.c_str(), 0600), 0);
  const int unread = ::open(log.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(unread, 0);
  const int room = ::fcntl(unread, F_SETPIPE_SZ, 4096);
  ASSERT_GT(room, 0);
  const pid_t server = start_program({"serve", "--listen", "unix:" + path}, {}, log);
  // Each has a line as long as its target.
  const std::string target = "/" + std::string(400, 'x');
  for (int i = 0; i < 2 * room / 400; ++i) {
    ASSERT_TRUE(contains(ask(path, target), " 404 ")) << i;
  }
  // Requests go on, so that the log's thread always has lines that it waits with.
  std::atomic<bool> ended_asking = false;
  std::thread asking([&] {
    while (!ended_asking && contains(ask(path, target, 1), " 404 ")) {
    }
  });
  EXPECT_EQ(::kill(server, SIGHUP), 0) << "which is told of, too";
  EXPECT_EQ(::kill(server, SIGTERM), 0);
  int status = -1;
  pid_t ended = 0;
  for (int i = 0; i < 3000 && ended == 0; ++i) {
    ended = ::waitpid(server, &status, WNOHANG);
    if (ended == 0) std::this_thread::sleep_for(20ms);
  }
  if (ended != server) ::kill(server, SIGKILL);
  EXPECT_EQ(ended, server) << "it waits for a reader";
  ended_asking = true;
  asking.join();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  ::close(unread);
}

TEST(CliServe, WorkersAreReplacedWhereOneIsKilledAndOnSighup) {
  const TemporaryFolder folder;
  const std::string path = folder / "socket";
  write_file(folder.path() / "a.jpg", make_jpeg(64, 48));
  const auto target = [](int width) {
    return "/unsafe/w:" + std::to_string(width) + "/plain/a.jpg";
  };
  const pid_t server = start_program(serve_with_workers(
      1, {"--listen", "unix:" + path, "--log", "errors", folder.path().string()}));
  const std::string first = body_of(ask(path, target(16)));
  EXPECT_TRUE(first.starts_with("\xFF\xD8\xFF"));
  // Whoever has gone has another in its place, and answers stay the same.
  for (const bool killed : {true, false}) {
    const std::vector<pid_t> before = children_of(server);
    ASSERT_EQ(before.size(), 1u);
    ASSERT_EQ(killed ? ::kill(before[0], SIGKILL) : ::kill(server, SIGHUP), 0);
    std::vector<pid_t> now = before;
    for (int i = 0; i < 1500 && (now.size() != 1 || now == before); ++i) {
      EXPECT_EQ(body_of(ask(path, target(16))), first);
      std::this_thread::sleep_for(20ms);
      now = children_of(server);
    }
    EXPECT_EQ(now.size(), 1u);
    EXPECT_NE(now, before);
  }
  ASSERT_EQ(::kill(server, SIGTERM), 0);
  EXPECT_EQ(wait_for(server).exit_code, 0);
}

TEST(CliServe, ADaemonOfMpsThatEndsIsTold) {
  const service::mps::test::FakeControl fake;
  const TemporaryFolder folder;
  const std::string path = folder / "socket";
  const std::string log = folder / "log";
  const pid_t server = start_program(
      {"serve", "--listen", "unix:" + path, "--mps", "on", "--mps-program", fake.program()}, {},
      log);
  ::close(connect_to(path));
  const std::string told = read_text(log);
  constexpr std::string_view kPipes = "pipes in ";
  const auto at = told.find(kPipes);
  ASSERT_NE(at, std::string::npos) << told;
  const std::string pipes =
      told.substr(at + kPipes.size(), told.find('\n', at) - at - kPipes.size());
  ASSERT_EQ(::kill(std::stoi(read_text(pipes + "/nvidia-cuda-mps-control.pid")), SIGKILL), 0);
  constexpr std::string_view kEvent = R"("level":"warning","event":"MPS daemon ended")";
  for (int i = 0; i < 1500 && !contains(read_text(log), kEvent); ++i) {
    std::this_thread::sleep_for(20ms);
  }
  EXPECT_TRUE(contains(ask(path, "/readyz"), "200 OK"));
  std::this_thread::sleep_for(1500ms);
  EXPECT_EQ(count(read_text(log), kEvent), 1u) << "said once";
  ASSERT_EQ(::kill(server, SIGTERM), 0);
  EXPECT_EQ(wait_for(server).exit_code, 0);
}

// Who kills every worker that has a file alone in hand makes it one that is refused.
TEST(CliServe, SighupClearsTheQuarantine) {
  const TemporaryFolder folder;
  const std::string path = folder / "socket";
  const std::string log = folder / "log";
  constexpr int kWidth = kSlower == 1 ? 3000 : 900;
  write_file(folder.path() / "a.jpg", make_jpeg(kWidth, 2 * kWidth / 3));
  const std::string target = "/unsafe/w:" + std::to_string(2 * kWidth / 3) + "/plain/a.jpg";
  // The reference codec takes long enough that a worker is found at work.
  const pid_t server =
      start_program(serve_with_workers(1, {"--listen", "unix:" + path, "--log", "errors", "--codec",
                                           "reference", folder.path().string()}),
                    {}, log);
  ::close(connect_to(path));
  std::atomic<bool> answered = false;
  std::string refused;
  std::thread client([&] {
    refused = ask(path, target);
    answered = true;
  });
  std::size_t started = 0;
  for (int i = 0; i < 6000 && !answered; ++i) {
    const std::string told = read_text(log);
    const auto events = count(told, R"("level":"info","event":"worker started")");
    const std::vector<pid_t> workers = children_of(server);
    if (events > started && workers.size() == 1) {
      started = events;
      ::kill(workers[0], SIGKILL);
    }
    std::this_thread::sleep_for(10ms);
  }
  client.join();
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 422 ")) << refused;
  EXPECT_TRUE(contains(refused, "quarantined")) << refused;
  ASSERT_EQ(::kill(server, SIGHUP), 0);
  for (int i = 0; i < 6000 && !contains(read_text(log), "quarantine cleared"); ++i) {
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_TRUE(contains(read_text(log), R"("event":"quarantine cleared")"));
  EXPECT_TRUE(contains(read_text(log), R"("level":"warning","event":"input quarantined")"));
  EXPECT_TRUE(contains(read_text(log), " bytes, SHA-256 "));
  EXPECT_TRUE(body_of(ask(path, target)).starts_with("\xFF\xD8\xFF"));
  ASSERT_EQ(::kill(server, SIGTERM), 0);
  EXPECT_EQ(wait_for(server).exit_code, 0);
}

/// How many descriptors a process may have, by /proc.
unsigned long soft_limit_of(pid_t process) {
  std::ifstream list("/proc/" + std::to_string(process) + "/limits");
  for (std::string line; std::getline(list, line);) {
    if (line.starts_with("Max open files")) return std::stoul(line.substr(14));
  }
  return 0;
}

TEST(CliServe, DescriptorsAreAskedForAsConnectionsAndWorkersNeedThem) {
  const TemporaryFolder folder;
  const std::string path = folder / "socket";
  const auto command = serve_with_workers(
      3, {"--listen", "unix:" + path, "--queue", "20", "--max-connections", "300"});
  // A connection each, a request's file each, and of each worker socket, process and memory, twice
  // while it is replaced.
  constexpr unsigned long kOthers = 64 + 20 + 3 * 6;
  struct Case {
    rlim_t soft, hard;
    unsigned long granted;
    std::string warning;
  };
  for (const Case& one : {Case{80, 4096, 300 + kOthers, ""}, Case{2048, 4096, 2048, ""},
                          Case{80, 202, 202, "warning: the system allows 202 open files"}}) {
    const std::string log = folder / "log";
    const auto limit = [&] {
      const rlimit both{one.soft, one.hard};
      if (::setrlimit(RLIMIT_NOFILE, &both) != 0) ::_exit(126);
    };
    const pid_t server = start_program(command, limit, log);
    ::close(connect_to(path));
    EXPECT_EQ(soft_limit_of(server), one.granted);
    ASSERT_EQ(::kill(server, SIGTERM), 0);
    EXPECT_EQ(wait_for(server).exit_code, 0);
    const std::string told = read_text(log);
    EXPECT_EQ(contains(told, "warning: "), !one.warning.empty()) << told;
    EXPECT_TRUE(contains(told, one.warning)) << told;
    fs::remove(log);
  }
}

}  // namespace
}  // namespace framewire::test

#endif
