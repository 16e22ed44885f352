// The faster of two ways is found, kept, and left again when it is no longer the faster.
#include <gtest/gtest.h>
#include <transport/shared/way_of_copying.hpp>

namespace framewire::transport::shared {
namespace {

/// Of `parts`, how many went past the caches, at these costs.
int past_caches(WayOfCopying& way, int parts, double through_us, double past_us) {
  int past = 0;
  for (int i = 0; i < parts; ++i) {
    past += way.past_caches() ? 1 : 0;
    way.took(way.past_caches() ? past_us : through_us);
  }
  return past;
}

TEST(WayOfCopying, BeginsThroughTheCaches) { EXPECT_FALSE(WayOfCopying().past_caches()); }

TEST(WayOfCopying, TheFasterWayIsFoundAndKept) {
  WayOfCopying way;
  EXPECT_GT(past_caches(way, 1000, 6, 1), 900);
  WayOfCopying other;
  EXPECT_LT(past_caches(other, 1000, 1, 6), 100);
}

TEST(WayOfCopying, PastTheCachesMustBeWellWorthIt) {
  WayOfCopying way;
  EXPECT_LT(past_caches(way, 1000, 1.2, 1), 100);
}

TEST(WayOfCopying, AWayThatHasBecomeTheSlowerIsLeft) {
  WayOfCopying way;
  past_caches(way, 10'000, 6, 1);
  past_caches(way, 2'000, 1, 6);
  EXPECT_LT(past_caches(way, 1'000, 1, 6), 100);
  EXPECT_GT(past_caches(way, 2'000, 6, 1), 1'000) << "and taken again";
}

}  // namespace
}  // namespace framewire::transport::shared
