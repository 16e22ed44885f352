// The option grammar: every row reads back what it prints, and refuses what it does not accept.
#include <gtest/gtest.h>
#include <base/options_values.hpp>
#include <cmath>
#include <framewire/options.hpp>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace framewire {
namespace {

using Texts = std::vector<std::string>;

struct OptionCase {
  std::string name;
  Texts good;  // each prints as written
  Texts bad;   // each is refused
  bool in_hash = true;
};

// One row an option; EveryOptionHasACase holds this table against option_specs().
const std::vector<OptionCase>& cases() {
  static const std::vector<OptionCase> table = {
      {"size",
       {"480x270", "480x", "x270", "1000000x1"},
       {"", "x", "0x0", "0", "-1x5", "+4x4", "1000001x1", "48 0x2", "480x270x1", "480X270", "1e3"}},
      {"resize", {"fill", "fill-down", "force", "auto"}, {"", "Fit", "fit ", "crop", "0"}},
      {"enlarge", {"true"}, {"yes", "1", "TRUE"}},
      {"min-size", {"480x270", "480x", "x270"}, {"", "x", "0", "0.5x", "1000001"}},
      {"max-result-side", {"1", "1000000"}, {"", "-1", "1000001", "1k"}},
      {"crop",
       {"1x1", "640x", "x480", "0.5x0.25", "0.5x100", "x0.001"},
       {"", "0x1", "abc", "-1x1", "-0.5x", "nanx1", "infx1", "1000001x", "0.5:0.5"}},
      {"crop-gravity", {"ce", "noea:10:5", "fp:0:1"}, {"", "center", "fp:0"}},
      {"gravity",
       {"no", "so", "ea", "we", "noea", "nowe", "soea", "sowe", "fp:0:1", "fp:0.25:0.75",
        "noea:10:5", "ce:-0.1:0.25", "so:0:-1000000"},
       {"", "center", "fp", "fp:", "fp:0.5", "fp:2:0", "fp:-0.1:0", "fp:nan:0", "fp:0:0:0",
        "fp:X:Y", "no:", "no:1:", "no::1", "no:1:2:3", "no:nan:0", "no:0:1000001", "noea:10,5"}},
      {"zoom",
       {"2", "0.5", "1.5x0.5", "0.0001", "100000"},
       {"", "0", "x2", "2x", "-1", "2x2x2", "nan", "100001", "1x0"}},
      {"dpr",
       {"0.05", "2", "1.5", "0.0001", "100000"},
       {"", "0", "0.00009", "100001", "inf", "nan", "2x", "-1"}},
      {"rotate", {"90", "180", "270"}, {"", "45", "360", "-90", "90.0"}},
      {"flip", {"h", "v", "hv"}, {"", "vh", "horizontal"}},
      {"extend", {"ce", "nowe:0.5:3", "fp:0.5:1"}, {"", "true", "sm"}},
      {"extend-aspect-ratio", {"ce", "so:0:7"}, {"", "true"}},
      {"padding",
       {"10", "1,2,3,4", "0,1,0,1", "1000000"},
       {"", ",", "1,", "1,2,3,4,5", "-1", "1.5", "1000001", "1:2", "1 2"}},
      {"background", {"ffffff", "00a0ff"}, {"", "fff", "#ffffff", "gggggg", "ffffff0", "-1-1-1"}},
      {"kernel", {"bicubic", "bilinear", "area", "nearest"}, {"", "lanczos", "cubic"}},
      {"sharpen", {"0.5", "10"}, {"", "-1", "11", "one"}},
      {"color", {"keep"}, {"", "sRGB", "p3"}},
      {"no-auto-orient", {"true"}, {"no"}},
      {"quality", {"1", "100", "79"}, {"", "0", "101", "80.5", "0x50", " 80", "99999999999"}},
      {"sampling", {"keep", "444", "422", "440", "gray"}, {"", "4:2:0", "411"}},
      {"progressive", {"true"}, {"on"}},
      {"optimize-huffman", {"true"}, {"on"}},
      {"restart-interval", {"1", "65535"}, {"", "-1", "65536"}},
      {"max-bytes",
       {"1", "100k", "3M", "1500"},
       {"", "-1", "k", "K", "1kB", "99999999999G", "1.5M"}},
      {"always-encode", {"true"}, {"1"}},
      {"metadata", {"copyright", "keep"}, {"", "all"}},
      {"gain-map", {"drop"}, {"", "yes"}},
      {"codec", {"turbo", "reference", "cuda", "nvjpeg"}, {"", "gpu", "jpeg"}, false},
      {"strict", {"true"}, {"2"}},
      {"max-input-bytes", {"1", "1G"}, {"", "0", "-1"}, false},
      {"max-input-pixels", {"280M", "5"}, {"", "0"}, false},
      {"max-scans", {"1", "1000000"}, {"", "0", "1000001"}, false},
      {"max-scan-pixels", {"10G"}, {"", "0"}, false},
      {"max-output-side", {"100", "65500"}, {"", "0", "65501"}, false},
      {"max-output-pixels", {"1G"}, {"", "0"}, false},
      {"deadline", {"0", "500"}, {"", "-1", "86400001"}, false},
  };
  return table;
}

// to_string() of options in which one option was set must be exactly that option.
TEST(Options, EveryGoodValueRoundTrips) {
  for (const auto& option : cases()) {
    for (const auto& value : option.good) {
      ResizeOptions options;
      const auto set = set_option(options, option.name, value);
      ASSERT_TRUE(set) << option.name << "=" << value << ": " << set.error().to_string();
      EXPECT_EQ(to_string(options), option.name + "=" + value);
      const bool same_hash = output_hash(options) == output_hash(ResizeOptions{});
      EXPECT_EQ(same_hash, !option.in_hash) << option.name << "=" << value;
    }
  }
}

TEST(Options, EveryBadValueIsRefusedAndNamed) {
  for (const auto& option : cases()) {
    for (const auto& value : option.bad) {
      ResizeOptions options;
      ASSERT_TRUE(set_option(options, "quality", "33"));
      const auto set = set_option(options, option.name, value);
      ASSERT_FALSE(set) << option.name << "=" << value;
      EXPECT_EQ(set.error().code(), StatusCode::kInvalidInput);
      EXPECT_EQ(set.error().subject(), option.name);
      EXPECT_NE(set.error().message().find("'" + value + "'"), std::string::npos)
          << set.error().message();
      EXPECT_NE(set.error().message().find("accepted: "), std::string::npos);
      EXPECT_EQ(to_string(options), "quality=33") << "changed by a refused " << option.name;
    }
  }
}

TEST(Options, EveryOptionHasACaseAndADefaultThatReadsBack) {
  std::set<std::string> known;
  for (const auto& option : cases()) known.insert(option.name);
  std::set<std::string> listed;
  for (const OptionSpec& spec : option_specs()) {
    EXPECT_TRUE(listed.insert(std::string(spec.name)).second) << spec.name << " twice";
    EXPECT_FALSE(spec.help.empty()) << spec.name;
    EXPECT_FALSE(spec.group.empty()) << spec.name;
    if (spec.default_value.empty()) continue;
    ResizeOptions options;
    const auto set = set_option(options, spec.name, spec.default_value);
    ASSERT_TRUE(set) << set.error().to_string();
    EXPECT_EQ(to_string(options), "") << spec.name << " does not have the default it states";
  }
  EXPECT_EQ(known, listed);
}

TEST(Options, EveryListedChoiceIsAccepted) {
  for (const OptionSpec& spec : option_specs()) {
    std::string_view rest = spec.choices;
    while (!rest.empty()) {
      const auto bar = rest.find('|');
      const auto word = rest.substr(0, bar);
      rest = bar == std::string_view::npos ? "" : rest.substr(bar + 1);
      if (word == "fp:X:Y") continue;  // a pattern, not a word
      ResizeOptions options;
      EXPECT_TRUE(set_option(options, spec.name, word)) << spec.name << "=" << word;
    }
  }
}

TEST(Options, DefaultsAreThoseOfTheManual) {
  std::map<std::string_view, std::string_view> defaults;
  for (const OptionSpec& spec : option_specs()) defaults[spec.name] = spec.default_value;
  EXPECT_EQ(defaults["size"], "");
  EXPECT_EQ(defaults["quality"], "80");
  EXPECT_EQ(defaults["sampling"], "420");
  EXPECT_EQ(defaults["kernel"], "lanczos3");
  EXPECT_EQ(defaults["max-input-bytes"], "64M");
  EXPECT_EQ(defaults["max-input-pixels"], "100M");
  EXPECT_EQ(defaults["enlarge"], "") << "flags state no default";
}

TEST(Options, PaddingTakesMissingSidesFromTheirOpposite) {
  const auto read = [](const char* text) {
    ResizeOptions options;
    EXPECT_TRUE(set_option(options, "padding", text)) << text;
    return options.padding;
  };
  EXPECT_EQ(read("1"), (Padding{1, 1, 1, 1}));
  EXPECT_EQ(read("1,2"), (Padding{1, 2, 1, 2}));
  EXPECT_EQ(read("1,2,3"), (Padding{1, 2, 3, 2}));
  EXPECT_EQ(read("1,2,3,4"), (Padding{1, 2, 3, 4}));
}

TEST(Options, AnchorsTakeOffsetsThatTheNextOneForgets) {
  ResizeOptions options;
  ASSERT_TRUE(set_option(options, "gravity", "no:5"));
  EXPECT_EQ(to_string(options), "gravity=no:5:0");
  ASSERT_TRUE(set_option(options, "gravity", "ce"));
  EXPECT_EQ(to_string(options), "");
}

TEST(Options, OneSideMayStandAlone) {
  ResizeOptions options;
  ASSERT_TRUE(set_option(options, "size", "480"));
  EXPECT_EQ(options.width_px, 480);
  EXPECT_EQ(options.height_px, 0);
  EXPECT_EQ(to_string(options), "size=480x");
}

TEST(Options, FlagsTakeNothingTrueOrFalse) {
  ResizeOptions options;
  ASSERT_TRUE(set_option(options, "enlarge", ""));
  EXPECT_TRUE(options.enlarge);
  ASSERT_TRUE(set_option(options, "enlarge", "false"));
  EXPECT_FALSE(options.enlarge);
  ASSERT_TRUE(set_option(options, "no-auto-orient", ""));
  EXPECT_FALSE(options.auto_orient);
}

TEST(Options, SuffixesAreBinaryForBytesAndDecimalForPixels) {
  ResizeOptions options;
  ASSERT_TRUE(set_option(options, "max-input-bytes", "2k"));
  ASSERT_TRUE(set_option(options, "max-input-pixels", "2k"));
  EXPECT_EQ(options.limits.max_input_bytes, 2048u);
  EXPECT_EQ(options.limits.max_input_pixels, 2000u);
  ASSERT_TRUE(set_option(options, "max-input-bytes", "3K"));
  ASSERT_TRUE(set_option(options, "max-input-pixels", "3K"));
  EXPECT_EQ(options.limits.max_input_bytes, 3072u) << "as with k";
  EXPECT_EQ(options.limits.max_input_pixels, 3000u) << "as with k";
}

TEST(Options, DevicesAreOrdinalsOrAll) {
  std::vector<int> devices{7};
  for (const char* wrong :
       {"", ",", "0,", ",1", "0,,1", "-1", "+1", "0x1", "2147483648", "0, 1", "all,0"}) {
    EXPECT_FALSE(options::parse_devices(wrong, devices)) << wrong;
    EXPECT_EQ(devices, std::vector<int>{7}) << wrong;
  }
  ASSERT_TRUE(options::parse_devices("3,0,2147483647", devices));
  EXPECT_EQ(devices, (std::vector<int>{3, 0, 2147483647}));
  EXPECT_EQ(options::print_devices(devices), "3,0,2147483647");
  ASSERT_TRUE(options::parse_devices("all", devices));
  EXPECT_TRUE(devices.empty());
  EXPECT_EQ(options::print_devices(devices), "all");
}

TEST(Options, SeveralOptionsRoundTripTogether) {
  ResizeOptions options;
  const std::vector<std::pair<std::string, std::string>> set = {
      {"size", "480x270"}, {"resize", "fill"}, {"gravity", "fp:0.3333333333333333:1"},
      {"dpr", "2"},        {"codec", "turbo"}, {"deadline", "0"}};
  for (const auto& [name, value] : set) ASSERT_TRUE(set_option(options, name, value));
  const std::string text = to_string(options);
  EXPECT_EQ(text,
            "size=480x270 resize=fill gravity=fp:0.3333333333333333:1 dpr=2 codec=turbo "
            "deadline=0");
}

TEST(Options, UnknownNamesAreRefusedAndShownSafely) {
  ResizeOptions options;
  const auto set = set_option(options, "si\nze" + std::string(1000, 'x'), "1");
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().subject().find('\n'), std::string::npos);
  EXPECT_LT(set.error().subject().size(), 100u);
}

TEST(Options, ValidateChecksOptionsAgainstEachOther) {
  const auto refused_by = [](std::vector<std::pair<std::string, std::string>> set) -> std::string {
    ResizeOptions options;
    for (const auto& [name, value] : set) EXPECT_TRUE(set_option(options, name, value)) << name;
    const auto valid = validate(options);
    return valid ? "" : valid.error().subject();
  };
  EXPECT_EQ(refused_by({}), "");
  EXPECT_EQ(refused_by({{"size", "480x270"}, {"background", "ffffff"}}), "");
  EXPECT_EQ(refused_by({{"size", "480x"}, {"background", "ffffff"}}), "background");
  EXPECT_EQ(refused_by({{"background", "ffffff"}}), "background");
  ResizeOptions alone;
  ASSERT_TRUE(set_option(alone, "background", "d979E1"));
  EXPECT_TRUE(validate(alone).error().message().starts_with("alone it pads")) << "no padding given";
  // Beside what adds background it is a colour.
  EXPECT_EQ(refused_by({{"background", "ffffff"}, {"padding", "10"}}), "");
  EXPECT_EQ(refused_by({{"background", "ffffff"}, {"extend", "ce"}, {"size", "480x"}}), "");
  EXPECT_EQ(refused_by({{"background", "ffffff"}, {"extend-aspect-ratio", "ce"}}), "");
  EXPECT_EQ(refused_by({{"background", "ffffff"}, {"padding", "0"}}), "background");
  // A box bounds the output; how large that is depends on the input.
  EXPECT_EQ(refused_by({{"size", "1000000x"}, {"dpr", "2"}, {"max-output-side", "99"}}), "");
}

// Options set from code never pass through a parser; validate() must hold the same ranges.
TEST(Options, ValidateChecksRangesOfValuesSetFromCode) {
  const auto refused_by = [](auto change) -> std::string {
    ResizeOptions options;
    change(options);
    const auto valid = validate(options);
    return valid ? "" : valid.error().subject();
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(refused_by([](auto& o) { o.quality = 0; }), "quality");
  EXPECT_EQ(refused_by([](auto& o) { o.width_px = -1; }), "size");
  EXPECT_EQ(refused_by([](auto& o) { o.crop_height = -1; }), "crop");
  EXPECT_EQ(refused_by([&](auto& o) { o.crop_width = nan; }), "crop");
  EXPECT_EQ(refused_by([](auto& o) { o.crop_gravity = Gravity{static_cast<Gravity::Anchor>(11)}; }),
            "crop-gravity");
  EXPECT_EQ(refused_by([](auto& o) { o.min_width_px = -1; }), "min-size");
  EXPECT_EQ(refused_by([](auto& o) { o.max_result_side_px = -1; }), "max-result-side");
  EXPECT_EQ(refused_by([&](auto& o) { o.zoom_x = nan; }), "zoom");
  EXPECT_EQ(refused_by([](auto& o) { o.zoom_y = 0; }), "zoom");
  EXPECT_EQ(refused_by([](auto& o) { o.rotate = static_cast<Rotation>(4); }), "rotate");
  EXPECT_EQ(refused_by([](auto& o) { o.flip = static_cast<Flip>(4); }), "flip");
  EXPECT_EQ(refused_by([](auto& o) { o.padding.left_px = -1; }), "padding");
  EXPECT_EQ(refused_by([&](auto& o) { o.gravity.offset_y = nan; }), "gravity");
  EXPECT_EQ(refused_by([](auto& o) { o.extend = Gravity{.offset_x = 2e6}; }), "extend");
  EXPECT_EQ(refused_by([&](auto& o) { o.extend_aspect_ratio = Gravity{.offset_x = nan}; }),
            "extend-aspect-ratio");
  EXPECT_EQ(refused_by([&](auto& o) { o.dpr = nan; }), "dpr");
  EXPECT_EQ(refused_by([](auto& o) { o.sharpen_sigma = -1; }), "sharpen");
  EXPECT_EQ(refused_by([](auto& o) { o.kernel = static_cast<Kernel>(9); }), "kernel");
  EXPECT_EQ(refused_by([](auto& o) { o.codec = static_cast<CodecKind>(9); }), "codec");
  EXPECT_EQ(refused_by([](auto& o) { o.restart_interval_mcus = 70'000; }), "restart-interval");
  EXPECT_EQ(refused_by([&](auto& o) {
              o.gravity.anchor = Gravity::Anchor::kFocus;
              o.gravity.focus_y = nan;
            }),
            "gravity");
}

// −0 set from code means the same as 0, so it reads and hashes the same.
TEST(Options, ANegativeZeroIsZero) {
  const auto check = [](auto change, std::string_view name) {
    ResizeOptions negative;
    ResizeOptions positive;
    change(negative, -0.0);
    change(positive, 0.0);
    EXPECT_EQ(to_string(negative), to_string(positive));
    EXPECT_EQ(output_hash(negative), output_hash(positive));
    const std::string text = to_string(negative);
    if (text.empty()) return;
    ASSERT_TRUE(text.starts_with(std::string(name) + "=")) << text;
    ResizeOptions read;
    ASSERT_TRUE(set_option(read, name, text.substr(name.size() + 1)));
    EXPECT_EQ(to_string(read), text);
    EXPECT_EQ(output_hash(read), output_hash(negative));
  };
  check([](ResizeOptions& o, double zero) { o.sharpen_sigma = zero; }, "sharpen");
  check(
      [](ResizeOptions& o, double zero) {
        o.gravity.anchor = Gravity::Anchor::kNo;
        o.gravity.offset_x = 5;
        o.gravity.offset_y = zero;
      },
      "gravity");
  check(
      [](ResizeOptions& o, double zero) {
        o.gravity.anchor = Gravity::Anchor::kFocus;
        o.gravity.focus_x = zero;
        o.gravity.focus_y = 1;
      },
      "gravity");
  check([](ResizeOptions& o, double zero) { o.extend = Gravity{.offset_x = zero, .offset_y = 1}; },
        "extend");
  check([](ResizeOptions& o, double zero) { o.crop_width = zero; }, "crop");
}

TEST(Options, HashIsStableAndIgnoresCodecAndLimits) {
  ResizeOptions a;
  ResizeOptions b;
  ASSERT_TRUE(set_option(b, "codec", "reference"));
  ASSERT_TRUE(set_option(b, "deadline", "1"));
  EXPECT_EQ(output_hash(a), output_hash(b));
  EXPECT_EQ(output_hash(a).size(), 16u);
  ASSERT_TRUE(set_option(a, "quality", "81"));
  EXPECT_NE(output_hash(a), output_hash(b));
}

}  // namespace
}  // namespace framewire
