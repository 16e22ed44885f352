// Frames made ahead: in order, bounded, with every kind of end.
#include <gtest/gtest.h>
#include <atomic>
#include <commands/stream/frames_ahead.hpp>
#include <latch>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace framewire::app {
namespace {

using frames::OutgoingFrame;
using State = FramesAhead::State;
using std::chrono::milliseconds;

constexpr milliseconds kLongWait{20'000};

// Inputs named 0, 1, … up to the count; one name is an error of its own.
FramesAhead::Next count_to(int count, int broken = -1) {
  return [=, i = 0]() mutable -> Result<std::optional<batch::Input>> {
    if (i == count) return std::nullopt;
    batch::Input input;
    input.label = std::to_string(i);
    if (i == broken) input.error = Status(StatusCode::kIoError, "broken");
    ++i;
    return input;
  };
}

// A frame that says which input it is of.
Result<OutgoingFrame> frame_of(const std::string& path) {
  OutgoingFrame frame;
  frame.header.width_px = std::stoi(path);
  return frame;
}

// Makes frames at once, on the calling thread.
template <typename MakeOne>
FramesAhead::Make at_once(MakeOne make) {
  return [make](const std::string& path, const FramesAhead::Done& done) { done(make(path), 0); };
}

TEST(FramesAhead, ComeInOrderWhicheverIsMadeFirst) {
  std::latch second_is_made(1);
  FramesAhead ahead(count_to(20), at_once([&](const std::string& path) {
                      if (path == "0") second_is_made.wait();
                      auto frame = frame_of(path);
                      if (path == "1") second_is_made.count_down();
                      return frame;
                    }),
                    {2, 4});
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(ahead.wait(kLongWait), State::kReady) << i;
    EXPECT_EQ(ahead.take()->header.width_px, i);
  }
  EXPECT_EQ(ahead.wait(kLongWait), State::kEnd);
  EXPECT_FALSE(ahead.error());
}

TEST(FramesAhead, AreNoMoreThanAsked) {
  std::atomic<int> begun{0};
  FramesAhead ahead(count_to(1000), at_once([&](const std::string& path) {
                      ++begun;
                      return frame_of(path);
                    }),
                    {3, 4});
  for (int taken = 0; taken < 100; ++taken) {
    ASSERT_EQ(ahead.wait(kLongWait), State::kReady);
    EXPECT_LE(begun, taken + 4);
    ASSERT_TRUE(ahead.take());
  }
  // What nobody takes is not made; the destructor does not wait for it.
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_LE(begun, 104);
}

TEST(FramesAhead, AnInputsErrorTakesItsPlaceAndTheRestGoesOn) {
  FramesAhead ahead(count_to(3, 1), at_once(frame_of), {2, 4});
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(ahead.wait(kLongWait), State::kReady);
    const auto frame = ahead.take();
    ASSERT_EQ(frame.has_value(), i != 1);
    if (!frame) {
      EXPECT_EQ(frame.error().message(), "broken");
    }
  }
  EXPECT_EQ(ahead.wait(kLongWait), State::kEnd);
}

TEST(FramesAhead, InputsThatCannotBeListedEndIt) {
  FramesAhead ahead(
      [i = 0]() mutable -> Result<std::optional<batch::Input>> {
        if (++i > 2) return fail(StatusCode::kIoError, "no such folder");
        return batch::Input{"7", "7", true, {}};
      },
      at_once(frame_of), {2, 4});
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(ahead.wait(kLongWait), State::kReady);
    EXPECT_TRUE(ahead.take());
  }
  ASSERT_EQ(ahead.wait(kLongWait), State::kEnd);
  ASSERT_TRUE(ahead.error());
  EXPECT_EQ(ahead.error()->message(), "no such folder");
}

TEST(FramesAhead, ExceptionsReachWhoTakes) {
  FramesAhead ahead(count_to(2), at_once([](const std::string& path) -> Result<OutgoingFrame> {
                      if (path == "0") throw std::runtime_error("no memory");
                      return frame_of(path);
                    }),
                    {1, 2});
  ASSERT_EQ(ahead.wait(kLongWait), State::kReady);
  EXPECT_THROW(static_cast<void>(ahead.take()), std::runtime_error);
  ASSERT_EQ(ahead.wait(kLongWait), State::kReady);
  EXPECT_TRUE(ahead.take());
}

/// A maker that answers later, and out of order.
class Later {
 public:
  FramesAhead::Make make() {
    return [this](const std::string& path, FramesAhead::Done done) {
      const std::lock_guard lock(mutex_);
      waiting_.emplace(std::stoi(path), std::move(done));
    };
  }
  // How many frames wait for their answer, counted from the first unanswered one up to a gap:
  // threads arrive here out of turn.
  std::size_t waiting() {
    const std::lock_guard lock(mutex_);
    int end = answered_;
    while (waiting_.contains(end)) ++end;
    return static_cast<std::size_t>(end - answered_);
  }
  void wait_for(std::size_t count) {
    while (waiting() < count) std::this_thread::sleep_for(milliseconds(1));
  }
  // Answers those frames, the last one first.
  void answer_all(std::uint64_t held_bytes) {
    std::vector<FramesAhead::Done> now;
    int first = 0;
    {
      const std::lock_guard lock(mutex_);
      first = answered_;
      for (auto next = waiting_.find(answered_); next != waiting_.end();
           next = waiting_.find(++answered_)) {
        now.push_back(std::move(next->second));
        waiting_.erase(next);
      }
    }
    for (std::size_t i = now.size(); i-- > 0;) {
      now[i](frame_of(std::to_string(first + static_cast<int>(i))), held_bytes);
    }
  }

 private:
  std::mutex mutex_;
  std::map<int, FramesAhead::Done> waiting_;
  int answered_ = 0;
};

TEST(FramesAhead, ManyAreInTheMakingOnceTheirSizeIsKnown) {
  Later later;
  FramesAhead ahead(count_to(100), later.make(), {2, 20, 1600});
  later.wait_for(8);  // two threads, which do not wait for them
  std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(later.waiting(), 8U);
  later.answer_all(100);
  later.wait_for(8);
  std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(later.waiting(), 8U);  // 16 of 100 bytes each are as many as fit
  later.answer_all(10);
  for (int i = 0; i < 16; ++i) {
    ASSERT_EQ(ahead.wait(kLongWait), State::kReady) << i;
    EXPECT_EQ(ahead.take()->header.width_px, i);
  }
  later.wait_for(14);     // the last ones need not be waited for
  later.answer_all(800);  // so large that two are as many as fit
  while (ahead.wait(milliseconds(50)) == State::kReady) ASSERT_TRUE(ahead.take());
  later.wait_for(2);
  std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(later.waiting(), 2U);
  later.answer_all(800);
}

TEST(FramesAhead, EndingWaitsForThoseInTheMaking) {
  Later later;
  std::thread answers;
  {
    const FramesAhead ahead(count_to(3), later.make(), {1, 4});
    later.wait_for(3);
    answers = std::thread([&] {
      std::this_thread::sleep_for(milliseconds(20));
      later.answer_all(0);
    });
  }
  EXPECT_EQ(later.waiting(), 0U);
  answers.join();
}

TEST(FramesAhead, WaitingEndsInTime) {
  std::latch go(1);
  FramesAhead ahead(count_to(1), at_once([&](const std::string& path) {
                      go.wait();
                      return frame_of(path);
                    }),
                    {1, 1});
  EXPECT_EQ(ahead.wait(milliseconds(1)), State::kNotYet);
  go.count_down();
  EXPECT_EQ(ahead.wait(kLongWait), State::kReady);
}

}  // namespace
}  // namespace framewire::app
