// Who leaves when more come than there is room for, and what is told of failures.
#include <gtest/gtest.h>
#include <chrono>
#include <transport/session/crowd.hpp>
#include <transport/session/failures.hpp>

namespace framewire::transport {
namespace {

using base::Clock;
using session::Crowd;
using session::Failures;
using std::chrono::milliseconds;

TEST(AttackCrowd, DisplacesItsOwn) {
  Crowd crowd(6, 4);
  std::uint64_t number = 10;
  for (int i = 0; i < 4; ++i) crowd.add(number++, "many");
  EXPECT_EQ(crowd.displaced_by("many"), 10U);  // has its fill, though there is room
  EXPECT_EQ(crowd.displaced_by("one"), std::nullopt);
  crowd.add(number++, "one");
  crowd.add(number++, "another");
  EXPECT_EQ(crowd.displaced_by("one"), 10U);  // no room: the oldest of those who are most
  EXPECT_EQ(crowd.displaced_by("a third"), 10U);
  crowd.remove(10, "many");
  crowd.remove(10, "many");
  EXPECT_EQ(crowd.size(), 5U);
  EXPECT_EQ(crowd.displaced_by("many"), std::nullopt);
}

TEST(AttackCrowd, OfEquallyManyTheOldestGoes) {
  Crowd crowd(3, 2);
  crowd.add(7, "b");
  crowd.add(5, "c");
  crowd.add(6, "a");
  EXPECT_EQ(crowd.displaced_by("d"), 5U);
}

TEST(AttackFailures, AreAFewAndANumber) {
  Failures failures;
  const auto start = Clock::now();
  for (int i = 0; i < 100; ++i) failures.add({StatusCode::kDenied, "no"}, start);
  failures.count();
  int told = 0;
  std::string first;
  while (const auto status = failures.take()) {
    if (told++ == 0) first = status->message();
  }
  EXPECT_EQ(told, static_cast<int>(Failures::kBurst));
  EXPECT_EQ(first, "no (and 93 more connections came to nothing)");
  failures.add({StatusCode::kDenied, "no"}, start + milliseconds(500));
  EXPECT_TRUE(failures.empty());
  failures.add({StatusCode::kDenied, "no"}, start + milliseconds(1100));
  EXPECT_EQ(failures.take()->message(), "no (and 1 more connections came to nothing)");
}

}  // namespace
}  // namespace framewire::transport
