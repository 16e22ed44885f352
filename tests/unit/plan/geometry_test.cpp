// Sizes, crops and paddings: exact cases, the table of docs/geometry.md, and what must always hold.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <plan/plan.hpp>
#include <random>
#include <sstream>
#include <string>

namespace framewire::plan {
namespace {

ResizeOptions parse_options(const std::string& words) {
  ResizeOptions options;
  std::istringstream in(words);
  for (std::string word; in >> word;) {
    const auto equals = word.find('=');
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    const auto set = set_option(options, word.substr(0, equals), value);
    EXPECT_TRUE(set) << word << ": " << (set ? "" : set.error().to_string());
  }
  return options;
}

std::string name(const Rect& r) {
  return std::to_string(r.width) + "×" + std::to_string(r.height) + "+" + std::to_string(r.x) +
         "+" + std::to_string(r.y);
}

std::string size_name(std::int32_t width, std::int32_t height) {
  return std::to_string(width) + "×" + std::to_string(height);
}

/// "picture of part" or, padded, "picture of part at x,y in canvas".
std::string outcome(std::int32_t width, std::int32_t height, const std::string& words) {
  const auto g = make_geometry(width, height, parse_options(words));
  if (!g) return std::string(to_string(g.error().code())) + " " + g.error().subject();
  std::string text =
      size_name(g->picture_width_px, g->picture_height_px) + " of " + name(g->source);
  if (g->canvas_width_px != g->picture_width_px || g->canvas_height_px != g->picture_height_px) {
    text += " at " + std::to_string(g->offset_x_px) + "," + std::to_string(g->offset_y_px) +
            " in " + size_name(g->canvas_width_px, g->canvas_height_px);
  }
  return text;
}

TEST(Geometry, FitKeepsTheShapeInsideTheBox) {
  EXPECT_EQ(outcome(4000, 3000, ""), "4000×3000 of 4000×3000+0+0");
  EXPECT_EQ(outcome(4000, 3000, "size=1024"), "1024×768 of 4000×3000+0+0");
  EXPECT_EQ(outcome(4000, 3000, "size=x1024"), "1365×1024 of 4000×3000+0+0");
  EXPECT_EQ(outcome(4000, 3000, "size=1000x1000"), "1000×750 of 4000×3000+0+0");
  EXPECT_EQ(outcome(3000, 4000, "size=1000x1000"), "750×1000 of 3000×4000+0+0");
  EXPECT_EQ(outcome(101, 51, "size=50"), "50×25 of 101×51+0+0");
  EXPECT_EQ(outcome(3, 2, "size=1x1"), "1×1 of 3×2+0+0");
  EXPECT_EQ(outcome(1000, 1, "size=10x10"), "10×1 of 1000×1+0+0");
  EXPECT_EQ(outcome(1, 1000, "size=10x10"), "1×10 of 1×1000+0+0");
}

TEST(Geometry, HalvesRoundUp) {
  EXPECT_EQ(outcome(4, 3, "size=2"), "2×2 of 4×3+0+0");                  // 1.5
  EXPECT_EQ(outcome(8, 5, "size=4"), "4×3 of 8×5+0+0");                  // 2.5
  EXPECT_EQ(outcome(600, 9, "size=333 dpr=0.5"), "167×3 of 600×9+0+0");  // 166.5; 2.505
}

/// Digits of a decimal as a whole number, and the power of ten below it.
struct Fraction {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;
};

Fraction read_decimal(const std::string& text) {
  Fraction f;
  bool behind = false;
  for (const char c : text) {
    if (c == '.') {
      behind = true;
      continue;
    }
    f.numerator = 10 * f.numerator + (c - '0');
    if (behind) f.denominator *= 10;
  }
  return f;
}

std::string hundredths(int value) {
  std::string digits = std::to_string(value % 100);
  if (digits.size() == 1) digits.insert(0, "0");
  return std::to_string(value / 100) + "." + digits;
}

// 50 × 1.15 is 57.5, and as binary fractions less.
TEST(Geometry, DecimalsAreExact) {
  EXPECT_EQ(outcome(4000, 3000, "size=50x50 dpr=1.15 resize=force"), "58×58 of 4000×3000+0+0");
  EXPECT_EQ(outcome(4000, 3000, "size=10x10 dpr=0.45 resize=force"), "5×5 of 4000×3000+0+0");
  // 0.29 × 100 − 0.5 × 7 = 25.5.
  EXPECT_EQ(outcome(100, 100, "crop=7x7 gravity=fp:0.29:0.29"), "7×7 of 7×7+26+26");
  EXPECT_EQ(outcome(4000, 4000, "size=100x100 background=ffffff gravity=fp:0.29:0.58"),
            "100×100 of 4000×4000+0+0");
  EXPECT_EQ(outcome(10, 10, "size=110x110 background=ffffff gravity=fp:0.29:0.58"),
            "10×10 of 10×10+0+0 at 29,58 in 110×110");
}

TEST(Geometry, SizesTimesDprAreThoseOfFractions) {
  int wrong = 0;
  int halves = 0;
  for (int step = 10; step <= 1000; ++step) {
    const std::string dpr = hundredths(step);
    const Fraction f = read_decimal(dpr);
    ResizeOptions options = parse_options("resize=force enlarge dpr=" + dpr);
    for (std::int32_t side = 1; side < 1500; side += 1 + side / 60) {
      options.width_px = options.height_px = side;
      const std::int64_t twice = 2 * side * f.numerator;
      halves += twice % f.denominator == 0 && twice / f.denominator % 2 == 1 ? 1 : 0;
      const std::int64_t exact =
          std::max<std::int64_t>(1, (twice + f.denominator) / (2 * f.denominator));
      const auto g = make_geometry(4, 3, options);
      if (g ? g->canvas_width_px != exact || g->canvas_height_px != exact : exact <= 3000) ++wrong;
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(halves, 1000);
}

TEST(Geometry, PartsAroundAFocusPointAreThoseOfFractions) {
  int wrong = 0;
  for (const std::int32_t whole : {1, 7, 100, 1001, 4032, 65'000}) {
    for (const std::int32_t part : {1, 2, 33, 100, 999, 2001}) {
      if (part > whole) continue;
      for (int thousandth = 0; thousandth <= 1000; ++thousandth) {
        const std::string at =
            thousandth == 1000 ? "1" : "0." + std::to_string(1000 + thousandth).substr(1);
        ResizeOptions options = parse_options("max-output-side=65500 gravity=fp:" + at + ":" + at);
        options.crop_width = part;
        options.crop_height = 1;
        const std::int64_t twice = 2 * std::int64_t{thousandth} * whole - 1000 * std::int64_t{part};
        // twice / 2000, halves up; what is below 0 is moved to 0 anyway.
        const std::int64_t exact =
            twice < 0 ? 0 : std::min<std::int64_t>(whole - part, (twice + 1000) / 2000);
        const auto g = make_geometry(whole, 1, options);
        if (!g || g->source.x != exact) ++wrong;
      }
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Geometry, MoreDigitsThanNineRoundToTheNearestBillionth) {
  EXPECT_EQ(outcome(4000, 3000, "size=50x50 dpr=1.14999999949 resize=force"),
            "57×57 of 4000×3000+0+0");
  EXPECT_EQ(outcome(4000, 3000, "size=50x50 dpr=1.14999999951 resize=force"),
            "58×58 of 4000×3000+0+0");
  EXPECT_EQ(outcome(3, 3, "crop=1x1 gravity=fp:0.3333333333333333:0.6666666666666667"),
            "1×1 of 1×1+0+2");
}

// The crop lies round the point, and what fill cuts off it does too.
TEST(Geometry, AFocusPointNamesOnePlaceInThePicture) {
  // The point is (300, 75), in the middle of the square.
  EXPECT_EQ(outcome(400, 300, "crop=200x100 gravity=fp:0.75:0.25"), "200×100 of 200×100+200+25");
  EXPECT_EQ(outcome(400, 300, "crop=200x100 gravity=fp:0.75:0.25 size=50x50 resize=fill"),
            "50×50 of 100×100+250+25");
  EXPECT_EQ(outcome(400, 300, "gravity=fp:0.75:0.25 size=50x50 resize=fill crop=200x100"),
            "50×50 of 100×100+250+25");
  // The crop could not lie round the point: the square goes as far towards it as the crop does.
  EXPECT_EQ(outcome(400, 300, "crop=200x100 gravity=fp:1:0 size=50x50 resize=fill"),
            "50×50 of 100×100+300+0");
  EXPECT_EQ(outcome(400, 300, "crop=200x100 gravity=fp:0.1:0.5 size=50x50 resize=fill"),
            "50×50 of 100×100+0+100");
  // Anchors are of what each step cuts from.
  EXPECT_EQ(outcome(400, 300, "crop=200x100 gravity=ea size=50x50 resize=fill"),
            "50×50 of 100×100+300+100");
}

TEST(Geometry, OnlyEnlargeEnlarges) {
  EXPECT_EQ(outcome(40, 30, "size=80x80"), "40×30 of 40×30+0+0");
  EXPECT_EQ(outcome(40, 30, "size=80x80 enlarge"), "80×60 of 40×30+0+0");
  EXPECT_EQ(outcome(40, 30, "size=80x15"), "20×15 of 40×30+0+0");
  EXPECT_EQ(outcome(40, 30, "size=80x20 resize=force"), "40×20 of 40×30+0+0");
  EXPECT_EQ(outcome(40, 30, "size=80x20 resize=force enlarge"), "80×20 of 40×30+0+0");
  EXPECT_EQ(outcome(40, 30, "size=80 resize=force"), "40×30 of 40×30+0+0");
  EXPECT_EQ(outcome(1, 1, "size=3x2 resize=force enlarge"), "3×2 of 1×1+0+0");
}

TEST(Geometry, FillCoversTheBoxAndCutsTheRest) {
  EXPECT_EQ(outcome(400, 300, "size=100x100 resize=fill"), "100×100 of 300×300+50+0");
  EXPECT_EQ(outcome(300, 400, "size=100x100 resize=fill"), "100×100 of 300×300+0+50");
  EXPECT_EQ(outcome(400, 300, "size=200x50 resize=fill"), "200×50 of 400×100+0+100");
  EXPECT_EQ(outcome(40, 30, "size=80x60 resize=fill"), "40×30 of 40×30+0+0");
  EXPECT_EQ(outcome(40, 30, "size=80x20 resize=fill"), "40×20 of 40×20+0+5");
  EXPECT_EQ(outcome(40, 30, "size=80x20 resize=fill enlarge"), "80×20 of 40×10+0+10");
  EXPECT_EQ(outcome(40, 30, "size=20 resize=fill"), "20×15 of 40×30+0+0");
}

TEST(Geometry, FillDownKeepsTheBoxShape) {
  EXPECT_EQ(outcome(40, 30, "size=80x20 resize=fill-down"), "40×10 of 40×10+0+10");
  EXPECT_EQ(outcome(40, 30, "size=100x100 resize=fill-down"), "30×30 of 30×30+5+0");
  EXPECT_EQ(outcome(400, 300, "size=100x100 resize=fill-down"), "100×100 of 300×300+50+0");
  EXPECT_EQ(outcome(40, 30, "size=80x20 resize=fill-down enlarge"), "80×20 of 40×10+0+10");
}

TEST(Geometry, AutoFillsWhereTheShapesAgree) {
  EXPECT_EQ(outcome(400, 300, "size=100x60 resize=auto"), "100×60 of 400×240+0+30");
  EXPECT_EQ(outcome(400, 300, "size=60x100 resize=auto"), "60×45 of 400×300+0+0");
  EXPECT_EQ(outcome(300, 300, "size=60x100 resize=auto"), "60×100 of 180×300+60+0");
}

TEST(Geometry, CropComesFirstAndObeysGravity) {
  EXPECT_EQ(outcome(400, 300, "crop=200x100"), "200×100 of 200×100+100+100");
  EXPECT_EQ(outcome(401, 301, "crop=200x100"), "200×100 of 200×100+100+100");  // 100.5 rounds down
  EXPECT_EQ(outcome(400, 300, "crop=200"), "200×300 of 200×300+100+0");
  EXPECT_EQ(outcome(400, 300, "crop=900x100"), "400×100 of 400×100+0+100");
  EXPECT_EQ(outcome(400, 300, "crop=200x100 size=50"), "50×25 of 200×100+100+100");
  EXPECT_EQ(outcome(400, 300, "crop=200x200 size=100x50 resize=fill gravity=nowe"),
            "100×50 of 200×100+0+0");
  EXPECT_EQ(outcome(1, 1, "crop=1x1"), "1×1 of 1×1+0+0");
}

TEST(Geometry, EveryAnchor) {
  const std::pair<const char*, const char*> anchors[] = {
      {"no", "50+0"},         {"so", "50+60"},   {"ea", "100+30"},     {"we", "0+30"},
      {"noea", "100+0"},      {"nowe", "0+0"},   {"soea", "100+60"},   {"sowe", "0+60"},
      {"ce", "50+30"},        {"fp:0:0", "0+0"}, {"fp:1:1", "100+60"}, {"fp:0.5:0.5", "50+30"},
      {"fp:0.4:0.4", "30+20"}};
  for (const auto& [gravity, at] : anchors) {
    EXPECT_EQ(outcome(200, 100, std::string("crop=100x40 gravity=") + gravity),
              std::string("100×40 of 100×40+") + at)
        << gravity;
  }
}

TEST(Geometry, DprMultipliesTheBoxButNotTheCrop) {
  EXPECT_EQ(outcome(4000, 3000, "size=100x100 dpr=2"), "200×150 of 4000×3000+0+0");
  EXPECT_EQ(outcome(4000, 3000, "size=333 dpr=1.5"), "500×375 of 4000×3000+0+0");  // 499.5
  EXPECT_EQ(outcome(4000, 3000, "crop=400x400 size=100 dpr=2"), "200×200 of 400×400+1800+1300");
}

TEST(Geometry, BackgroundPadsToTheBox) {
  const std::string white = " background=ffffff";
  EXPECT_EQ(outcome(400, 300, "size=100x100" + white), "100×75 of 400×300+0+0 at 0,12 in 100×100");
  EXPECT_EQ(outcome(40, 30, "size=100x100" + white), "40×30 of 40×30+0+0 at 30,35 in 100×100");
  EXPECT_EQ(outcome(40, 30, "size=100x100 gravity=soea" + white),
            "40×30 of 40×30+0+0 at 60,70 in 100×100");
  EXPECT_EQ(outcome(40, 30, "size=50x50 dpr=2 gravity=fp:0.25:0" + white),
            "40×30 of 40×30+0+0 at 15,0 in 100×100");
  EXPECT_EQ(outcome(400, 300, "size=100x100 resize=fill" + white), "100×100 of 300×300+50+0");
}

TEST(Geometry, LimitsNameThemselves) {
  EXPECT_EQ(outcome(65500, 1, ""), "too_large max-output-side");
  EXPECT_EQ(outcome(16384, 1, ""), "16384×1 of 16384×1+0+0");
  EXPECT_EQ(outcome(16385, 1, ""), "too_large max-output-side");
  EXPECT_EQ(outcome(10000, 5000, ""), "10000×5000 of 10000×5000+0+0");
  EXPECT_EQ(outcome(10000, 5001, ""), "too_large max-output-pixels");
  EXPECT_EQ(outcome(1, 65500, "size=65500 enlarge"), "too_large max-output-side");
  EXPECT_EQ(outcome(10, 10, "size=11x10 background=000000 max-output-side=10"),
            "too_large max-output-side");
  ResizeOptions wide;
  wide.limits.max_output_side_px = 100'000;
  EXPECT_EQ(make_geometry(65'501, 1, wide).error().code(), StatusCode::kTooLarge)
      << "a JPEG side ends at 65,500";
  EXPECT_TRUE(make_geometry(65'500, 1, wide));
}

TEST(Geometry, HugeRequestsOverflowNothing) {
  ResizeOptions options;
  options.width_px = 2'000'000'000;
  EXPECT_EQ(make_geometry(40, 30, options)->picture_width_px, 40);
  options.enlarge = true;
  options.dpr = 1e9;
  for (const auto mode : {ResizeMode::kFit, ResizeMode::kFill, ResizeMode::kFillDown,
                          ResizeMode::kForce, ResizeMode::kAuto}) {
    options.resize = mode;
    options.height_px = mode == ResizeMode::kFit ? 0 : 2'000'000'000;
    EXPECT_EQ(make_geometry(1, 65'500, options).error().code(), StatusCode::kTooLarge);
  }
}

TEST(Geometry, AnImageWithoutPixelsIsRefused) {
  EXPECT_EQ(make_geometry(0, 5, {}).error().code(), StatusCode::kInvalidInput);
  EXPECT_EQ(make_geometry(5, -1, {}).error().code(), StatusCode::kInvalidInput);
}

/// Cells of a table row, without blanks and backquotes around them.
std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> out;
  if (line.empty() || line[0] != '|') return out;
  std::istringstream in(line.substr(1));
  for (std::string cell; std::getline(in, cell, '|');) {
    const auto first = cell.find_first_not_of(" `");
    const auto last = cell.find_last_not_of(" `");
    out.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
  }
  return out;
}

/// Rows such as "| 400×300 | `size=100` | 100×75 of 400×300+0+0 |".
TEST(Geometry, TheDocumentedTableIsTrue) {
  const auto path = std::filesystem::path(FRAMEWIRE_DOCS) / "geometry.md";
  std::ifstream in(path);
  ASSERT_TRUE(in) << path;
  int rows = 0;
  for (std::string line; std::getline(in, line);) {
    const auto row = cells(line);
    int width = 0, height = 0;
    if (row.size() != 3 || std::sscanf(row[0].c_str(), "%d×%d", &width, &height) != 2) continue;
    ++rows;
    EXPECT_EQ(outcome(width, height, row[1]), row[2]) << line;
  }
  EXPECT_GE(rows, 20);
}

/// A random request, and the sizes that its box and crop come to.
struct Draw {
  std::int32_t width = 1;
  std::int32_t height = 1;
  ResizeOptions options;
  std::int64_t want_width = 0;
  std::int64_t want_height = 0;
  std::int64_t crop_width = 1;
  std::int64_t crop_height = 1;
};

class Requests {
 public:
  explicit Requests(unsigned seed) : random_(seed) {}

  Draw next() {
    Draw d;
    d.width = side();
    d.height = side();
    ResizeOptions& o = d.options;
    if (below(5) != 0) o.width_px = side();
    if (below(5) != 0) o.height_px = side();
    o.resize = static_cast<ResizeMode>(below(5));
    o.enlarge = below(2) == 0;
    if (below(3) == 0) o.crop_width = side();
    if (below(3) == 0) o.crop_height = side();
    o.gravity.anchor = static_cast<Gravity::Anchor>(below(10));
    o.gravity.focus_x = below(1001) / 1000.0;
    o.gravity.focus_y = below(1001) / 1000.0;
    constexpr double kDprs[] = {1.0, 1.0, 2.0, 1.5, 0.37, 3.0};
    o.dpr = kDprs[below(6)];
    o.has_background = o.width_px != 0 && o.height_px != 0 && below(3) == 0;
    o.limits.max_output_side_px = 65'500;
    o.limits.max_output_pixels = 1'000'000'000'000;
    d.want_width = want(o.width_px, o.dpr);
    d.want_height = want(o.height_px, o.dpr);
    d.crop_width = o.crop_width == 0 ? d.width : std::min(o.crop_width, d.width);
    d.crop_height = o.crop_height == 0 ? d.height : std::min(o.crop_height, d.height);
    return d;
  }

 private:
  unsigned below(unsigned n) { return static_cast<unsigned>(random_()) % n; }
  /// Small and large sides alike.
  std::int32_t side() { return 1 + static_cast<std::int32_t>(below(1u << (1 + below(13)))); }
  static std::int64_t want(std::int32_t px, double dpr) {
    // All of kDprs are hundredths.
    const std::int64_t hundredths = std::llround(dpr * 100);
    return px == 0 ? 0 : std::max<std::int64_t>(1, (px * hundredths + 50) / 100);
  }
  std::mt19937 random_;
};

void expect_inside(const Draw& d, const Geometry& g) {
  EXPECT_GE(g.source.x, 0);
  EXPECT_GE(g.source.y, 0);
  EXPECT_GE(g.source.width, 1);
  EXPECT_GE(g.source.height, 1);
  EXPECT_LE(g.source.x + g.source.width, d.width);
  EXPECT_LE(g.source.y + g.source.height, d.height);
  EXPECT_LE(g.source.width, d.crop_width);
  EXPECT_LE(g.source.height, d.crop_height);
  EXPECT_GE(g.picture_width_px, 1);
  EXPECT_GE(g.picture_height_px, 1);
  EXPECT_GE(g.offset_x_px, 0);
  EXPECT_GE(g.offset_y_px, 0);
  EXPECT_LE(g.offset_x_px + g.picture_width_px, g.canvas_width_px);
  EXPECT_LE(g.offset_y_px + g.picture_height_px, g.canvas_height_px);
  const bool pads = d.options.has_background;
  EXPECT_EQ(g.canvas_width_px,
            pads ? std::max<std::int64_t>(d.want_width, g.picture_width_px) : g.picture_width_px);
  EXPECT_EQ(g.canvas_height_px, pads ? std::max<std::int64_t>(d.want_height, g.picture_height_px)
                                     : g.picture_height_px);
  if (!d.options.enlarge) {
    EXPECT_LE(g.picture_width_px, g.source.width);
    EXPECT_LE(g.picture_height_px, g.source.height);
  }
}

/// Whether a:b is c:d but for rounding one of a and b to whole pixels (and up to 1).
bool same_shape(double a, double b, double c, double d) {
  const auto near = [](double whole, double exact) {
    return std::fabs(whole - exact) <= 0.5 + 1e-9 || (whole == 1 && exact < 1);
  };
  return near(a, b * c / d) || near(b, a * d / c);
}

void expect_fit(const Draw& d, const Geometry& g) {
  EXPECT_EQ(g.source.width, d.crop_width);
  EXPECT_EQ(g.source.height, d.crop_height);
  EXPECT_TRUE(same_shape(g.picture_width_px, g.picture_height_px, g.source.width, g.source.height));
  const bool whole = g.picture_width_px == g.source.width && g.picture_height_px == g.source.height;
  if (d.want_width == 0 && d.want_height == 0) {
    EXPECT_TRUE(whole);
    return;
  }
  EXPECT_TRUE(d.want_width == 0 || g.picture_width_px <= d.want_width);
  EXPECT_TRUE(d.want_height == 0 || g.picture_height_px <= d.want_height);
  const bool touches = g.picture_width_px == d.want_width || g.picture_height_px == d.want_height;
  EXPECT_TRUE(touches || (whole && !d.options.enlarge));
}

void expect_fill(const Draw& d, const Geometry& g) {
  if (d.options.enlarge) {
    EXPECT_EQ(g.picture_width_px, d.want_width);
    EXPECT_EQ(g.picture_height_px, d.want_height);
  } else {
    EXPECT_EQ(g.picture_width_px, std::min(d.want_width, d.crop_width));
    EXPECT_EQ(g.picture_height_px, std::min(d.want_height, d.crop_height));
  }
  EXPECT_TRUE(same_shape(g.source.width, g.source.height, g.picture_width_px, g.picture_height_px));
  const bool spans = g.source.width == d.crop_width || g.source.height == d.crop_height;
  EXPECT_TRUE(spans) << "more of the crop could be shown";
}

void expect_fill_down(const Draw& d, const Geometry& g) {
  if (d.options.enlarge || (d.want_width <= d.crop_width && d.want_height <= d.crop_height)) {
    return expect_fill(d, g);
  }
  EXPECT_TRUE(g.picture_width_px == d.crop_width || g.picture_height_px == d.crop_height);
  EXPECT_TRUE(same_shape(g.picture_width_px, g.picture_height_px, static_cast<double>(d.want_width),
                         static_cast<double>(d.want_height)));
  EXPECT_EQ(g.source.width, g.picture_width_px) << "clamped requests keep pixels 1:1";
  EXPECT_EQ(g.source.height, g.picture_height_px);
}

void expect_force(const Draw& d, const Geometry& g) {
  const auto side = [&](std::int64_t want, std::int64_t crop) {
    return d.options.enlarge ? want : std::min(want, crop);
  };
  EXPECT_EQ(g.picture_width_px, side(d.want_width, d.crop_width));
  EXPECT_EQ(g.picture_height_px, side(d.want_height, d.crop_height));
  EXPECT_EQ(g.source.width, d.crop_width);
  EXPECT_EQ(g.source.height, d.crop_height);
}

bool agree(std::int64_t w, std::int64_t h, std::int64_t w2, std::int64_t h2) {
  return w == h || w2 == h2 || (w > h) == (w2 > h2);
}

void expect_mode(const Draw& d, const Geometry& g) {
  if (d.want_width == 0 || d.want_height == 0) return expect_fit(d, g);
  switch (d.options.resize) {
    case ResizeMode::kFit:
      return expect_fit(d, g);
    case ResizeMode::kFill:
      return expect_fill(d, g);
    case ResizeMode::kFillDown:
      return expect_fill_down(d, g);
    case ResizeMode::kForce:
      return expect_force(d, g);
    case ResizeMode::kAuto:
      return agree(d.crop_width, d.crop_height, d.want_width, d.want_height) ? expect_fill(d, g)
                                                                             : expect_fit(d, g);
  }
}

TEST(Geometry, RandomRequestsKeepTheRules) {
  Requests requests(20240531);
  int made = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Draw d = requests.next();
    const auto g = make_geometry(d.width, d.height, d.options);
    SCOPED_TRACE(size_name(d.width, d.height) + " " + to_string(d.options));
    if (!g) {
      ASSERT_EQ(g.error().code(), StatusCode::kTooLarge);
      continue;
    }
    ++made;
    expect_inside(d, *g);
    expect_mode(d, *g);
    if (HasFailure()) return;
  }
  EXPECT_GT(made, 19'000);
}

}  // namespace
}  // namespace framewire::plan
