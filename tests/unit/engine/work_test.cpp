// The states of a request in an engine, and what becomes of bytes that may change.
#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <engine/work.hpp>
#include <utility>
#include <vector>

namespace framewire::engine {
namespace {

using State = WorkState;

TEST(WorkState, FollowsOnlyWhatMayComeBefore) {
  const std::vector<std::pair<State, State>> allowed = {
      {State::kNew, State::kForDevice},           {State::kNew, State::kForHost},
      {State::kForDevice, State::kHostFirst},     {State::kForDevice, State::kFallback},
      {State::kHostFirst, State::kForDevice},     {State::kForDevice, State::kForConversion},
      {State::kHostFirst, State::kForConversion}, {State::kForHost, State::kForConversion},
      {State::kFallback, State::kForConversion},  {State::kForConversion, State::kForDevice},
      {State::kForConversion, State::kHostFirst}, {State::kForConversion, State::kForHost},
      {State::kForConversion, State::kFallback}};
  constexpr std::array kAll = {State::kNew,     State::kForDevice, State::kHostFirst,
                               State::kForHost, State::kFallback,  State::kForConversion};
  for (const State from : kAll) {
    for (const State to : kAll) {
      EXPECT_EQ(may_follow(from, to),
                std::find(allowed.begin(), allowed.end(), std::pair(from, to)) != allowed.end())
          << static_cast<int>(from) << " to " << static_cast<int>(to);
    }
  }
}

// A deadline that runs out in work is the picture's, unless the queue has had the greater part.
TEST(Work, WhatItsTimeWentToIsKnown) {
  using std::chrono::seconds;
  Work work;
  work.arrived = base::Clock::now();
  work.deadline = work.arrived + seconds(30);
  EXPECT_TRUE(waited_too_long(work)) << "nobody has begun";
  for (const int second : {0, 14, 16, 30, 31}) {
    work.begun = work.arrived + seconds(second);
    EXPECT_EQ(waited_too_long(work), second > 15) << second;
  }
  work.begin();
  EXPECT_EQ(*work.begun, work.arrived + seconds(31)) << "what is begun is not begun again";
}

TEST(Work, BytesThatMayChangeAreReadAnewFromTheirCopy) {
  const std::vector<std::uint8_t> bytes(1000, 7);
  Work work;
  work.bytes = bytes;
  work.traits = {true, true};
  work.prepared = Prepared::kFile;
  work.options.limits.max_input_bytes = 999;
  copy_changing_bytes(work);
  EXPECT_EQ(work.bytes.data(), bytes.data()) << "too large, and refused before it is read";
  work.options.limits.max_input_bytes = 1000;
  copy_changing_bytes(work);
  EXPECT_NE(work.bytes.data(), bytes.data());
  EXPECT_TRUE(std::ranges::equal(work.bytes, bytes));
  EXPECT_FALSE(work.traits.pinned || work.traits.changes);
  EXPECT_EQ(work.prepared, Prepared::kNothing);
}

TEST(Work, BytesThatDoNotChangeStayWhereTheyAre) {
  const std::vector<std::uint8_t> bytes(10, 7);
  Work work;
  work.bytes = bytes;
  work.traits = {true, false};
  work.prepared = Prepared::kFile;
  copy_changing_bytes(work);
  EXPECT_EQ(work.bytes.data(), bytes.data());
  EXPECT_TRUE(work.traits.pinned);
  EXPECT_EQ(work.prepared, Prepared::kFile);
}

}  // namespace
}  // namespace framewire::engine
