// What users choose may fill no cache without bound: thousands of crops, sizes, qualities and
// profiles, each asked for once.
#include <gtest/gtest.h>
#include <malloc.h>
#include <codec/turbo/fixed_filter.hpp>
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
  engine::ConverterCache cache;
  Bytes icc = color::testing_profiles::profile_of(
      "GRAY", {{"kTRC", {'c', 'u', 'r', 'v', 0, 0, 0, 0, 0, 0, 0, 1, 1, 0x80, 0, 0}},
               {"none", Bytes(3u << 20)}});
  const std::size_t before = held_bytes();
  for (int i = 0; i < 200; ++i) {
    icc.back() = static_cast<std::uint8_t>(i);  // what no conversion reads tells files apart, too
    const auto made = cache.get(color::testing_profiles::file_of(jpeg::ColorModel::kGray, icc),
                                plan::OutputModel::kGray, true);
    ASSERT_TRUE(made) << made.error().message();
    ASSERT_LE(cache.held_bytes(), engine::ConverterCache::kMaxBytes) << i;
  }
  EXPECT_LT(held_bytes() - before, engine::ConverterCache::kMaxBytes);
}

TEST(CacheAttack, WhatAConverterHoldsIsCounted) {
  using namespace color::testing_profiles;
  for (const auto& [model, icc] :
       {std::pair{jpeg::ColorModel::kCmyk, profile_of("CMYK", {{"A2B0", largest_table(4, 24)}})},
        std::pair{jpeg::ColorModel::kYcbcr, profile_of("RGB ", {{"A2B0", largest_table(3, 69)}})},
        std::pair{jpeg::ColorModel::kRgb, rgb_profile(kDisplayP3)}}) {
    const auto file = file_of(model, icc);
    const std::size_t before = held_bytes();
    const auto converter = color::Converter::make(file, plan::OutputModel::kYcbcr, true);
    ASSERT_TRUE(converter);
    ASSERT_NE(converter->table(), nullptr);
    EXPECT_LE(held_bytes() - before, converter->max_bytes());
    std::printf("%zu of %zu bytes\n", held_bytes() - before, converter->max_bytes());
  }
}

TEST(ConverterCache, KeepsWhatIsUsed) {
  using namespace color::testing_profiles;
  engine::ConverterCache cache;
  const auto get = [&](const jpeg::JpegFile& file) {
    auto made = cache.get(file, plan::OutputModel::kYcbcr, true);
    EXPECT_TRUE(made);
    return made ? *made : nullptr;
  };
  const auto kept = file_of(jpeg::ColorModel::kRgb, rgb_profile(kDisplayP3));
  const auto first = get(kept);
  for (int i = 0; i < 20; ++i) {
    get(file_of(jpeg::ColorModel::kRgb, rgb_profile({kSrgbPrimaries, 1.5 + 0.01 * i})));
    EXPECT_EQ(get(kept), first) << i;
  }
}

}  // namespace
}  // namespace framewire
