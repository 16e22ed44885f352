// MPS, run by us: against programs that do as NVIDIA's does, and against those that do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstdlib>
#include <fstream>
#include <service/mps/control.hpp>
#include <service/mps/daemon.hpp>
#include <service/mps/own_process.hpp>
#include <tests/service/mps/fake_control.hpp>
#include <thread>

namespace framewire::service::mps {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::FakeControl;
using test::Faults;
using testing::HasSubstr;

DaemonOptions options_of(const FakeControl& fake, milliseconds timeout = seconds(20)) {
  return {fake.program(), timeout};
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Ended, or only not yet reaped by who began it.
bool is_over(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  stat >> number >> name >> state;
  return state.empty() || state == "Z";
}

bool ends(pid_t pid) {
  const auto until = base::Clock::now() + seconds(30);
  while (!is_over(pid) && base::Clock::now() < until) std::this_thread::sleep_for(milliseconds(5));
  return is_over(pid);
}

pid_t server_of(const Daemon& daemon) {
  const auto servers = daemon.servers();
  return servers && !servers->empty() ? servers->front() : -1;
}

TEST(MpsDaemon, StartsAnswersAndEnds) {
  const FakeControl fake;
  auto daemon = Daemon::start(options_of(fake));
  ASSERT_TRUE(daemon) << daemon.error().to_string();
  EXPECT_TRUE(daemon->started_here());
  EXPECT_TRUE(daemon->alive());
  const std::string folder = daemon->folder();
  EXPECT_LT(folder.size(), 80u);
  struct stat found {};
  ASSERT_EQ(::stat(folder.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat((folder + "/..").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700u);
  const pid_t server = server_of(*daemon);
  const pid_t process = daemon_process(folder);
  EXPECT_FALSE(is_over(server));
  const auto clients = daemon->clients();
  ASSERT_TRUE(clients) << clients.error().to_string();
  EXPECT_THAT(*clients, testing::ElementsAre(4711, 4712));
  EXPECT_THAT(daemon->device_clients().value_or(""), HasSubstr("Device 0"));
  EXPECT_TRUE(daemon->end(seconds(1)));
  EXPECT_TRUE(is_over(server));
  EXPECT_TRUE(is_over(process));
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_FALSE(daemon->alive());
  EXPECT_TRUE(daemon->end(seconds(1)));
}

TEST(MpsDaemon, ClientsGetItsFolderAndTheirShare) {
  const FakeControl fake;
  ::setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "7", 1);
  const auto daemon = Daemon::start(options_of(fake));
  ::unsetenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
  ASSERT_TRUE(daemon) << daemon.error().to_string();
  // What this process has is not what the daemon gives to all.
  EXPECT_THAT(text_of(daemon->folder() + "/environment"),
              testing::Not(HasSubstr("ACTIVE_THREAD_PERCENTAGE")));
  const int devices[] = {0, 2};
  const auto share = daemon->environment({25, (std::uint64_t{3} << 30) + 5}, devices);
  const process::Environment wanted = {{"CUDA_MPS_PIPE_DIRECTORY", daemon->folder()},
                                       {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "25"},
                                       {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=3072M,2=3072M"}};
  EXPECT_EQ(share, wanted);
  for (const auto& [name, value] : daemon->environment()) {
    EXPECT_EQ(value.has_value(), name == "CUDA_MPS_PIPE_DIRECTORY") << name;
  }
}

TEST(MpsDaemon, NoProgramIsUnsupported) {
  for (const char* name : {"/nowhere/nvidia-cuda-mps-control", "/tmp", "/dev/null", "sh"}) {
    const auto daemon = Daemon::start({name, seconds(1)});
    ASSERT_FALSE(daemon) << name;
    EXPECT_EQ(daemon.error().code(), StatusCode::kUnsupported) << name;
  }
}

TEST(MpsDaemon, TheProgramIsFoundInPath) {
  const FakeControl fake;
  const std::string before = ::getenv("PATH");
  ::setenv("PATH", ("relative:/nowhere:" + fake.folder().string() + ":" + before).c_str(), 1);
  const auto found = find_control_program("");
  ::setenv("PATH", before.c_str(), 1);
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_EQ(*found, fake.program());
}

TEST(MpsDaemon, AttachesToAnotherAndLeavesIt) {
  const FakeControl fake;
  auto other = Daemon::start(options_of(fake));
  ASSERT_TRUE(other);
  const pid_t server = server_of(*other);
  {
    auto daemon = Daemon::attach(options_of(fake), other->folder());
    ASSERT_TRUE(daemon) << daemon.error().to_string();
    EXPECT_FALSE(daemon->started_here());
    EXPECT_TRUE(daemon->alive());
    EXPECT_EQ(server_of(*daemon), server);
    EXPECT_TRUE(daemon->end(seconds(0)));
    EXPECT_TRUE(daemon->alive());
  }
  EXPECT_FALSE(is_over(server));
  const framewire::service::test::TemporaryFolder empty;
  const auto none = Daemon::attach(options_of(fake), empty.path());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), StatusCode::kPeerLost);
  EXPECT_THAT(none.error().to_string(), HasSubstr("Cannot find MPS control daemon"));
}

TEST(MpsDaemon, ADaemonThatGoesIsNoticed) {
  const FakeControl fake;
  auto daemon = Daemon::start(options_of(fake));
  ASSERT_TRUE(daemon);
  const pid_t server = server_of(*daemon);
  ::kill(daemon_process(daemon->folder()), SIGKILL);
  const auto until = base::Clock::now() + seconds(30);
  while (daemon->alive() && base::Clock::now() < until) {
    std::this_thread::sleep_for(milliseconds(2));
  }
  const auto alive = daemon->alive();
  ASSERT_FALSE(alive);
  EXPECT_EQ(alive.error().code(), StatusCode::kPeerLost);
  (void)daemon->end(seconds(0));
  EXPECT_TRUE(ends(server));  // its server has not gone with it
}

TEST(MpsDaemonAttack, WhatItSaysIsToldAndNothingIsLeft) {
  const FakeControl fake({"echo 'An instance of this daemon is already running' >&2; exit 1"});
  const auto daemon = Daemon::start(options_of(fake));
  ASSERT_FALSE(daemon);
  EXPECT_EQ(daemon.error().code(), StatusCode::kIoError);
  EXPECT_THAT(daemon.error().to_string(), HasSubstr("already running"));
}

TEST(MpsDaemonAttack, SlowStartsMeetTheDeadline) {
  const FakeControl fake({"sleep 600"});
  const auto begin = base::Clock::now();
  const auto daemon = Daemon::start(options_of(fake, milliseconds(300)));
  ASSERT_FALSE(daemon);
  EXPECT_EQ(daemon.error().code(), StatusCode::kDeadline);
  EXPECT_LT(base::elapsed_us(begin), 25e6);
}

TEST(MpsDaemonAttack, AStartThatStartsNothingIsNoSuccess) {
  const FakeControl fake({"exit 0"});
  const auto daemon = Daemon::start(options_of(fake));
  ASSERT_FALSE(daemon);
  EXPECT_THAT(daemon.error().to_string(), HasSubstr("Cannot find MPS control daemon"));
}

TEST(MpsDaemonAttack, HugeAndEndlessAnswersAreRefused) {
  const FakeControl fake({":", "[ -f \"$P/loud\" ] && yes"});
  auto daemon = Daemon::start(options_of(fake));
  ASSERT_TRUE(daemon) << daemon.error().to_string();
  const pid_t process = daemon_process(daemon->folder());
  std::ofstream(daemon->folder() + "/loud") << "yes";
  const auto servers = daemon->servers();
  ASSERT_FALSE(servers);
  EXPECT_EQ(servers.error().code(), StatusCode::kTooLarge);
  EXPECT_FALSE(daemon->end(seconds(0)));
  EXPECT_TRUE(ends(process));  // killed, as it would not listen
}

TEST(MpsDaemonAttack, ADaemonThatDoesNotAnswerIsKilled) {
  const FakeControl fake({":", "[ -f \"$P/silent\" ] && sleep 600"});
  auto daemon = Daemon::start(options_of(fake, milliseconds(6000)));
  ASSERT_TRUE(daemon) << daemon.error().to_string();
  const pid_t process = daemon_process(daemon->folder());
  const pid_t server = server_of(*daemon);
  std::ofstream(daemon->folder() + "/silent") << "yes";
  const auto servers = daemon->servers();
  ASSERT_FALSE(servers);
  EXPECT_EQ(servers.error().code(), StatusCode::kDeadline);
  const auto ended = daemon->end(seconds(0));
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), StatusCode::kDeadline);
  EXPECT_TRUE(ends(process));
  EXPECT_TRUE(ends(server));
}

TEST(MpsDaemonAttack, NobodyElsesProcessIsKilledForALie) {
  process::ChildOptions sleeper;
  sleeper.words = {"/bin/sleep", "600"};
  auto innocent = process::Child::start(sleeper);
  ASSERT_TRUE(innocent);
  const std::string number = std::to_string(innocent->pid());
  const FakeControl fake({":", ":", "cat \"$P/server\"; echo " + number, ":"});
  auto daemon = Daemon::start(options_of(fake));
  ASSERT_TRUE(daemon) << daemon.error().to_string();
  const auto servers = daemon->servers();
  ASSERT_TRUE(servers);
  ASSERT_EQ(servers->size(), 2u);
  const pid_t server = servers->front();
  EXPECT_TRUE(daemon->end(seconds(0)));  // it ignores quit
  EXPECT_TRUE(ends(server));
  EXPECT_FALSE(innocent->ending());
}

TEST(MpsDaemonAttack, ListsOfSomethingElseAreRefused) {
  for (const char* lie :
       {"echo -5", "echo 1", "echo 99999999999999", "echo 'rm -rf'", "echo 12x"}) {
    const FakeControl fake({":", ":", std::string("[ ! -f \"$P/lie\" ] || ") + lie});
    auto daemon = Daemon::start(options_of(fake));
    ASSERT_TRUE(daemon) << daemon.error().to_string();
    std::ofstream(daemon->folder() + "/lie") << "yes";
    const auto servers = daemon->servers();
    ASSERT_FALSE(servers) << lie;
    EXPECT_EQ(servers.error().code(), StatusCode::kIoError) << lie;
  }
}

TEST(MpsDaemonAttack, EndsWhenWhoStartedItIsKilled) {
  const FakeControl fake;
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const pid_t owner = ::fork();
  if (owner == 0) {
    auto daemon = Daemon::start(options_of(fake));
    const std::string folder = daemon ? daemon->folder() : "";
    (void)!::write(pipe_ends[1], folder.c_str(), folder.size() + 1);
    for (;;) ::pause();
  }
  char folder[256] = {};
  ASSERT_GT(::read(pipe_ends[0], folder, sizeof folder - 1), 1);
  const pid_t process = daemon_process(folder);
  ASSERT_GT(process, 1);
  EXPECT_FALSE(is_over(process));
  ::kill(owner, SIGKILL);
  ::waitpid(owner, nullptr, 0);
  EXPECT_TRUE(ends(process));
  const auto until = base::Clock::now() + seconds(30);
  while (std::filesystem::exists(folder) && base::Clock::now() < until) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
}

}  // namespace
}  // namespace framewire::service::mps
