// Profiles that ask for more time or memory than they weigh, and how little of a profile LittleCMS
// sees.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <color/converter.hpp>
#include <color/profile.hpp>
#include <color/profile_tags.hpp>
#include <ctime>
#include <functional>
#include <optional>
#include <tests/support/profile_bombs.hpp>
#include <tests/support/sample_profiles.hpp>
#include <tests/support/slower.hpp>

namespace framewire::color {
namespace {

using test::kMoreMemory;
using test::kSlower;
using namespace testing_profiles;
using jpeg::ColorModel;
using plan::OutputModel;

long peak_kb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

/// Processor time: the machine may have other work.
double milliseconds_of(const std::function<void()>& work) {
  const std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) * 1e3 / CLOCKS_PER_SEC;
}

/// All that a request does with a profile.
void use_profile(const jpeg::JpegFile& file) {
  if (classify_profile(file) != ProfileUse::kConvertible) return;
  const auto converter = Converter::make(file, OutputModel::kYcbcr, true);
  if (converter) static_cast<void>(converter->table());
}

struct Cost {
  double ms = 0;
  long peak_growth_kb = 0;
};
Cost cost_of(const jpeg::JpegFile& file) {
  malloc_trim(0);
  const long before = peak_kb();
  const double ms = milliseconds_of([&] { use_profile(file); });
  return {ms, peak_kb() - before};
}

struct Bomb {
  const char* name;
  Bytes tag;
};
std::vector<Bomb> element_bombs() {
  return {{"80 KB of elements", element_bomb(10'000)},
          {"400 KB of elements", element_bomb(50'000)},
          {"260 KB of curves and 1000 references", memory_bomb(1'000)},
          {"260 KB of curves and 20000 references", memory_bomb(20'000)}};
}

// Each of these took from seconds to minutes, or gigabytes, before tag tables were read here.
TEST(ColorProfileAttack, ElementsAtTheSameBytesCostNothing) {
  for (const auto& [name, tag] : element_bombs()) {
    const Bytes icc = profile_of("RGB ", {{"D2B0", tag}});
    const auto file = file_of(ColorModel::kYcbcr, icc);
    EXPECT_EQ(classify_profile(file), ProfileUse::kUnusable) << name;
    const Cost cost = cost_of(file);
    EXPECT_LT(cost.ms, 50 * kSlower) << name;
    EXPECT_LT(cost.peak_growth_kb, 16'384 * kMoreMemory) << name;
  }
}

TEST(ColorProfileAttack, ElementsBesideCurvesLeaveTheCurves) {
  const Bytes plain = rgb_profile(kDisplayP3);
  for (const auto& [name, tag] : element_bombs()) {
    Bytes icc = plain;
    // One tag more: everything behind the table moves by an entry.
    const std::uint32_t count = jpeg::read_u32(icc, 128);
    Bytes entry;
    jpeg::append_text(entry, "D2B0");
    jpeg::append_u32(entry, static_cast<std::uint32_t>(icc.size() + 12));
    jpeg::append_u32(entry, static_cast<std::uint32_t>(tag.size()));
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::size_t at = 132 + 12 * i + 4;
      Bytes moved;
      jpeg::append_u32(moved, jpeg::read_u32(icc, at) + 12);
      std::copy(moved.begin(), moved.end(), icc.begin() + static_cast<std::ptrdiff_t>(at));
    }
    icc.insert(icc.begin() + 132 + 12 * static_cast<std::ptrdiff_t>(count), entry.begin(),
               entry.end());
    icc[131] = static_cast<std::uint8_t>(count + 1);
    jpeg::append_bytes(icc, tag);
    Bytes size;
    jpeg::append_u32(size, static_cast<std::uint32_t>(icc.size()));
    std::copy(size.begin(), size.end(), icc.begin());
    const auto file = file_of(ColorModel::kYcbcr, icc);
    EXPECT_EQ(classify_profile(file), ProfileUse::kConvertible) << name;
    const Cost cost = cost_of(file);
    EXPECT_LT(cost.ms, 50 * kSlower) << name;
    EXPECT_LT(cost.peak_growth_kb, 16'384 * kMoreMemory) << name;
    const auto made = Converter::make(file, OutputModel::kYcbcr, true);
    const auto expected =
        Converter::make(file_of(ColorModel::kYcbcr, plain), OutputModel::kYcbcr, true);
    ASSERT_TRUE(made && expected);
    ASSERT_NE(made->table(), nullptr);
    EXPECT_EQ(made->table()->bytes, expected->table()->bytes) << name;
  }
}

// What is let through must be cheap at its worst: the largest table of each kind, of random
// numbers.
TEST(ColorProfileAttack, TheCostliestAcceptedProfilesAreBounded) {
  struct Worst {
    const char* name;
    ColorModel model;
    std::string_view space;
    Bytes tag;
  };
  const Worst worst[] = {
      {"CMYK, lut16, 24 nodes", ColorModel::kCmyk, "CMYK", largest_table(4, 24)},
      {"RGB, lut16, 69 nodes", ColorModel::kYcbcr, "RGB ", largest_table(3, 69)},
      {"CMYK, stages, 24 nodes", ColorModel::kCmyk, "CMYK", staged_table(4, 24)},
      {"RGB, stages, 69 nodes", ColorModel::kYcbcr, "RGB ", staged_table(3, 69)},
      {"gray, lut16, 255 nodes", ColorModel::kGray, "GRAY", largest_table(1, 255)},
  };
  for (const auto& [name, model, space, tag] : worst) {
    for (const std::uint32_t version : {0x02400000u, 0x04300000u}) {
      const Bytes icc = profile_of(space, {{"A2B0", tag}}, version);
      const auto file = file_of(model, icc);
      EXPECT_EQ(classify_profile(file), ProfileUse::kConvertible) << name;
      const double classify_ms =
          milliseconds_of([&] { static_cast<void>(classify_profile(file)); });
      std::optional<Result<Converter>> made;
      const double make_ms = milliseconds_of([&] {
        made.emplace(Converter::make(
            file, model == ColorModel::kGray ? OutputModel::kGray : OutputModel::kYcbcr, true));
      });
      ASSERT_TRUE(*made) << name;
      const double table_ms = milliseconds_of([&] { static_cast<void>((*made)->table()); });
      RecordProperty(name, std::to_string(make_ms));
      std::printf("%s, version %x: classify %.1f, make %.1f, table %.1f ms\n", name, version >> 24,
                  classify_ms, make_ms, table_ms);
      EXPECT_LT(classify_ms, 20 * kSlower) << name;
      EXPECT_LT(make_ms, 100 * kSlower) << name;
      EXPECT_LT(table_ms, 200 * kSlower) << name;
    }
  }
}

TEST(ColorProfileAttack, TablesLargerThanTheirTagAreRefused) {
  const auto refused = [](std::string_view space, const Bytes& tag) {
    const auto reduced = reduce_profile(profile_of(space, {{"A2B0", tag}}));
    return reduced ? StatusCode::kInternal : reduced.error().code();
  };
  EXPECT_EQ(refused("CMYK", wide_table(4, 255, 2, 4096)), StatusCode::kTooLarge);
  EXPECT_EQ(refused("CMYK", wide_table(4, 25, 2, 4096)), StatusCode::kTooLarge);
  EXPECT_EQ(refused("CMYK", wide_table(4, 24, 2, 4096)), StatusCode::kInvalidInput);
  EXPECT_EQ(refused("RGB ", wide_table(3, 69, 2, 4096)), StatusCode::kInvalidInput);
  EXPECT_EQ(refused("RGB ", wide_table(3, 1, 2, 4096)), StatusCode::kInvalidInput);
  EXPECT_EQ(refused("RGB ", wide_table(3, 2, 0x8000, 4096)), StatusCode::kTooLarge);
  EXPECT_EQ(refused("RGB ", wide_table(4, 2, 2, 4096)), StatusCode::kInvalidInput);
  EXPECT_EQ(refused("RGB ", element_bomb(10)), StatusCode::kInvalidInput);
}

TEST(ColorProfileAttack, TooManyBytesTagsOrOverlapsAreRefused) {
  const Bytes good = rgb_profile(kDisplayP3);
  ASSERT_TRUE(reduce_profile(good));
  Bytes large = good;
  large.resize(kMaxProfileBytes);
  EXPECT_TRUE(reduce_profile(large));
  large.resize(kMaxProfileBytes + 1);
  EXPECT_EQ(reduce_profile(large).error().code(), StatusCode::kTooLarge);

  Bytes many = good;
  many[131] = kMaxProfileTags + 1;
  many.resize(132 + 12 * (kMaxProfileTags + 1));
  EXPECT_EQ(reduce_profile(many).error().code(), StatusCode::kTooLarge);
  many[128] = many[129] = many[130] = many[131] = 0xFF;
  EXPECT_EQ(reduce_profile(many).error().code(), StatusCode::kTooLarge);

  const Bytes curve{'c', 'u', 'r', 'v', 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0};
  Bytes shared = profile_of("RGB ", {{"rTRC", curve}, {"gTRC", curve}, {"bTRC", curve}});
  ASSERT_TRUE(reduce_profile(shared));
  const auto point = [&](std::size_t tag, int offset_low, int bytes) {
    shared[132 + 12 * tag + 7] = static_cast<std::uint8_t>(offset_low);
    shared[132 + 12 * tag + 11] = static_cast<std::uint8_t>(bytes);
  };
  const int first = shared[132 + 7];
  point(1, first, 16);  // one curve for two channels, as many profiles have it
  const auto reduced = reduce_profile(shared);
  ASSERT_TRUE(reduced);
  EXPECT_EQ(jpeg::read_u32(*reduced, 132 + 4), jpeg::read_u32(*reduced, 132 + 12 + 4));
  EXPECT_LT(reduced->size(), shared.size());
  point(1, first + 4, 16);
  EXPECT_EQ(reduce_profile(shared).error().code(), StatusCode::kInvalidInput);
  point(1, first, 12);
  EXPECT_EQ(reduce_profile(shared).error().code(), StatusCode::kInvalidInput);
}

TEST(ColorProfileAttack, EveryTruncationAndEveryWrongByteIsBounded) {
  for (const Bytes& good : {rgb_profile(kDisplayP3), gray_profile(1.8),
                            profile_of("CMYK", {{"A2B0", largest_table(4, 3)}}),
                            profile_of("RGB ", {{"A2B0", staged_table(3, 3)}})}) {
    for (std::size_t size = 0; size < good.size(); size += 1 + size / 50) {
      static_cast<void>(reduce_profile(std::span(good).first(size)));
    }
    for (std::size_t i = 0; i < good.size(); i += 1 + i / 200) {
      for (const int value : {0x00, 0x7F, 0xFF}) {
        Bytes bad = good;
        bad[i] = static_cast<std::uint8_t>(value);
        const auto reduced = reduce_profile(bad);
        EXPECT_TRUE(!reduced || reduced->size() <= bad.size() + 36) << i;
      }
    }
  }
}

TEST(ColorProfileTags, WhatLittleCmsMakesIsAcceptedWithTheSameNumbers) {
  const std::pair<Bytes, ColorModel> profiles[] = {
      {rgb_profile(kDisplayP3), ColorModel::kRgb},
      {rgb_profile(kAdobeRgb), ColorModel::kYcbcr},
      {gray_profile(2.2), ColorModel::kGray},
      {cmyk_profile(), ColorModel::kCmyk},
      {wavy_rgb_profile(), ColorModel::kRgb},
      {save(cmsCreate_sRGBProfile()), ColorModel::kRgb}};
  for (const auto& [icc, model] : profiles) {
    const auto reduced = reduce_profile(icc);
    ASSERT_TRUE(reduced) << reduced.error().message();
    EXPECT_LE(reduced->size(), icc.size());
    const bool gray = model == ColorModel::kGray;
    const bool cmyk = model == ColorModel::kCmyk;
    const auto convert = [&](const Bytes& bytes) {
      const Profile from(
          cmsOpenProfileFromMem(bytes.data(), static_cast<cmsUInt32Number>(bytes.size())));
      const Profile to = gray ? make_srgb_gray() : make_srgb();
      const cmsUInt32Number in = gray ? TYPE_GRAY_8 : cmyk ? TYPE_CMYK_8 : TYPE_RGB_8;
      const Transform transform(cmsCreateTransform(
          from.get(), in, to.get(), gray ? TYPE_GRAY_8 : TYPE_RGB_8, INTENT_PERCEPTUAL,
          cmsFLAGS_BLACKPOINTCOMPENSATION | cmsFLAGS_NOCACHE));
      constexpr std::size_t kPixels = 4096;
      Bytes pixels(kPixels * 4), out(kPixels * 3);
      std::uint32_t random = 7;
      for (auto& sample : pixels) {
        random = random * 1664525u + 1013904223u;
        sample = static_cast<std::uint8_t>(random >> 24);
      }
      cmsDoTransform(transform.get(), pixels.data(), out.data(), kPixels);
      return out;
    };
    EXPECT_EQ(convert(icc), convert(*reduced));
  }
}

}  // namespace
}  // namespace framewire::color
