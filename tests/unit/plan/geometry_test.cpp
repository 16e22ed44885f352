// Sizes, crops and paddings: exact cases and the table of docs/geometry.md.
#include <gtest/gtest.h>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <plan/plan.hpp>
#include <sstream>
#include <string>
#include <vector>

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

/// To a hundredth, without zeros at the end.
std::string short_number(double value) {
  std::ostringstream out;
  out << std::round(value * 100) / 100;
  return out.str();
}

std::string name(const SourceRect& r) {
  return short_number(r.width) + "×" + short_number(r.height) + "+" + short_number(r.x) + "+" +
         short_number(r.y);
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

// The same numbers in exact arithmetic: 2.5, 28.5, 361.5, 57.5.
TEST(Geometry, ExactHalvesFallWhereDoublesPutThem) {
  EXPECT_EQ(outcome(8, 5, "size=4"), "4×3 of 8×5+0+0");
  EXPECT_EQ(outcome(4000, 3000, "size=38"), "38×28 of 4000×3000+0+0");
  EXPECT_EQ(outcome(4000, 3000, "size=482"), "482×361 of 4000×3000+0+0");
  EXPECT_EQ(outcome(4000, 3000, "size=50x50 dpr=1.15 resize=force"), "57×57 of 4000×3000+0+0");
}

TEST(Geometry, OnlyEnlargeEnlarges) {
  EXPECT_EQ(outcome(40, 30, "size=80x80"), "40×30 of 40×30+0+0");
  EXPECT_EQ(outcome(40, 30, "size=80x80 enlarge"), "80×60 of 40×30+0+0");
  EXPECT_EQ(outcome(40, 30, "size=80x15"), "20×15 of 40×30+0+0");
  EXPECT_EQ(outcome(40, 30, "size=80 resize=force"), "40×15 of 40×30+0+0");
  EXPECT_EQ(outcome(1, 1, "size=3x2 resize=force enlarge"), "3×2 of 1×1+0+0");
}

TEST(Geometry, ForceDistortsAsAskedAlsoWhereItMayNotEnlarge) {
  EXPECT_EQ(outcome(40, 30, "size=80x20 resize=force"), "40×10 of 40×30+0+0");
  EXPECT_EQ(outcome(40, 30, "size=20x80 resize=force"), "8×30 of 40×30+0+0");
  EXPECT_EQ(outcome(40, 30, "size=80x20 resize=force enlarge"), "80×20 of 40×30+0+0");
  EXPECT_EQ(outcome(400, 300, "size=100 resize=force"), "100×300 of 400×300+0+0");
  EXPECT_EQ(outcome(400, 300, "size=800 resize=force enlarge"), "800×300 of 400×300+0+0");
}

TEST(Geometry, FillCoversTheBoxAndCutsTheRest) {
  // 133 × 100 pixels, of which 17 are cut off at the left and 16 at the right.
  EXPECT_EQ(outcome(400, 300, "size=100x100 resize=fill"), "100×100 of 300×300+51.52+0");
  EXPECT_EQ(outcome(300, 400, "size=100x100 resize=fill"), "100×100 of 300×300+0+51.52");
  EXPECT_EQ(outcome(400, 300, "size=200x50 resize=fill"), "200×50 of 400×100+0+100");
  EXPECT_EQ(outcome(40, 30, "size=80x60 resize=fill"), "40×30 of 40×30+0+0");
  EXPECT_EQ(outcome(40, 30, "size=80x20 resize=fill"), "40×20 of 40×20+0+6");
  EXPECT_EQ(outcome(40, 30, "size=80x20 resize=fill enlarge"), "80×20 of 40×10+0+10");
  EXPECT_EQ(outcome(40, 30, "size=20 resize=fill"), "20×15 of 40×30+0+0");
}

TEST(Geometry, FillDownKeepsTheBoxShape) {
  EXPECT_EQ(outcome(40, 30, "size=80x20 resize=fill-down"), "40×10 of 40×10+0+10");
  EXPECT_EQ(outcome(40, 30, "size=100x100 resize=fill-down"), "30×30 of 30×30+6+0");
  EXPECT_EQ(outcome(400, 300, "size=100x100 resize=fill-down"), "100×100 of 300×300+51.52+0");
  EXPECT_EQ(outcome(40, 30, "size=80x20 resize=fill-down enlarge"), "80×20 of 40×10+0+10");
  // A side that would be nothing is not cut.
  EXPECT_EQ(outcome(40, 30, "size=1000x1 resize=fill-down"), "40×30 of 40×30+0+0");
}

TEST(Geometry, AutoFillsWhereTheShapesAgree) {
  EXPECT_EQ(outcome(400, 300, "size=100x60 resize=auto"), "100×60 of 400×240+0+32");
  EXPECT_EQ(outcome(400, 300, "size=60x100 resize=auto"), "60×45 of 400×300+0+0");
  // A square is wide.
  EXPECT_EQ(outcome(300, 300, "size=60x100 resize=auto"), "60×60 of 300×300+0+0");
  EXPECT_EQ(outcome(300, 400, "size=100x100 resize=auto"), "75×100 of 300×400+0+0");
  EXPECT_EQ(outcome(400, 300, "size=100x100 resize=auto"), "100×100 of 300×300+51.52+0");
}

TEST(Geometry, CropComesFirstAndObeysGravity) {
  EXPECT_EQ(outcome(400, 300, "crop=200x100"), "200×100 of 200×100+100+100");
  EXPECT_EQ(outcome(401, 301, "crop=200x100"), "200×100 of 200×100+101+101");
  EXPECT_EQ(outcome(402, 300, "crop=100x100"), "100×100 of 100×100+152+100");
  EXPECT_EQ(outcome(400, 300, "crop=200"), "200×300 of 200×300+100+0");
  EXPECT_EQ(outcome(400, 300, "crop=900x100"), "400×100 of 400×100+0+100");
  EXPECT_EQ(outcome(400, 300, "crop=200x100 size=50"), "50×25 of 200×100+100+100");
  EXPECT_EQ(outcome(400, 300, "crop=200x200 size=100x50 resize=fill gravity=nowe"),
            "100×50 of 200×100+0+0");
  EXPECT_EQ(outcome(1, 1, "crop=1x1"), "1×1 of 1×1+0+0");
}

TEST(Geometry, CropTakesFractionsOfASide) {
  EXPECT_EQ(outcome(401, 301, "crop=0.5x0.25 gravity=nowe"), "201×75 of 201×75+0+0");
  EXPECT_EQ(outcome(400, 300, "crop=0.5x100 gravity=nowe"), "200×100 of 200×100+0+0");
  EXPECT_EQ(outcome(400, 300, "crop=x0.1 gravity=nowe"), "400×30 of 400×30+0+0");
  EXPECT_EQ(outcome(400, 300, "crop=0.0001x0.0001 gravity=nowe"), "1×1 of 1×1+0+0");
  EXPECT_EQ(outcome(400, 300, "crop=100.9x99.9 gravity=nowe"), "100×99 of 100×99+0+0");
}

TEST(Geometry, CropMayLieApartFromGravity) {
  EXPECT_EQ(outcome(400, 300, "crop=200x200 crop-gravity=noea size=100x50 resize=fill gravity=so"),
            "100×50 of 200×100+200+100");
  EXPECT_EQ(outcome(400, 300, "crop=200x200 crop-gravity=noea:10:20"), "200×200 of 200×200+190+20");
  // Without one of its own it obeys gravity, offset and all.
  EXPECT_EQ(outcome(400, 300, "crop=200x200 gravity=noea:10:20"), "200×200 of 200×200+190+20");
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

// Towards the middle from an edge; to the right and down from the centre; never out of the picture.
TEST(Geometry, OffsetsMoveFromEveryAnchor) {
  const std::pair<const char*, const char*> offsets[] = {
      {"no:7:3", "57+3"},         {"so:7:3", "57+57"},        {"ea:7:3", "93+33"},
      {"we:7:3", "7+33"},         {"noea:7:3", "93+3"},       {"nowe:7:3", "7+3"},
      {"soea:7:3", "93+57"},      {"sowe:7:3", "7+57"},       {"ce:7:3", "57+33"},
      {"ce:-7:-3", "43+27"},      {"nowe:-7:-3", "0+0"},      {"ce:500:-500", "100+0"},
      {"nowe:0.1:0.25", "20+25"}, {"soea:0.1:0.25", "80+35"}, {"nowe:7", "7+0"},
      {"ce:-0.1:0.1", "30+40"}};
  for (const auto& [gravity, at] : offsets) {
    EXPECT_EQ(outcome(200, 100, std::string("crop=100x40 gravity=") + gravity),
              std::string("100×40 of 100×40+") + at)
        << gravity;
  }
}

TEST(Geometry, OffsetsInPixelsGrowWithDprButNotInCrop) {
  EXPECT_EQ(outcome(400, 300, "size=100x100 resize=fill gravity=nowe:10:0"),
            "100×100 of 300×300+30.3+0");
  EXPECT_EQ(outcome(400, 300, "size=50x50 dpr=2 resize=fill gravity=nowe:10:0"),
            "100×100 of 300×300+60.61+0");
  EXPECT_EQ(outcome(400, 300, "crop=100x100 gravity=nowe:10:20 size=20 dpr=2"),
            "40×40 of 100×100+10+20");
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
  // Where crop has a gravity of its own, the point is one of what crop leaves.
  EXPECT_EQ(
      outcome(400, 300, "crop=200x100 crop-gravity=ea gravity=fp:0.75:0 size=50x50 resize=fill"),
      "50×50 of 100×100+300+100");
  // Anchors are of what each step cuts from.
  EXPECT_EQ(outcome(400, 300, "crop=200x100 gravity=ea size=50x50 resize=fill"),
            "50×50 of 100×100+300+100");
}

TEST(Geometry, DprMultipliesTheBoxButNotTheCrop) {
  EXPECT_EQ(outcome(4000, 3000, "size=100x100 dpr=2"), "200×150 of 4000×3000+0+0");
  EXPECT_EQ(outcome(4000, 3000, "size=333 dpr=1.5"), "500×375 of 4000×3000+0+0");  // 499.5
  EXPECT_EQ(outcome(4000, 3000, "crop=400x400 size=100 dpr=2"), "200×200 of 400×400+1800+1300");
  EXPECT_EQ(outcome(1920, 1080, "size=101x101 dpr=1.5"), "152×85 of 1920×1080+0+0");
}

TEST(Geometry, DprEndsWhereTheSourceHasNoMorePixels) {
  EXPECT_EQ(outcome(400, 300, "size=100x100 dpr=4 resize=fill"), "300×300 of 300×300+50+0");
  EXPECT_EQ(outcome(400, 300, "size=100x100 dpr=4 resize=fill enlarge"),
            "400×400 of 300×300+50.38+0");
  EXPECT_EQ(outcome(400, 300, "dpr=2"), "400×300 of 400×300+0+0");
  EXPECT_EQ(outcome(400, 300, "dpr=2 enlarge"), "800×600 of 400×300+0+0");
  EXPECT_EQ(outcome(400, 300, "dpr=0.5"), "200×150 of 400×300+0+0");
  // A box that the source cannot fill makes up for a small dpr.
  EXPECT_EQ(outcome(200, 100, "size=300x300 dpr=0.5"), "150×75 of 200×100+0+0");
}

TEST(Geometry, ZoomMultipliesTheBoxOrThePicture) {
  EXPECT_EQ(outcome(400, 300, "size=100 zoom=1.5x0.5"), "150×38 of 400×300+0+0");
  EXPECT_EQ(outcome(400, 300, "zoom=0.5"), "200×150 of 400×300+0+0");
  EXPECT_EQ(outcome(400, 300, "zoom=2"), "400×300 of 400×300+0+0");
  EXPECT_EQ(outcome(400, 300, "zoom=2 enlarge"), "800×600 of 400×300+0+0");
  EXPECT_EQ(outcome(400, 300, "size=100x100 resize=fill zoom=2"), "200×200 of 300×300+50.75+0");
}

TEST(Geometry, MinSizeGrowsAndCuts) {
  EXPECT_EQ(outcome(400, 300, "size=100 min-size=x150"), "100×150 of 200×300+100+0");
  EXPECT_EQ(outcome(400, 300, "size=100 min-size=50x50"), "100×75 of 400×300+0+0");
  EXPECT_EQ(outcome(40, 30, "min-size=80x"), "80×60 of 40×30+0+0") << "whatever enlarge says";
}

TEST(Geometry, MaxResultSideMakesSmaller) {
  EXPECT_EQ(outcome(4000, 3000, "max-result-side=1000"), "1000×750 of 4000×3000+0+0");
  EXPECT_EQ(outcome(4000, 3000, "size=500 max-result-side=1000"), "500×375 of 4000×3000+0+0");
  EXPECT_EQ(outcome(4000, 3000, "size=50 padding=100 max-result-side=100"),
            "20×15 of 4000×3000+0+0 at 40,40 in 100×95");
  EXPECT_EQ(outcome(400, 300, "size=300x300 enlarge extend=ce max-result-side=100"),
            "100×75 of 400×300+0+0 at 0,13 in 100×100");
}

TEST(Geometry, BackgroundPadsToTheBox) {
  const std::string white = " background=ffffff";
  EXPECT_EQ(outcome(400, 300, "size=100x100" + white), "100×75 of 400×300+0+0 at 0,13 in 100×100");
  EXPECT_EQ(outcome(40, 30, "size=100x100" + white), "40×30 of 40×30+0+0 at 30,36 in 100×100");
  EXPECT_EQ(outcome(40, 30, "size=100x100 gravity=soea" + white),
            "40×30 of 40×30+0+0 at 60,70 in 100×100");
  EXPECT_EQ(outcome(40, 30, "size=100x100 gravity=fp:0.25:0" + white),
            "40×30 of 40×30+0+0 at 5,0 in 100×100");
  EXPECT_EQ(outcome(400, 300, "size=100x100 resize=fill" + white), "100×100 of 300×300+51.52+0");
  // With what adds background it is a colour and no more.
  EXPECT_EQ(outcome(40, 30, "size=100x100 padding=1" + white),
            "40×30 of 40×30+0+0 at 1,1 in 42×32");
  EXPECT_EQ(outcome(40, 30, "size=100x100 extend-aspect-ratio=no" + white),
            "40×30 of 40×30+0+0 at 0,0 in 40×40");
}

TEST(Geometry, ExtendAddsBackgroundUpToTheBox) {
  EXPECT_EQ(outcome(400, 300, "size=100x100 extend=ce"),
            "100×75 of 400×300+0+0 at 0,13 in 100×100");
  EXPECT_EQ(outcome(200, 100, "size=300x300 extend=no:0:5 gravity=so"),
            "200×100 of 200×100+0+0 at 50,5 in 300×300");
  // A free side stays; the capped dpr is the canvas's, too.
  EXPECT_EQ(outcome(40, 30, "size=100 extend=ce"), "40×30 of 40×30+0+0 at 30,0 in 100×30");
  EXPECT_EQ(outcome(400, 300, "size=300x300 extend=ce dpr=2"),
            "400×300 of 400×300+0+0 at 0,50 in 400×400");
  EXPECT_EQ(outcome(200, 100, "size=300x300 extend=soea:3:4 dpr=0.5"),
            "100×50 of 200×100+0+0 at 48,98 in 150×150");
  EXPECT_EQ(outcome(40, 30, "size=100x100 extend=fp:0.5:0"),
            "40×30 of 40×30+0+0 at 30,0 in 100×100");
}

TEST(Geometry, ExtendAspectRatioGrowsOneWay) {
  EXPECT_EQ(outcome(200, 100, "size=300x300 extend-aspect-ratio=ce"),
            "200×100 of 200×100+0+0 at 0,50 in 200×200");
  EXPECT_EQ(outcome(200, 100, "size=300x125 resize=fill extend-aspect-ratio=ea"),
            "200×100 of 200×100+0+0 at 40,0 in 240×100");
  EXPECT_EQ(outcome(200, 100, "size=50 extend-aspect-ratio=ce"), "50×25 of 200×100+0+0");
  EXPECT_EQ(outcome(200, 100, "size=300x300 extend=no extend-aspect-ratio=so"),
            "200×100 of 200×100+0+0 at 50,0 in 300×300");
}

TEST(Geometry, PaddingLiesAroundAll) {
  EXPECT_EQ(outcome(40, 30, "padding=10"), "40×30 of 40×30+0+0 at 10,10 in 60×50");
  EXPECT_EQ(outcome(40, 30, "padding=1,2,3,4"), "40×30 of 40×30+0+0 at 4,1 in 46×34");
  EXPECT_EQ(outcome(200, 100, "padding=20,30,40,10 dpr=0.5"),
            "100×50 of 200×100+0+0 at 5,10 in 120×80");
  EXPECT_EQ(outcome(400, 300, "size=100 padding=3 dpr=0.5"), "50×38 of 400×300+0+0 at 2,2 in 54×42")
      << "1.5 is as near to 2 as to 1: the even one";
  EXPECT_EQ(outcome(400, 300, "size=100x100 extend=ce padding=5,0"),
            "100×75 of 400×300+0+0 at 0,18 in 100×110");
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
  EXPECT_EQ(outcome(10, 10, "padding=1000000"), "too_large max-output-side");
  // A box is a bound; how large the output is decides.
  EXPECT_EQ(outcome(640, 480, "size=1000000x1000000"), "640×480 of 640×480+0+0");
  ResizeOptions wide;
  wide.limits.max_output_side_px = 100'000;
  EXPECT_EQ(make_geometry(65'501, 1, wide).error().code(), StatusCode::kTooLarge)
      << "a JPEG side ends at 65,500";
  EXPECT_TRUE(make_geometry(65'500, 1, wide));
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

}  // namespace
}  // namespace framewire::plan
