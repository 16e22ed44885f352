// What is refused after it has ended workers, and for how long.
#include <gtest/gtest.h>
#include <service/workers/quarantine.hpp>
#include <string>
#include <vector>

namespace framewire::service::workers {
namespace {

using namespace std::chrono_literals;

using Bytes = std::vector<std::uint8_t>;

Bytes input(unsigned number) {
  const std::string text = "input " + std::to_string(1'000'000 + number);
  return {text.begin(), text.end()};
}

TEST(Quarantine, EntriesEndWithTheirTime) {
  Quarantine quarantine;
  const Bytes bad = input(1);
  const auto begin = Quarantine::Clock::now();
  EXPECT_EQ(quarantine.accuse(bad, begin), 1u);
  EXPECT_FALSE(quarantine.contains(bad, begin)) << "one death may be chance";
  EXPECT_EQ(quarantine.accuse(bad, begin), 2u);
  quarantine.add(bad, begin);
  const auto last = begin + Quarantine::kTime - 1ms;
  EXPECT_TRUE(quarantine.contains(bad, last));
  EXPECT_EQ(quarantine.size(last), 1u);
  EXPECT_FALSE(quarantine.contains(bad, begin + Quarantine::kTime));
  EXPECT_EQ(quarantine.size(begin + Quarantine::kTime), 0u) << "figures tell of it no longer";
  // Nothing is left of what it has done.
  EXPECT_EQ(quarantine.accuse(bad, begin + Quarantine::kTime), 1u);
}

TEST(Quarantine, AnotherOfTheSameLengthIsAnother) {
  Quarantine quarantine;
  quarantine.add(input(1));
  EXPECT_TRUE(quarantine.contains(input(1)));
  EXPECT_FALSE(quarantine.contains(input(2)));
}

TEST(Quarantine, ClearingForgetsDeathsToo) {
  Quarantine quarantine;
  quarantine.add(input(1));
  EXPECT_EQ(quarantine.accuse(input(2)), 1u);
  EXPECT_EQ(quarantine.clear(), 1u);
  EXPECT_FALSE(quarantine.contains(input(1)));
  EXPECT_EQ(quarantine.size(), 0u);
  EXPECT_EQ(quarantine.accuse(input(1)), 1u);
  EXPECT_EQ(quarantine.accuse(input(2)), 1u);
  EXPECT_EQ(quarantine.clear(), 0u);
  // It refuses again whatever is added from now on.
  quarantine.add(input(3));
  EXPECT_TRUE(quarantine.contains(input(3)));
}

TEST(QuarantineAttack, ManyInputsDisplaceTheOldest) {
  Quarantine quarantine;
  constexpr unsigned kMax = Quarantine::kMaxInputs;
  for (unsigned i = 0; i < kMax + 3; ++i) quarantine.add(input(i));
  EXPECT_EQ(quarantine.size(), kMax);
  for (unsigned i = 0; i < 3; ++i) EXPECT_FALSE(quarantine.contains(input(i))) << i;
  for (const unsigned i : {3u, kMax, kMax + 2}) EXPECT_TRUE(quarantine.contains(input(i))) << i;
}

}  // namespace
}  // namespace framewire::service::workers
