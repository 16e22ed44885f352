// Memory of frames is used again, but never while a transfer may read it.
#include <gtest/gtest.h>
#include <commands/stream/frame_memory.hpp>
#include <transport/region.hpp>

namespace framewire::app {
namespace {

TEST(FrameMemory, IsUsedAgain) {
  FrameMemory memory;
  auto region = memory.take(5000).value();
  const std::byte* address = region.data();
  memory.give_back(std::move(region));
  EXPECT_EQ(memory.take(3000)->data(), address);
}

TEST(FrameMemory, IsNotUsedAgainWhileATransferHoldsIt) {
  FrameMemory memory;
  const transport::Region region = memory.take(5000).value();
  ASSERT_TRUE(region.block()->pins.hold(100, 200, false));
  EXPECT_TRUE(region.in_use());
  memory.give_back(region);
  const auto other = memory.take(5000);
  ASSERT_TRUE(other);
  EXPECT_NE(other->data(), region.data());
  region.block()->pins.release(100, 200, false);
  EXPECT_FALSE(region.in_use());
}

}  // namespace
}  // namespace framewire::app
