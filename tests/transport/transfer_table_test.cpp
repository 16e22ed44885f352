// The states of a transfer's slot: which follow which, and when memory and slot are free again.
#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <framewire/transport.hpp>
#include <optional>
#include <transport/transfer_table.hpp>
#include <utility>
#include <vector>

namespace framewire::transport {
namespace {

using State = TransferState;

TEST(TransferState, FollowsOnlyWhatMayComeBefore) {
  const std::vector<std::pair<State, State>> allowed = {{State::kFree, State::kOpen},
                                                        {State::kOpen, State::kMoving},
                                                        {State::kOpen, State::kDone},
                                                        {State::kMoving, State::kOpen},
                                                        {State::kMoving, State::kUncertain},
                                                        {State::kUncertain, State::kDone},
                                                        {State::kUncertain, State::kAbandoned},
                                                        {State::kAbandoned, State::kFree},
                                                        {State::kDone, State::kFree}};
  constexpr std::array kAll = {State::kFree,      State::kOpen,      State::kMoving,
                               State::kUncertain, State::kAbandoned, State::kDone};
  for (const State from : kAll) {
    for (const State to : kAll) {
      EXPECT_EQ(may_follow(from, to),
                std::find(allowed.begin(), allowed.end(), std::pair(from, to)) != allowed.end())
          << static_cast<int>(from) << " to " << static_cast<int>(to);
    }
  }
}

class Table : public ::testing::Test {
 protected:
  void SetUp() override { index_ = take().value(); }
  std::optional<std::uint32_t> take() {
    return table_.take(Role::kGet, Direction::kGet, {memory_, 0, 100});
  }
  [[nodiscard]] State state() { return table_[index_].state; }
  [[nodiscard]] Transfer name() { return {index_, table_[index_].generation}; }
  /// Whether somebody else may write to the memory.
  bool memory_is_free() {
    const auto other = take();
    if (!other) return false;
    table_.set_result(*other);
    table_.release(*other);
    return true;
  }

  Region memory_ = Region::allocate_host(100).value();
  TransferTable table_{2};
  std::uint32_t index_ = 0;
};

TEST_F(Table, AResultBeforeTheLinkLetsGoLeavesTheMemoryPinned) {
  table_.begin_moving(index_);
  table_.set_result(index_);
  EXPECT_EQ(state(), State::kUncertain);
  EXPECT_EQ(table_.uncertain(), 1U);
  EXPECT_FALSE(memory_is_free());
  table_.settle(index_);
  EXPECT_EQ(state(), State::kDone);
  EXPECT_TRUE(memory_is_free());
  EXPECT_NE(table_.find(name()), nullptr);
  table_.release(index_);
  EXPECT_EQ(state(), State::kFree);
  EXPECT_EQ(table_.find(name()), nullptr);
}

TEST_F(Table, AResultThatIsTakenBeforeTheLinkLetsGoKeepsTheSlot) {
  table_.begin_moving(index_);
  table_.set_result(index_);
  const Transfer transfer = name();
  table_.release(index_);
  EXPECT_EQ(state(), State::kAbandoned);
  EXPECT_EQ(table_.find(transfer), nullptr);
  EXPECT_EQ(table_.uncertain(), 1U);
  EXPECT_FALSE(memory_is_free());
  table_.settle(index_);
  EXPECT_EQ(state(), State::kFree);
  EXPECT_TRUE(memory_is_free());
}

TEST_F(Table, WhatTheLinkHasLetGoOfWaitsForItsResult) {
  table_.begin_moving(index_);
  table_.settle(index_);
  EXPECT_EQ(state(), State::kOpen);
  EXPECT_FALSE(memory_is_free());
  table_.settle(index_);  // says nothing new
  EXPECT_EQ(state(), State::kOpen);
  table_.set_result(index_);
  EXPECT_EQ(state(), State::kDone);
  EXPECT_TRUE(memory_is_free());
  table_.settle(index_);
  EXPECT_EQ(state(), State::kDone);
}

}  // namespace
}  // namespace framewire::transport
