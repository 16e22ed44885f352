// Files that harm the process which decodes them.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <jpeg/icc.hpp>
#include <tests/service/workers/pool_fixture.hpp>
#include <tests/support/sample_profiles.hpp>

namespace framewire::service::workers::test {
namespace {

using namespace std::chrono_literals;
using WorkerPoolAttackTest = WorkerPoolTest;

TEST_F(WorkerPoolAttackTest, RefusesAFileThatEndedTwoWorkers) {
  start(2);
  const Bytes bad = faulty("crash");
  const auto refused = resize(bad);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kInvalidInput);
  EXPECT_NE(refused.error().message().find("quarantined"), std::string::npos);
  EXPECT_EQ(pool_->workers()->crashed, 2u);
  if (kSandbox) {
    EXPECT_TRUE(told("ended by signal 11"));  // sanitizers end a process in their own way
  }
  // From now on at once; no worker sees it.
  EXPECT_FALSE(resize(bad));
  EXPECT_EQ(pool_->workers()->crashed, 2u);
  EXPECT_EQ(pool_->workers()->quarantined, 1u);
  EXPECT_EQ(pool_->workers()->refused_requests, 2u);
  // One bit more is another file.
  Bytes other = faulty("nothing");
  other.resize(bad.size());
  EXPECT_TRUE(resize(other));
}

/// A worker that was taken over writes somebody else's file over its input, and dies.
TEST_F(WorkerPoolAttackTest, AccusesNoOtherFile) {
  start(1);
  const Bytes bad = faulty("forge");
  const Bytes victim = faulty("forgE");
  for (int round = 0; round < 2; ++round) {
    // As the service reads bodies: where the engine wants them.
    const InputSlice slice = pool_->input_slice(bad.size()).value();
    std::ranges::copy(bad, slice.bytes.begin());
    EngineRequest request{slice.bytes, width(20), {}};
    request.completions = answers_;
    ASSERT_EQ(pool_->try_submit({&request, 1}), 1u);
    const auto refused = take();
    ASSERT_TRUE(refused);
    ASSERT_FALSE(refused->result);
    EXPECT_EQ(refused->result.error().code(), StatusCode::kInvalidInput);
    EXPECT_TRUE(std::ranges::equal(slice.bytes, bad)) << "it wrote to what the service believes";
  }
  EXPECT_EQ(pool_->workers()->quarantined, 1u);
  EXPECT_EQ(pool_->workers()->crashed, 2u);
  const auto made = resize(victim);
  ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_EQ(made->bytes, expected(victim));
}

TEST_F(WorkerPoolAttackTest, IsTriedAgainOnceTheQuarantineIsCleared) {
  start(2);
  const Bytes bad = faulty("crash");
  EXPECT_FALSE(resize(bad));
  EXPECT_EQ(pool_->workers()->quarantined, 1u);
  pool_->clear_quarantine();
  EXPECT_EQ(pool_->workers()->quarantined, 0u);
  EXPECT_TRUE(told("quarantine cleared: 1 refused inputs are tried again"));
  // It costs two more workers, as at first, and is refused again.
  EXPECT_FALSE(resize(bad));
  EXPECT_EQ(pool_->workers()->crashed, 4u);
  EXPECT_EQ(pool_->workers()->quarantined, 1u);
}

TEST_F(WorkerPoolAttackTest, AnswersInnocentsBesideIt) {
  for (const unsigned workers : {1u, 2u}) {
    start(workers);
    const Bytes bad = faulty("crash");
    const Bytes worse = faulty("exit");
    std::vector<Bytes> good;
    std::vector<Bytes> right;
    for (int i = 0; i < 60; ++i) {
      good.push_back(make_jpeg(100 + i, 90));
      right.push_back(expected(good.back()));
    }
    for (std::uint64_t tag = 0; tag < 60; ++tag) {
      submit(good[tag], tag);
      if (tag % 20 == 5) submit(bad, 1000 + tag);
      if (tag % 20 == 9) submit(worse, 2000 + tag);
    }
    for (int i = 0; i < 66; ++i) {
      const auto answer = take();
      ASSERT_TRUE(answer);
      if (answer->tag >= 1000) {
        EXPECT_FALSE(answer->result);
        continue;
      }
      ASSERT_TRUE(answer->result) << answer->result.error().to_string();
      EXPECT_EQ(answer->result->bytes, right[answer->tag]);
    }
    EXPECT_EQ(pool_->workers()->quarantined, 2u);
    pool_.reset();
  }
}

TEST_F(WorkerPoolAttackTest, IsFoundOutThoughItsClientHasGone) {
  start(1);
  const Bytes bad = faulty("crash");
  std::stop_source stop;
  submit(bad, 1, stop.get_token());
  ASSERT_TRUE(soon([&] { return pool_->workers()->crashed >= 1; }));
  stop.request_stop();
  ASSERT_TRUE(take());
  EXPECT_TRUE(soon([&] { return pool_->workers()->quarantined == 1; }));
}

TEST_F(WorkerPoolAttackTest, IsKilledWhereItDoesNotEnd) {
  WorkerPoolOptions options = pool_options(2);
  options.hang_time = 4s;  // a good picture is to take less, also where others work
  start(options);
  ASSERT_TRUE(soon([&] { return pool_->workers()->alive == 2; }));
  const Bytes endless = faulty("hang");
  const Bytes good = make_jpeg(90, 90);
  submit(endless, 1, {}, 200);
  for (std::uint64_t tag = 2; tag < 12; ++tag) submit(good, tag);
  for (int i = 0; i < 11; ++i) {
    const auto answer = take();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->result.has_value(), answer->tag != 1);
  }
  EXPECT_EQ(pool_->workers()->quarantined, 1u);
  EXPECT_GE(pool_->workers()->hung, 2u);
}

/// A worker that was taken over and says that it has left, while it stays.
TEST_F(WorkerPoolAttackTest, IsKilledWhereItSaysThatItHasLeft) {
  start(1);
  const Bytes bad = faulty("gone");
  const auto refused = resize(bad);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kInvalidInput);
  EXPECT_TRUE(told("worker killed: its answer cannot be"));
  EXPECT_EQ(pool_->workers()->crashed, 2u);
  EXPECT_EQ(pool_->workers()->killed, 0u);
  EXPECT_EQ(pool_->workers()->quarantined, 1u);
  EXPECT_TRUE(resize(make_jpeg(64, 48)));
  pool_->drain();
}

TEST_F(WorkerPoolAttackTest, CannotLeaveItsSandbox) {
  if (!kSandbox) GTEST_SKIP() << "a sanitizer needs calls that the sandbox refuses";
  start(1);
  std::uint64_t deaths = 0;
  for (const char* const what : {"socket", "exec", "fork", "ptrace", "kill", "code"}) {
    EXPECT_FALSE(resize(faulty(what))) << what;
    deaths += 2;
    EXPECT_EQ(pool_->workers()->crashed, deaths) << what;
  }
  const auto all = events();
  EXPECT_EQ(static_cast<std::uint64_t>(std::ranges::count_if(all,
                                                             [](const WorkerEvent& event) {
                                                               return event.why.find("signal 31") !=
                                                                      std::string::npos;
                                                             })),
            deaths);
  EXPECT_TRUE(resize(faulty("open")));
  EXPECT_EQ(pool_->workers()->crashed, deaths);
  // Without a sandbox the same does nothing: it is the filter that kills.
  WorkerPoolOptions free = pool_options(1);
  free.sandbox = false;
  start(free);
  EXPECT_TRUE(resize(faulty("socket")));
  EXPECT_EQ(pool_->workers()->crashed, 0u);
  EXPECT_FALSE(resize(faulty("open")));
  EXPECT_TRUE(told("exit code 8"));
}

// Libraries open files when they are first used, or by many threads: none of it ends a worker.
TEST_F(WorkerPoolAttackTest, MakesWhateverPictureInItsSandbox) {
  WorkerPoolOptions options = pool_options(1);
  options.engine.threads = 24;
  start(options);
  Bytes profiled = make_jpeg(90, 60);
  Bytes segments;
  ASSERT_TRUE(jpeg::write_icc(
      segments, color::testing_profiles::rgb_profile(color::testing_profiles::kDisplayP3)));
  profiled.insert(profiled.begin() + 2, segments.begin(), segments.end());
  const Bytes large = make_jpeg(1200, 900);
  for (std::uint64_t tag = 0; tag < 96; ++tag) submit(tag % 2 == 0 ? profiled : large, tag);
  for (int i = 0; i < 96; ++i) {
    const auto answer = take();
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->result) << answer->result.error().to_string();
  }
  EXPECT_EQ(pool_->workers()->crashed, 0u);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(WorkerPoolAttackTest, GetsNoMoreMemoryThanItMay) {
  WorkerPoolOptions options = pool_options(1);
  options.memory_bytes = std::uint64_t{256} << 20;
  start(options);
  const auto answer = resize(faulty("memory"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), StatusCode::kBusy) << answer.error().to_string();
  EXPECT_EQ(pool_->workers()->crashed, 0u);
  EXPECT_TRUE(resize(make_jpeg(60, 60)));
}
#endif

// A service that is killed leaves nobody behind.
TEST_F(WorkerPoolAttackTest, WorkersEndWithTheirService) {
  // What the dead service's workers are left to, so that they can be waited for.
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  const pid_t service = ::fork();
  ASSERT_GE(service, 0);
  if (service == 0) {
    auto pool = WorkerPool::make(pool_options(2));
    while (pool && (*pool)->workers()->alive != 2) ::usleep(1000);
    (void)::raise(pool ? SIGKILL : SIGABRT);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(service, &status, 0), service);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  // A worker that looks for leaks as it ends has a process of its own for that.
  int ended = 0;
  EXPECT_TRUE(soon([&] {
    pid_t found = 0;
    while ((found = ::waitpid(-1, &status, WNOHANG)) > 0) ++ended;
    return found < 0 && errno == ECHILD;
  }));
  EXPECT_GE(ended, 2);
  (void)::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

}  // namespace
}  // namespace framewire::service::workers::test
