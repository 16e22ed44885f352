// What users choose may fill no cache without bound: thousands of crops, sizes, qualities and
// profiles, each asked for once.
#include <gtest/gtest.h>
#include <malloc.h>
#include <codec/turbo/fixed_filter.hpp>
#include <color/profile_conversion.hpp>
#include <color/profile_tags.hpp>
#include <color/shaper.hpp>
#include <engine/converter_cache.hpp>
#include <tests/support/profile_bombs.hpp>
#include <tests/support/sample_profiles.hpp>
#include <tests/unit/engine/resized.hpp>

namespace framewire {
namespace {

using test::Bytes;

/// Held by the program; freed memory that the allocator keeps does not count.
std::size_t held_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST(CacheAttack, ACropSizeAndQualityOfItsOwnForEveryRequest) {
  const Resizer resizer;
  const Bytes jpeg = test::photo(120, 90);
  const std::size_t before = held_bytes();
  for (int i = 0; i < 3000; ++i) {
    ResizeOptions options;
    options.crop_width = 20 + i % 100;
    options.crop_height = 20 + i / 43;
    options.width_px = 1 + i % 83;
    options.quality = 1 + i % 100;
    options.gravity.anchor = Gravity::Anchor::kFocus;
    options.gravity.focus_x = i / 3000.0;
    ASSERT_TRUE(resizer.resize(jpeg, options)) << i;
  }
  EXPECT_LT(held_bytes() - before, std::size_t{4} << 20);
}

TEST(CacheAttack, FiltersAreFewAndSmall) {
  codec::turbo::FixedFilterCache cache;
  std::vector<std::weak_ptr<const codec::turbo::FixedFilter>> all;
  std::vector<std::size_t> bytes;
  for (std::int32_t i = 0; i < 500; ++i) {
    // Some as large as the largest picture's.
    const std::int32_t in = (i % 50 == 0 ? 65'000 : 300) + i;
    const auto filter = cache.get(Kernel::kLanczos3, {in, in / 2, 0, 2});
    all.emplace_back(filter);
    bytes.push_back(filter->weights.size() * sizeof filter->weights[0]);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < all.size(); ++i) kept += all[i].expired() ? 0 : bytes[i];
  EXPECT_GT(kept, 0u);
  EXPECT_LT(kept, std::size_t{1} << 20);
}

TEST(CacheAttack, ALargeProfileOfItsOwnForEveryRequest) {
  using namespace color::testing_profiles;
  constexpr std::size_t kBudget = 16u << 20;
  engine::ConverterCache cache(kBudget);
  Bytes icc = profile_of("RGB ", {{"A2B0", largest_table(3, 69)}});
  ASSERT_GT(icc.size(), 1u << 20);
  const std::size_t before = held_bytes();
  for (int i = 0; i < 100; ++i) {
    icc[icc.size() / 2] = static_cast<std::uint8_t>(i);
    const auto made = cache.find(file_of(jpeg::ColorModel::kYcbcr, icc));
    ASSERT_TRUE(made) << made.error().message();
    ASSERT_EQ((*made)->use(), color::ProfileUse::kConvertible);
    ASSERT_LE(cache.held_bytes(), kBudget) << i;
  }
  EXPECT_GT(cache.held_bytes(), kBudget / 2);
  EXPECT_LT(held_bytes() - before, kBudget + (4u << 20));
}

TEST(CacheAttack, WhatAConverterHoldsIsCounted) {
  using namespace color::testing_profiles;
  constexpr std::size_t kAllocations = 4096;  // what allocators need themselves
  (void)color::srgb_samples();                // made once, for all profiles
  for (const auto& [model, icc] :
       {std::pair{jpeg::ColorModel::kCmyk, profile_of("CMYK", {{"A2B0", largest_table(4, 24)}})},
        std::pair{jpeg::ColorModel::kYcbcr, profile_of("RGB ", {{"A2B0", largest_table(3, 69)}})},
        std::pair{jpeg::ColorModel::kRgb, rgb_profile(kDisplayP3)}}) {
    const auto file = file_of(model, icc);
    const std::size_t before = held_bytes();
    auto reduced = color::reduce_profile(file.icc);
    ASSERT_TRUE(reduced);
    const auto conversion = std::make_shared<const color::ProfileConversion>(
        std::move(*reduced), color::device_channels(model));
    EXPECT_LE(held_bytes() - before, conversion->bytes() + kAllocations);
    for (const auto side : {color::Side::kDevice, color::Side::kHost}) {
      ASSERT_TRUE(conversion->prepare(side));
      EXPECT_LE(held_bytes() - before, conversion->bytes() + kAllocations);
    }
    // A sanitizer's allocator tells nothing.
    if (held_bytes() == 0) continue;
    EXPECT_GE(2 * (held_bytes() - before) + kAllocations, conversion->bytes());
  }
}

}  // namespace
}  // namespace framewire
