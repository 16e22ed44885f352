#include <gtest/gtest.h>
#include <base/epochs.hpp>

namespace framewire::base {
namespace {

TEST(Epochs, OneEndsWithTheLastThatBeganInIt) {
  Epochs epochs;
  const auto first = epochs.begin(2);
  const auto second = epochs.next();
  EXPECT_NE(first, second);
  EXPECT_EQ(epochs.begin(1), second);
  EXPECT_FALSE(epochs.end(first, 1));
  EXPECT_FALSE(epochs.all_ended_before(second));
  EXPECT_TRUE(epochs.end(first, 1));
  EXPECT_TRUE(epochs.all_ended_before(second));
}

TEST(Epochs, NoneEndsBeforeTheOneBeforeIt) {
  Epochs epochs;
  const auto first = epochs.begin(1);
  const auto second = epochs.next();
  (void)epochs.begin(1);
  const auto third = epochs.next();
  (void)epochs.begin(1);
  EXPECT_FALSE(epochs.end(second, 1));
  EXPECT_FALSE(epochs.all_ended_before(second));
  EXPECT_TRUE(epochs.end(first, 1));
  EXPECT_TRUE(epochs.all_ended_before(third));
}

TEST(Epochs, OneWithNothingInItIsNotFollowedByAnother) {
  Epochs epochs;
  EXPECT_EQ(epochs.next(), epochs.next());
  EXPECT_TRUE(epochs.all_ended_before(epochs.next()));
  const auto first = epochs.begin(1);
  EXPECT_FALSE(epochs.end(first, 1)) << "the current one goes on";
  EXPECT_EQ(epochs.begin(1), first);
}

}  // namespace
}  // namespace framewire::base
