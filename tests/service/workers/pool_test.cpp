// A pool of workers: what it answers, and what it does when workers end.
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <base/file_descriptor.hpp>
#include <map>
#include <random>
#include <tests/service/workers/pool_fixture.hpp>

namespace framewire::service::workers::test {
namespace {

using namespace std::chrono_literals;

TEST_F(WorkerPoolTest, MakesTheBytesOfAnEngineOfThisProcess) {
  start(2);
  Engine engine = Engine::make(local::test::host_engine()).value();
  ResizeOptions many[4];
  many[0] = width(31);
  many[1].height_px = 40;
  many[1].quality = 33;
  many[2].progressive = true;
  many[3].width_px = 0;
  many[3].limits.max_input_pixels = 100;  // an error, which is told word by word
  for (const int px : {16, 97, 400}) {
    Bytes jpeg = make_jpeg(px, px + 13);
    for (const bool is_cut : {false, true}) {
      if (is_cut) jpeg.resize(jpeg.size() * 2 / 3);
      for (const ResizeOptions& options : many) {
        EngineRequest request{jpeg, options, {}};
        // Also from where workers read without a copy.
        const auto slice = pool_->input_slice(jpeg.size());
        ASSERT_TRUE(slice);
        std::ranges::copy(jpeg, slice->bytes.begin());
        if (is_cut) request.jpeg = slice->bytes;
        request.completions = answers_;
        ASSERT_EQ(pool_->try_submit({&request, 1}), 1u);
        const auto answer = take();
        ASSERT_TRUE(answer);
        local::test::expect_equal(engine.resize(jpeg, options), answer->result);
      }
    }
  }
  pool_->drain();
}

TEST_F(WorkerPoolTest, TakesInputsThatFindNoRoomInTheSharedMemory) {
  start(1);
  std::vector<InputSlice> held;
  // Twice what the workers have: the rest is memory of the pool's own.
  for (int i = 0; i < 4; ++i) {
    held.push_back(pool_->input_slice(std::size_t{1} << 20).value());
    held.back().bytes.front() = held.back().bytes.back() = 1;
  }
  const Bytes jpeg = make_jpeg(80, 60);
  EXPECT_EQ(resize(jpeg).value().bytes, expected(jpeg));
}

TEST_F(WorkerPoolTest, AnswersOneRequestAfterADeadlineAndOneAfterACancellation) {
  start(1);
  const Bytes slow = faulty("sleep");
  std::stop_source stop;
  for (std::uint64_t tag = 0; tag < 10; ++tag) submit(slow, tag);
  submit(slow, 10, stop.get_token());
  submit(slow, 11, {}, 1);
  stop.request_stop();
  std::map<std::uint64_t, StatusCode> errors;
  for (int i = 0; i < 12; ++i) {
    auto answer = take();
    ASSERT_TRUE(answer);
    if (answer->result) continue;
    errors[answer->tag] = answer->result.error().code();
    if (answer->tag == 11) {
      EXPECT_EQ(answer->result.error().subject(), "queue");
    }
  }
  EXPECT_EQ(errors[10], StatusCode::kCancelled);
  EXPECT_EQ(errors[11], StatusCode::kDeadline);
  EXPECT_EQ(errors.size(), 2u);
}

TEST_F(WorkerPoolTest, AnswersAllWhileWorkersAreKilledAgainAndAgain) {
  start(2);
  std::vector<Bytes> inputs;
  std::vector<Bytes> outputs;
  for (int i = 0; i < 8; ++i) {
    inputs.push_back(make_jpeg(200 + 40 * i, 160));
    outputs.push_back(expected(inputs.back()));
  }
  std::mt19937 random(7);
  constexpr std::uint64_t kRequests = 1500;
  constexpr std::uint64_t kUnderWay = 40;
  std::uint64_t sent = 0;
  std::uint64_t deaths = 0;
  for (; sent < kUnderWay; ++sent) submit(inputs[sent % 8], sent);
  for (std::uint64_t got = 0; got < kRequests; ++got) {
    auto answer = take();
    ASSERT_TRUE(answer);
    ASSERT_TRUE(answer->result) << answer->result.error().to_string();
    ASSERT_EQ(answer->result->bytes, outputs[answer->tag % 8]);
    if (sent < kRequests) {
      submit(inputs[sent % 8], sent);
      ++sent;
    }
    const auto alive = pids();
    if (got % 50 == 0 && !alive.empty()) {
      ::kill(alive[random() % alive.size()], SIGKILL);
      ++deaths;
    }
  }
  const auto figures = *pool_->workers();
  EXPECT_GE(figures.killed, deaths / 3);
  EXPECT_GT(figures.retries, 0u);
  EXPECT_EQ(figures.quarantined, 0u);
}

TEST_F(WorkerPoolTest, StartsWorkersAgainWhenAllAreDead) {
  start(2);
  for (const int pid : pids()) ::kill(pid, SIGKILL);
  const Bytes jpeg = make_jpeg(50, 50);
  EXPECT_EQ(resize(jpeg).value().bytes, expected(jpeg));
  EXPECT_TRUE(soon([&] { return pool_->workers()->alive == 2; }));
}

TEST_F(WorkerPoolTest, RetriesWhatAFrozenWorkerHasInHand) {
  start(2);
  const auto frozen = pids().front();
  ASSERT_EQ(::kill(frozen, SIGSTOP), 0);
  const Bytes jpeg = make_jpeg(70, 70);
  const Bytes right = expected(jpeg);
  for (std::uint64_t tag = 0; tag < 8; ++tag) submit(jpeg, tag);
  for (int i = 0; i < 8; ++i) {
    const auto answer = take();
    ASSERT_TRUE(answer && answer->result);
    EXPECT_EQ(answer->result->bytes, right);
  }
  EXPECT_EQ(pool_->workers()->hung, 1u);
  EXPECT_EQ(pool_->workers()->quarantined, 0u);
}

// Whoever stops workers accuses nobody, as little as who kills them.
TEST_F(WorkerPoolTest, QuarantinesNothingThatTwoFrozenWorkersHadInHand) {
  start(1);
  const Bytes jpeg = make_jpeg(70, 70);
  const Bytes right = expected(jpeg);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(soon([&] { return pids().size() == 1; }));
    ASSERT_EQ(::kill(pids().front(), SIGSTOP), 0);
    const auto made = resize(jpeg);
    ASSERT_TRUE(made) << made.error().to_string();
    EXPECT_EQ(made->bytes, right);
  }
  EXPECT_EQ(pool_->workers()->hung, 2u);
  EXPECT_EQ(pool_->workers()->quarantined, 0u);
}

TEST_F(WorkerPoolTest, LosesNothingWhileWorkersAreReplaced) {
  start(2);
  const auto before = pids();
  const Bytes jpeg = make_jpeg(300, 200);
  const Bytes right = expected(jpeg);
  std::uint64_t sent = 0;
  std::uint64_t got = 0;
  pool_->restart_workers();
  const auto all_are_new = [&] {
    const auto now = pids();
    const auto is_old = [&](int pid) { return std::ranges::count(before, pid) != 0; };
    return now.size() >= 4 && std::ranges::count_if(now, is_old) == 2 &&
           pool_->workers()->alive == 2;
  };
  const auto until = std::chrono::steady_clock::now() + 60s;
  while ((!all_are_new() || got < 100) && std::chrono::steady_clock::now() < until) {
    while (sent - got < 16) submit(jpeg, sent++);
    const auto answer = take();
    ASSERT_TRUE(answer && answer->result);
    ASSERT_EQ(answer->result->bytes, right);
    ++got;
  }
  EXPECT_TRUE(all_are_new());
  for (; got < sent; ++got) {
    const auto answer = take();
    ASSERT_TRUE(answer && answer->result);
  }
  // The old ones have ended in order: that is no death.
  EXPECT_TRUE(soon(
      [&] { return std::ranges::all_of(before, [](int pid) { return ::kill(pid, 0) != 0; }); }));
  const auto figures = *pool_->workers();
  EXPECT_EQ(figures.crashed + figures.killed + figures.hung + figures.retries, 0u);
}

TEST_F(WorkerPoolTest, GivesWorkersNoDescriptorsOfTheService) {
  const base::FileDescriptor secret(::open("/dev/null", O_RDONLY));  // not closed on exec
  start(1);
  const std::string folder = "/proc/" + std::to_string(pids().front()) + "/fd";
  if (::access(folder.c_str(), R_OK) != 0) {
    GTEST_SKIP() << folder << " cannot be read by this user";
  }
  std::size_t files = 0;
  const auto count = [&] {
    files = 0;
    DIR* const listing = ::opendir(folder.c_str());
    if (listing == nullptr) return false;
    while (::readdir(listing) != nullptr) ++files;
    ::closedir(listing);
    // ".", "..", three standard files, the socket twice, an eventfd of the worker's own; for a
    // moment also the memory that it has handed over.
    return files > 2 && files <= 8;
  };
  EXPECT_TRUE(soon(count)) << files;
}

TEST_F(WorkerPoolTest, SaysWhyNoWorkerStarts) {
  WorkerPoolOptions options = pool_options(2);
  options.command.emplace_back("never-ready");
  auto made = WorkerPool::make(options);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message().find("exit code 5"), std::string::npos)
      << made.error().message();
  options.command = {"/nowhere/at/all"};
  made = WorkerPool::make(options);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message().find("No such file"), std::string::npos);
  options.workers = 0;
  EXPECT_FALSE(WorkerPool::make(options));
}

TEST_F(WorkerPoolTest, AnswersAllBeforeItEnds) {
  start(1);
  pool_.reset();  // with nothing under way
  start(1);
  const Bytes slow = faulty("sleep");
  for (std::uint64_t tag = 0; tag < 20; ++tag) submit(slow, tag);
  pool_.reset();  // with much
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(take());
}

}  // namespace
}  // namespace framewire::service::workers::test
