// Profiles that are read without LittleCMS, against LittleCMS.
#include <gtest/gtest.h>
#include <lcms2.h>
#include <algorithm>
#include <cmath>
#include <color/profile.hpp>
#include <color/profile_conversion.hpp>
#include <color/profile_tags.hpp>
#include <color/shaper.hpp>
#include <cstdlib>
#include <random>
#include <string>
#include <tests/support/sample_profiles.hpp>
#include <tests/support/simple_profiles.hpp>

namespace framewire::color {
namespace {

using namespace testing_profiles;

constexpr std::size_t kPixels = 30'000;

/// Pixels over the whole cube, each level of gray among them.
const Bytes& pixels() {
  static const Bytes all = [] {
    Bytes made;
    for (int i = 0; i < 256; ++i) made.insert(made.end(), 3, static_cast<std::uint8_t>(i));
    std::mt19937 random(3);
    while (made.size() < 3 * kPixels) made.push_back(static_cast<std::uint8_t>(random()));
    return made;
  }();
  return all;
}

/// What LittleCMS makes of a whole profile, as files have it. Empty: nothing.
Bytes judge(const Bytes& icc, int channels = 3) {
  const Profile from(cmsOpenProfileFromMem(icc.data(), static_cast<cmsUInt32Number>(icc.size())));
  const bool gray = channels == 1;
  const Profile to = gray ? make_srgb_gray() : make_srgb();
  const cmsUInt32Number in = gray ? TYPE_GRAY_8 : channels == 4 ? TYPE_CMYK_8 : TYPE_RGB_8;
  const cmsUInt32Number exact = gray ? cmsFLAGS_NOOPTIMIZE : 0u;
  const Transform transform(cmsCreateTransform(
      from.get(), in, to.get(), gray ? TYPE_GRAY_8 : TYPE_RGB_8, INTENT_PERCEPTUAL,
      exact | cmsFLAGS_BLACKPOINTCOMPENSATION | cmsFLAGS_NOCACHE));
  if (!transform) return {};
  const std::size_t count = gray ? 256 : pixels().size() / (channels == 4 ? 4 : 3);
  Bytes levels(256), out(count * (gray ? 1 : 3));
  for (std::size_t i = 0; i < 256; ++i) levels[i] = static_cast<std::uint8_t>(i);
  cmsDoTransform(transform.get(), gray ? levels.data() : pixels().data(), out.data(),
                 static_cast<cmsUInt32Number>(count));
  return out;
}

Bytes reduced(const Bytes& icc) {
  auto made = reduce_profile(icc);
  EXPECT_TRUE(made) << made.error().message();
  return made ? *made : Bytes{};
}

bool is_simple(const RawProfile& profile) {
  return read_simple_profile(reduced(profile.bytes())).has_value();
}

Bytes ours(const Bytes& icc, int channels = 3) {
  const ProfileConversion conversion(reduced(icc), channels);
  Bytes out(pixels().size());
  if (channels == 1) {
    Bytes levels(256);
    for (std::size_t i = 0; i < 256; ++i) levels[i] = static_cast<std::uint8_t>(i);
    out.resize(256);
    conversion.to_srgb(levels.data(), out.data(), 256);
  } else {
    conversion.to_srgb(pixels().data(), out.data(), static_cast<std::int32_t>(kPixels));
  }
  return out;
}

int max_difference(const Bytes& a, const Bytes& b) {
  EXPECT_EQ(a.size(), b.size());
  int most = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    most = std::max(most, std::abs(a[i] - b[i]));
  }
  return most;
}

struct NamedCurve {
  std::string name;
  Bytes tag;
};

std::vector<NamedCurve> black_is_0() {
  std::vector<NamedCurve> all{{"count 0", curve_of({})}};
  for (const double gamma : {0.25, 0.5, 1.0, 1.8, 2.19921875, 2.2, 2.4, 3.0, 17.0, 255.0}) {
    all.push_back({"gamma " + std::to_string(gamma), gamma_curve(gamma)});
  }
  for (const std::size_t count : {2u, 3u, 16u, 17u, 255u, 256u, 257u, 1024u, 4096u, 32767u}) {
    all.push_back({std::to_string(count) + " entries",
                   sampled_curve(count, [](double x) { return std::pow(x, 2.2); })});
  }
  all.push_back({"down and up",
                 sampled_curve(64, [](double x) { return x * (0.6 + 0.4 * std::cos(20 * x)); })});
  std::mt19937 random(9);
  for (const std::size_t count : {2u, 5u, 100u, 3000u}) {
    std::vector<std::uint16_t> entries(count);
    for (auto& entry : entries) entry = static_cast<std::uint16_t>(random());
    entries[0] = 0;
    all.push_back({std::to_string(count) + " random entries", curve_of(entries)});
  }
  all.push_back({"para 0", parametric_curve(0, {1.8})});
  all.push_back({"para 1", parametric_curve(1, {2.4, 1.1, -0.1})});
  all.push_back({"para 1 turned", parametric_curve(1, {2.0, -1.0, 0.0})});
  all.push_back({"para 2", parametric_curve(2, {2.4, 1.0, -0.05, 0.0})});
  all.push_back(
      {"para 3", parametric_curve(3, {2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045})});
  all.push_back({"para 3 with a step", parametric_curve(3, {1.5, 0.9, 0.2, 0.3, 0.5})});
  all.push_back({"para 4", parametric_curve(4, {2.2, 0.9, 0.08, 0.1, 0.05, 0.02, 0.0})});
  all.push_back({"para 4 above 1", parametric_curve(4, {1.0, 1.5, 0.0, 0.5, 0.1, 0.3, 0.0})});
  all.push_back({"para 4 below 0", parametric_curve(4, {1.0, 1.0, 0.0, -1.0, 0.3, -0.1, 0.0})});
  return all;
}

TEST(ColorShaper, IsLittleCmsBitForBit) {
  for (const auto& [name, curve] : black_is_0()) {
    for (const Colorants& colorants : {kP3Colorants, kAdobeColorants, kProPhotoColorants}) {
      for (const std::uint32_t version : {0x02100000u, 0x04300000u}) {
        RawProfile profile = matrix_profile(colorants, curve);
        profile.version = version;
        EXPECT_TRUE(is_simple(profile)) << name;
        ASSERT_EQ(max_difference(ours(profile.bytes()), judge(profile.bytes())), 0)
            << name << " version " << std::hex << version;
      }
    }
  }
}

TEST(ColorShaper, AnyColorantsAndACurveForEachChannel) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> spread(-0.2, 1.2);
  const auto curves = black_is_0();
  int simple = 0;
  for (int i = 0; i < 150; ++i) {
    Colorants colorants;
    for (auto& xyz : colorants) {
      for (double& value : xyz) value = spread(random);
    }
    const auto curve = [&] { return curves[random() % curves.size()].tag; };
    const Bytes icc = matrix_profile(colorants, curve(), curve(), curve()).bytes();
    if (!read_simple_profile(reduced(icc))) continue;
    ++simple;
    ASSERT_EQ(max_difference(ours(icc), judge(icc)), 0) << i;
  }
  EXPECT_GT(simple, 60);
}

TEST(ColorShaper, SrgbPrimariesWithAnotherCurveAreWithinOne) {
  for (const auto& [name, curve] : black_is_0()) {
    const RawProfile profile = matrix_profile(kSrgbColorants, curve);
    const Bytes icc = profile.bytes();
    EXPECT_TRUE(is_simple(profile)) << name;
    if (ProfileConversion(reduced(icc), 3).use() == ProfileUse::kIsSrgb) continue;  // as it is
    EXPECT_LE(max_difference(ours(icc), judge(icc)), 1) << name;
  }
  // Exactly LittleCMS' own: it then does without the matrix, and approximates the curves.
  for (const double gamma : {1.0, 1.4, 1.8, 2.2, 2.6}) {
    const Bytes icc = rgb_profile({kSrgbPrimaries, gamma});
    EXPECT_TRUE(read_simple_profile(reduced(icc)));
    EXPECT_LE(max_difference(ours(icc), judge(icc)), 1) << gamma;
  }
}

TEST(ColorShaper, WhatLittleCmsWritesIsReadToo) {
  const Space wide{{{0.7347, 0.2653, 1}, {0.1596, 0.8404, 1}, {0.0366, 0.0001, 1}}, 1.8};
  for (const Space& space : {kDisplayP3, kAdobeRgb, wide}) {
    const Bytes icc = rgb_profile(space);
    EXPECT_TRUE(read_simple_profile(reduced(icc)));
    EXPECT_EQ(ours(icc), judge(icc));
  }
}

TEST(ColorShaper, GrayIsLittleCmsWithoutItsApproximations) {
  for (const auto& [name, curve] : black_is_0()) {
    const Bytes icc = curve_profile(curve).bytes();
    EXPECT_TRUE(read_simple_profile(reduced(icc))) << name;
    const Bytes a = ours(icc, 1), b = judge(icc, 1);
    EXPECT_LE(max_difference(a, b), 1) << name;
    int differing = 0;
    for (std::size_t i = 0; i < a.size(); ++i) differing += a[i] != b[i] ? 1 : 0;
    EXPECT_LE(differing, 1) << name;  // where rounding ties
  }
}

TEST(ColorShaper, WhatIsOddIsLeftToLittleCms) {
  const Bytes gamma = gamma_curve(2.2);
  const auto with_curve = [&](const Bytes& curve) {
    return matrix_profile(kP3Colorants, gamma, curve, gamma);
  };
  for (const auto& [name, curve] : std::vector<NamedCurve>{
           {"a black that is not 0", curve_of({1, 65535})},
           {"gamma 0", curve_of({0})},
           {"para 1 with light at black", parametric_curve(1, {2.2, 0.9, 0.1})},
           {"para 4 with light at black", parametric_curve(4, {2.2, 1, 0, 1, 0.1, 0, 0.01})},
           {"para 4 below black", parametric_curve(4, {2.2, 1, 0, 1, 0.1, 0, -0.01})},
           {"para 1 without scale", parametric_curve(1, {2.2, 0, 0.5})},
           {"para 2 without scale", parametric_curve(2, {2.2, 0, 0, 0})},
           {"para 4 above 2", parametric_curve(4, {1, 3, 0, 0, 0.1, 0, 0})},
           {"para 0 of a negative power", parametric_curve(0, {-1})}}) {
    const RawProfile profile = with_curve(curve);
    EXPECT_FALSE(is_simple(profile)) << name;
    EXPECT_EQ(ours(profile.bytes()), judge(profile.bytes())) << name;
    EXPECT_FALSE(is_simple(curve_profile(curve)) && name != "para 4 above 2") << name;
  }
  RawProfile lab = matrix_profile(kP3Colorants, gamma);
  lab.connection = "Lab ";
  EXPECT_FALSE(is_simple(lab));
  EXPECT_EQ(ours(lab.bytes()), judge(lab.bytes()));
  EXPECT_FALSE(is_simple(matrix_profile({}, gamma)));
  Colorants huge = kP3Colorants;
  huge[0][0] = 30000;
  EXPECT_FALSE(is_simple(matrix_profile(huge, gamma)));
  RawProfile no_xyz = matrix_profile(kP3Colorants, gamma);
  no_xyz.tags[1].second[0] = 'x';
  EXPECT_FALSE(is_simple(no_xyz));
}

// Whatever a header says: what LittleCMS refuses is not converted without it, and nothing is
// converted otherwise.
TEST(ColorShaperAttack, EveryByteOfAHeaderMayBeWrong) {
  const Bytes good = matrix_profile(kP3Colorants, gamma_curve(2.2)).bytes();
  int simple = 0;
  for (std::size_t i = 4; i < 44; ++i) {  // nobody reads what follows
    for (const int value : {0x00, 0x05, 0xFF}) {
      Bytes bad = good;
      bad[i] = static_cast<std::uint8_t>(value);
      const auto key = reduce_profile(bad);
      if (!key || !read_simple_profile(*key)) continue;
      if (ProfileConversion(*key, 3).use() != ProfileUse::kConvertible) continue;  // by its class
      ++simple;
      ASSERT_EQ(ours(bad), judge(bad)) << "byte " << i << " " << value;
    }
  }
  EXPECT_GT(simple, 60);
  for (const std::size_t i : {8u, 36u}) {  // version, and the signature of profiles
    Bytes bad = good;
    bad[i] = 9;
    EXPECT_TRUE(judge(bad).empty());
    EXPECT_EQ(ProfileConversion(reduced(bad), 3).use(), ProfileUse::kUnusable);
  }
}

TEST(ColorShaper, IsReadyAtOnceAndTheSameForDevices) {
  const Bytes icc = matrix_profile(kAdobeColorants, gamma_curve(1.9)).bytes();
  const ProfileConversion conversion(reduced(icc), 3);
  EXPECT_EQ(conversion.use(), ProfileUse::kConvertible);
  EXPECT_TRUE(conversion.ready(Side::kHost));
  EXPECT_TRUE(conversion.ready(Side::kDevice));
  EXPECT_LT(conversion.bytes(), 4096u);
  const PixelTable* table = conversion.table();
  ASSERT_NE(table, nullptr);
  ASSERT_EQ(table->kind, TableKind::kShaper);
  const Bytes host = ours(icc);
  for (std::size_t i = 0; i < kPixels; ++i) {
    const int in[3] = {pixels()[3 * i], pixels()[3 * i + 1], pixels()[3 * i + 2]};
    int out[3];
    look_up(table->kind, table->bytes.data(), srgb_samples().data(), in, out);
    for (std::size_t c = 0; c < 3; ++c) ASSERT_EQ(out[c], host[3 * i + c]);
  }
}

/// A profile as programs write it, with text, dates and ids.
Bytes with_texts(RawProfile profile) {
  Bytes text;
  jpeg::append_text(text, "text");
  jpeg::append_u32(text, 0);
  jpeg::append_text(text, "copyright of somebody");
  Bytes xyz;
  jpeg::append_text(xyz, "XYZ ");
  jpeg::append_u32(xyz, 0);
  for (const double value : {0.9642, 1.0, 0.8249}) jpeg::append_u32(xyz, fixed_16_16(value));
  profile.tags.emplace(profile.tags.begin(), "cprt", text);
  profile.tags.emplace(profile.tags.begin() + 2, "wtpt", xyz);
  profile.tags.emplace_back("desc", text);
  return profile.bytes();
}

// Every byte of a profile in turn: where two profiles count as one, LittleCMS must convert alike.
TEST(ColorProfileKeyAttack, NothingThatConvertsOtherwiseCountsAsTheSame) {
  struct Case {
    Bytes icc;
    int channels;
  };
  const Case cases[] = {{with_texts(matrix_profile(kP3Colorants, gamma_curve(2.2))), 3},
                        {with_texts(matrix_profile(
                             kAdobeColorants, parametric_curve(3, {2.4, 0.95, 0.05, 0.08, 0.04}),
                             sampled_curve(17, [](double x) { return x * x; }), gamma_curve(1.8))),
                         3},
                        {with_texts(curve_profile(gamma_curve(1.8))), 1}};
  for (const auto& [icc, channels] : cases) {
    const Bytes key = reduced(icc);
    const Bytes expected = judge(icc, channels);
    ASSERT_FALSE(expected.empty());
    std::size_t same = 0, other = 0;
    // One header is enough for all.
    for (std::size_t i = &icc == &cases[0].icc ? 0 : 128; i < icc.size(); ++i) {
      for (const int flip : {0x01, 0x80}) {
        if ((flip == 0x01) != (i % 4 == 0)) continue;
        Bytes mutated = icc;
        mutated[i] ^= static_cast<std::uint8_t>(flip);
        const auto mutated_key = reduce_profile(mutated);
        if (!mutated_key || *mutated_key != key) {
          ++other;
          continue;
        }
        ++same;
        const Bytes made = judge(mutated, channels);
        // Empty: LittleCMS looks at what no conversion needs, and refuses the whole profile.
        EXPECT_TRUE(made.empty() || made == expected) << "byte " << i;
      }
    }
    EXPECT_GT(same, 30u);   // dates, ids, texts, reserved bytes
    EXPECT_GT(other, 20u);  // numbers
  }
}

TEST(ColorProfileKey, DatesNamesIdsAndOrderDoNotCount) {
  RawProfile profile = matrix_profile(kP3Colorants, gamma_curve(2.2));
  const Bytes plain = profile.bytes();
  Bytes dated = with_texts(profile);
  for (std::size_t i = 24; i < 36; ++i) dated[i] = static_cast<std::uint8_t>(i);  // date and time
  for (std::size_t i = 40; i < 128; ++i) dated[i] = static_cast<std::uint8_t>(i * 7);  // the rest
  EXPECT_EQ(reduced(dated), reduced(plain));
  std::reverse(profile.tags.begin(), profile.tags.end());
  EXPECT_EQ(reduced(profile.bytes()), reduced(plain));
  for (auto& [name, tag] : profile.tags) tag.insert(tag.end(), 8, 0x55);
  EXPECT_EQ(reduced(profile.bytes()), reduced(plain));
  EXPECT_EQ(reduced(reduced(plain)), reduced(plain));
  EXPECT_NE(reduced(matrix_profile(kP3Colorants, gamma_curve(2.21)).bytes()), reduced(plain));
}

}  // namespace
}  // namespace framewire::color
