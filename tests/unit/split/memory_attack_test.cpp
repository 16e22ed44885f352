// Memory that runs out in any thread of a split ends no process: the pictures that needed it are
// answered, and others go on.
#include <gtest/gtest.h>
#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <new>
#include <split/splitter.hpp>
#include <tests/service/support/failing_memory.hpp>
#include <tests/unit/engine/resized.hpp>

namespace framewire::split {
namespace {

using framewire::test::Bytes;
using service::test::FailingMemory;
using Answer = Result<SplitOutput>;

constexpr std::size_t kWorkers = 2;
constexpr std::size_t kPictures = 3;
constexpr std::size_t kInFlight = 2;

/// A picture with all that handing it in takes, made before memory runs out.
struct Asked {
  Bytes jpeg;
  PictureDone done;
  std::future<Answer> answer;
};

Asked ask(const Bytes& jpeg) {
  auto promise = std::make_shared<std::promise<Answer>>();
  auto future = promise->get_future();
  return {jpeg, [promise](Answer answer) { promise->set_value(std::move(answer)); },
          std::move(future)};
}

ResizeOptions half() {
  ResizeOptions options;
  options.width_px = 100;
  options.sharpen_sigma = 1;
  return options;
}

std::unique_ptr<Splitter> make(PictureForm form) {
  auto made = Splitter::make(kWorkers, kInFlight, form);
  if (!made) throw std::runtime_error(made.error().to_string());
  return std::move(*made);
}

bool has_lost_worker(Splitter& splitter) {
  const auto devices = splitter.report();
  return std::ranges::any_of(devices, &DeviceReport::lost);
}

class SplitMemoryAttack : public testing::TestWithParam<PictureForm> {};

TEST_P(SplitMemoryAttack, EveryAllocationFails) {
  const Bytes jpeg = framewire::test::photo();
  const ResizeOptions options = half();
  auto splitter = make(GetParam());
  int refused = 0;
  int lost = 0;
  bool failed = true;
  for (long n = 1; failed; ++n) {
    ASSERT_LT(n, 5'000);
    std::vector<Asked> pictures;
    for (std::size_t i = 0; i < kPictures; ++i) pictures.push_back(ask(jpeg));
    {
      const FailingMemory memory(n);
      for (Asked& one : pictures) {
        splitter->submit(std::move(one.jpeg), options, std::move(one.done));
      }
      for (const Asked& one : pictures) {
        ASSERT_EQ(one.answer.wait_for(std::chrono::seconds(60)), std::future_status::ready)
            << "allocation " << n;
      }
      splitter->drain();
      failed = memory.failed();
    }
    for (Asked& one : pictures) {
      const Answer answer = one.answer.get();
      if (answer) continue;
      EXPECT_TRUE(failed) << answer.error().to_string();
      const StatusCode code = answer.error().code();
      EXPECT_TRUE(code == StatusCode::kBusy || code == StatusCode::kPeerLost)
          << "allocation " << n << ": " << answer.error().to_string();
      code == StatusCode::kBusy ? ++refused : ++lost;
    }
    // Those that come later have the memory again, and the workers that are left.
    Asked next = ask(jpeg);
    splitter->submit(std::move(next.jpeg), options, std::move(next.done));
    const Answer answer = next.answer.get();
    EXPECT_TRUE(answer) << "after allocation " << n << ": " << answer.error().to_string();
    splitter->drain();
    if (has_lost_worker(*splitter)) splitter = make(GetParam());
  }
  EXPECT_GT(refused, 10);
  EXPECT_LE(lost, refused / 2) << "a worker's channel needs little memory";
}

INSTANTIATE_TEST_SUITE_P(Forms, SplitMemoryAttack,
                         testing::Values(PictureForm::kJpeg, PictureForm::kPlanes));

/// What a caller's function throws reaches nobody, and its picture counts as answered.
TEST(SplitAttack, WhatACallerThrowsIsDropped) {
  const auto splitter = make(PictureForm::kJpeg);
  for (const Bytes& jpeg : {framewire::test::photo(), Bytes{1, 2, 3}}) {
    for (int i = 0; i < 10; ++i) {
      splitter->submit(jpeg, half(), [](const Answer&) { throw std::bad_alloc(); });
    }
  }
  splitter->drain();
}

}  // namespace
}  // namespace framewire::split
