// Rounding to 16 bits against exhaustive search: each result is the nearest there is, ties to even.
#include <gtest/gtest.h>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <tensor/float16.hpp>

namespace framewire::tensor {
namespace {

double value_of(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  return exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
}

TEST(Float16, HoldsEveryOneOfItsValues) {
  for (std::uint32_t bits = 0; bits < 0x7C00; ++bits) {
    const auto value = static_cast<float>(value_of(static_cast<std::uint16_t>(bits)));
    ASSERT_EQ(to_float16(value), bits);
    ASSERT_EQ(to_float16(-value), bits | 0x8000u);
  }
}

TEST(Float16, RoundsMiddlesToEvenAndTheirNeighboursToTheNearest) {
  for (std::uint32_t bits = 0; bits + 1 < 0x7C00; ++bits) {
    const double low = value_of(static_cast<std::uint16_t>(bits));
    const double high = value_of(static_cast<std::uint16_t>(bits + 1));
    const auto middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(to_float16(middle), bits + (bits & 1)) << bits;
    ASSERT_EQ(to_float16(std::nextafterf(middle, 0.0f)), bits);
    ASSERT_EQ(to_float16(std::nextafterf(middle, INFINITY)), bits + 1);
  }
}

TEST(Float16, SaturatesToInfinityAndKeepsNan) {
  EXPECT_EQ(to_float16(65504.0f), 0x7BFF);
  EXPECT_EQ(to_float16(65519.99f), 0x7BFF);
  EXPECT_EQ(to_float16(65520.0f), 0x7C00);
  EXPECT_EQ(to_float16(-INFINITY), 0xFC00);
  EXPECT_EQ(to_float16(NAN) & 0x7E00, 0x7E00);
}

TEST(Bfloat16, IsTheNearestOfTheTwoAround) {
  std::mt19937 random(3);
  for (int i = 0; i < 200'000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random());
    const auto value = std::bit_cast<float>(bits);
    if (!std::isfinite(value)) continue;
    const std::uint32_t low = bits >> 16;
    const std::uint32_t rest = bits & 0xFFFF;
    const std::uint32_t expected = low + (rest > 0x8000 || (rest == 0x8000 && (low & 1)) ? 1 : 0);
    ASSERT_EQ(to_bfloat16(value), expected);
  }
  EXPECT_EQ(to_bfloat16(INFINITY), 0x7F80);
  EXPECT_GT(to_bfloat16(std::bit_cast<float>(0x7F800001u)), 0x7F80);  // stays no number
}

}  // namespace
}  // namespace framewire::tensor
