// Processes: what they say, how they end, and that they end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <service/process/run.hpp>
#include <tests/service/support/temporary_folder.hpp>
#include <thread>

namespace framewire::service::process {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

Result<Ran> shell(const std::string& script, milliseconds timeout = seconds(30)) {
  ChildRunOptions options;
  options.words = {"/bin/sh", "-c", script};
  options.timeout = timeout;
  return run(options);
}

bool runs(pid_t pid) { return std::filesystem::exists("/proc/" + std::to_string(pid)); }

bool goes(pid_t pid) {
  const auto until = base::Clock::now() + seconds(30);
  while (runs(pid) && base::Clock::now() < until) std::this_thread::sleep_for(milliseconds(5));
  return !runs(pid);
}

TEST(Process, OutputErrorsAndExitCodeAreTold) {
  ChildRunOptions options;
  options.words = {"/bin/sh", "-c", "cat; echo $ADDED-$HOME; echo bad >&2; exit 3"};
  options.environment = {{"ADDED", "yes"}, {"HOME", std::nullopt}};
  options.input = "hello ";
  const auto ran = run(options);
  ASSERT_TRUE(ran) << ran.error().to_string();
  EXPECT_EQ(ran->output, "hello yes-\n");
  EXPECT_EQ(ran->errors, "bad\n");
  EXPECT_EQ(ran->ending.exit_code, 3);
  EXPECT_EQ(ran->ending.to_string(), "exit code 3");
}

TEST(Process, SignalsAreTold) {
  const auto ran = shell("kill -9 $$");
  ASSERT_TRUE(ran);
  EXPECT_EQ(ran->ending.signal, SIGKILL);
  EXPECT_FALSE(ran->ending.succeeded());
}

TEST(Process, AProgramThatIsNotThereIsAnError) {
  const auto ran = run({{"/nowhere/program"}, {}, {}});
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code(), StatusCode::kIoError);
  EXPECT_THAT(ran.error().to_string(), HasSubstr("No such file"));
}

TEST(Process, DaemonsLeftBehindAreNotWaitedFor) {
  const auto ran = shell("sleep 60 & echo $!");
  ASSERT_TRUE(ran) << ran.error().to_string();
  const pid_t left = std::stoi(ran->output);
  EXPECT_TRUE(runs(left));
  ::kill(left, SIGKILL);
}

TEST(ProcessAttack, WhatDoesNotEndIsKilledWithItsChildren) {
  const test::TemporaryFolder folder;
  const std::string file = folder.path() / "pid";
  const auto ran = shell("sleep 600 & echo $! >" + file + "; wait", milliseconds(300));
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code(), StatusCode::kDeadline);
  pid_t child = 0;
  std::ifstream(file) >> child;
  // Nobody waits for it here but the first process, which reaps it.
  if (child > 0) {
    const auto until = base::Clock::now() + seconds(30);
    std::string state;
    do {
      state.clear();
      std::ifstream stat("/proc/" + std::to_string(child) + "/stat");
      std::string skipped;
      stat >> skipped >> skipped >> state;
    } while (!state.empty() && state != "Z" && base::Clock::now() < until);
    EXPECT_TRUE(state.empty() || state == "Z") << state;
  }
}

TEST(ProcessAttack, HugeOutputIsCutShort) {
  const auto ran = shell("yes");
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code(), StatusCode::kTooLarge);
}

TEST(ProcessAttack, WhoReadsNothingHoldsNobodyUp) {
  std::signal(SIGPIPE, SIG_IGN);  // as the program does
  ChildRunOptions options;
  options.words = {"/bin/sh", "-c", "exit 0"};
  options.input = std::string(1u << 20, 'x');
  const auto ran = run(options);
  ASSERT_TRUE(ran) << ran.error().to_string();
  EXPECT_TRUE(ran->ending.succeeded());
}

TEST(ProcessAttack, AChildDiesWithItsKilledParent) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    ChildOptions options;
    options.words = {"/bin/sleep", "600"};
    auto child = Child::start(options);
    const pid_t pid = child ? child->pid() : -1;
    (void)!::write(ends[1], &pid, sizeof pid);
    for (;;) ::pause();
  }
  pid_t child = 0;
  ASSERT_EQ(::read(ends[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  ASSERT_GT(child, 0);
  EXPECT_TRUE(runs(child));
  // So that its end can be seen whatever the first process of this machine does.
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  const auto until = base::Clock::now() + seconds(30);
  std::string state = "?";
  while (!state.empty() && state != "Z" && base::Clock::now() < until) {
    state.clear();
    std::ifstream stat("/proc/" + std::to_string(child) + "/stat");
    std::string skipped;
    stat >> skipped >> skipped >> state;
  }
  EXPECT_TRUE(state.empty() || state == "Z") << state;
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Process, DestroyingEndsAndSignalsReach) {
  ChildOptions options;
  options.words = {"/bin/sleep", "600"};
  pid_t pid = 0;
  {
    auto child = Child::start(options);
    ASSERT_TRUE(child);
    pid = child->pid();
    EXPECT_FALSE(child->ending());
  }
  EXPECT_TRUE(goes(pid));
  auto child = Child::start(options);
  ASSERT_TRUE(child);
  child->signal(SIGTERM);
  const auto ending = child->wait(base::Clock::now() + seconds(30));
  ASSERT_TRUE(ending);
  EXPECT_EQ(ending->signal, SIGTERM);
}

}  // namespace
}  // namespace framewire::service::process
