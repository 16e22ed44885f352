// Plans: where every output sample looks, and what is encoded.
#include <gtest/gtest.h>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <tests/unit/plan/inputs.hpp>
#include <transform/orient.hpp>
#include <vector>

namespace framewire::plan {
namespace {

/// Where a point of the upright picture lies in the stored one; written down apart from
/// transform::stored_position, for continuous coordinates.
struct Point {
  double x, y;
};
Point stored_point(int orientation, Point p, double stored_width, double stored_height) {
  const double w = stored_width, h = stored_height;
  switch (orientation) {
    case 2:
      return {w - p.x, p.y};
    case 3:
      return {w - p.x, h - p.y};
    case 4:
      return {p.x, h - p.y};
    case 5:
      return {p.y, p.x};
    case 6:
      return {p.y, h - p.x};
    case 7:
      return {w - p.y, h - p.x};
    case 8:
      return {w - p.y, p.x};
    default:
      return p;
  }
}

/// Chroma sample size of the upright output, from the encode plan.
std::pair<int, int> step_of(const Plan& plan, std::size_t plane) {
  if (plan.color_path == ColorPath::kConvert) return {1, 1};
  return {plan.encode.h[0] / plan.encode.h[plane], plan.encode.v[0] / plan.encode.v[plane]};
}

/// Follows output samples through orientation and axis maps to full-size stored pixels, and
/// compares with where the geometry alone puts their centres.
void expect_centres(const jpeg::JpegFile& file, const Plan& plan, const Geometry& g) {
  const auto& frame = file.frame;
  for (std::size_t i = 0; i < static_cast<std::size_t>(plan.plane_count); ++i) {
    const PlanePlan& plane = plan.planes[i];
    const auto& component = frame.components[static_cast<std::size_t>(plane.component)];
    const int scale = plan.scales[static_cast<std::size_t>(plane.component)];
    EXPECT_EQ(plane.x.in_size, (component.width_px * scale + 7) / 8);
    EXPECT_EQ(plane.y.in_size, (component.height_px * scale + 7) / 8);
    const bool swapped = plan.orientation >= 5;
    const std::int32_t shown_width = swapped ? plane.y.out_size : plane.x.out_size;
    const std::int32_t shown_height = swapped ? plane.x.out_size : plane.y.out_size;
    const auto [step_x, step_y] = step_of(plan, i);
    EXPECT_EQ(shown_width, (g.picture_width_px + step_x - 1) / step_x);
    EXPECT_EQ(shown_height, (g.picture_height_px + step_y - 1) / step_y);
    const double density_x = static_cast<double>(component.h) / frame.h_max * scale / 8;
    const double density_y = static_cast<double>(component.v) / frame.v_max * scale / 8;
    for (const std::int32_t x : {0, shown_width / 2, shown_width - 1}) {
      for (const std::int32_t y : {0, shown_height / 3, shown_height - 1}) {
        const auto at = transform::stored_position(plan.orientation, {x, y}, plane.x.out_size,
                                                   plane.y.out_size);
        const double found_x = (plane.x.origin + (at.x + 0.5) * plane.x.step) / density_x;
        const double found_y = (plane.y.origin + (at.y + 0.5) * plane.y.step) / density_y;
        const Point shown{g.source.x + (x + 0.5) * step_x * g.source.width / g.picture_width_px,
                          g.source.y + (y + 0.5) * step_y * g.source.height / g.picture_height_px};
        const Point expected =
            stored_point(plan.orientation, shown, frame.width_px, frame.height_px);
        EXPECT_NEAR(found_x, expected.x, 1e-7) << "plane " << i << " sample " << x << "," << y;
        EXPECT_NEAR(found_y, expected.y, 1e-7) << "plane " << i << " sample " << x << "," << y;
      }
    }
  }
}

std::vector<ResizeOptions> interesting_options() {
  std::vector<ResizeOptions> all;
  for (const char* words : {"", "size=37x41", "size=33x47 resize=force", "size=200x7 resize=force",
                            "size=31x31 resize=fill gravity=noea", "crop=101x77 gravity=fp:0.3:0.9",
                            "size=701x503 resize=force enlarge", "crop=97x53 size=21x13",
                            "rotate=90 size=37x41", "rotate=180 flip=v crop=0.3x0.6",
                            "rotate=270 flip=h size=31x53 resize=fill gravity=soea:3:0.1"}) {
    ResizeOptions options;
    std::string text = words;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      const std::string word = text.substr(at, end - at);
      const std::size_t equals = std::min(word.find('='), word.size());
      EXPECT_TRUE(set_option(options, word.substr(0, equals),
                             equals < word.size() ? word.substr(equals + 1) : ""));
      at = end + 1;
    }
    all.push_back(options);
  }
  return all;
}

TEST(PlanAxes, CentresLandWhereTheGeometryPutsThem) {
  const std::pair<int, int> stored[] = {{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}, {4, 2}};
  const Sampling samplings[] = {Sampling::kKeep, Sampling::k444, Sampling::k422,
                                Sampling::k420,  Sampling::k440, Sampling::kGray};
  for (const auto& [h, v] : stored) {
    HeaderOnly input(ycbcr(417, 263, static_cast<std::uint8_t>(h), static_cast<std::uint8_t>(v)));
    for (int orientation = 1; orientation <= 8; ++orientation) {
      input.file.orientation = orientation;
      for (ResizeOptions options : interesting_options()) {
        for (const Sampling sampling : samplings) {
          options.sampling = sampling;
          SCOPED_TRACE(std::to_string(h) + "x" + std::to_string(v) + " orientation " +
                       std::to_string(orientation) + " " + to_string(options));
          const bool turned = static_cast<int>(options.rotate) % 2 == 1;
          const bool swapped = (orientation >= 5) != turned;
          const auto g = make_geometry(swapped ? 263 : 417, swapped ? 417 : 263, options);
          ASSERT_TRUE(g);
          for (const bool icc : {false, true}) {
            expect_centres(input.file, plan_or_die(input.file, options, {}, icc), *g);
          }
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(PlanAxes, OddFlippedChromaStartsBeforeThePicture) {
  HeaderOnly input(ycbcr(101, 77, 2, 2));
  input.file.orientation = 3;
  const Plan plan = plan_or_die(input.file, {});
  // Upright grid starts at stored 101 and 77; 51 and 39 samples of 2 pixels end at −1.
  EXPECT_DOUBLE_EQ(plan.planes[1].x.origin, -0.5);
  EXPECT_DOUBLE_EQ(plan.planes[1].y.origin, -0.5);
  EXPECT_DOUBLE_EQ(plan.planes[1].x.step, 1.0);
  EXPECT_DOUBLE_EQ(plan.planes[0].x.origin, 0.0);
  input.file.orientation = 1;
  EXPECT_DOUBLE_EQ(plan_or_die(input.file, {}).planes[1].x.origin, 0.0);
}

TEST(PlanAxes, WithoutAutoOrientThePictureStaysAsStored) {
  HeaderOnly input(ycbcr(100, 40, 2, 2));
  input.file.orientation = 6;
  ResizeOptions options;
  EXPECT_EQ(plan_or_die(input.file, options).encode.width_px, 40);
  options.auto_orient = false;
  const Plan plan = plan_or_die(input.file, options);
  EXPECT_EQ(plan.encode.width_px, 100);
  EXPECT_EQ(plan.orientation, 1);
}

/// "2x2 of 40x30" and the like, for an output of 40×30.
std::string encoded(const jpeg::JpegFile& file, const ResizeOptions& options) {
  const EncodePlan e = plan_or_die(file, options).encode;
  const char* models[] = {"gray", "ycbcr", "cmyk"};
  return std::string(models[static_cast<int>(e.model)]) + " " + std::to_string(e.h[0]) + "x" +
         std::to_string(e.v[0]) + " of " + std::to_string(e.component_count);
}

TEST(PlanEncode, KeepsTheInputsSamplingAsItIsShown) {
  ResizeOptions options;
  options.sampling = Sampling::kKeep;
  const auto keep = [&](const Shape& shape, int orientation = 1) {
    HeaderOnly input(shape);
    input.file.orientation = orientation;
    return encoded(input.file, options);
  };
  EXPECT_EQ(keep(ycbcr(64, 64, 1, 1)), "ycbcr 1x1 of 3");
  EXPECT_EQ(keep(ycbcr(64, 64, 2, 1)), "ycbcr 2x1 of 3");
  EXPECT_EQ(keep(ycbcr(64, 64, 2, 1), 6), "ycbcr 1x2 of 3");
  EXPECT_EQ(keep(ycbcr(64, 64, 4, 1), 5), "ycbcr 1x4 of 3");
  EXPECT_EQ(keep(ycbcr(64, 64, 2, 2)), "ycbcr 2x2 of 3");
  EXPECT_EQ(keep(ycbcr(64, 64, 4, 2)), "ycbcr 4x2 of 3") << "ten blocks an MCU, as allowed";
  EXPECT_EQ(keep(ycbcr(64, 64, 4, 4)), "ycbcr 1x1 of 3") << "eighteen blocks an MCU";
  EXPECT_EQ(keep({64, 64, 3, {2, 2, 1, 1}, {2, 1, 1, 1}}), "ycbcr 1x1 of 3") << "Cb is not Cr";
  EXPECT_EQ(keep({64, 64, 3, {1, 2, 2, 1}, {1, 1, 1, 1}}), "ycbcr 1x1 of 3") << "chroma denser";
  EXPECT_EQ(keep({64, 64, 3, {3, 2, 2, 1}, {1, 1, 1, 1}}), "ycbcr 1x1 of 3") << "no whole factor";
  EXPECT_EQ(keep({64, 64, 1, {2, 1, 1, 1}, {2, 1, 1, 1}}), "gray 1x1 of 1");
}

TEST(PlanEncode, WritesTheSamplingAskedFor) {
  const HeaderOnly input(ycbcr(64, 64, 1, 1));
  const auto with = [&](Sampling sampling) {
    ResizeOptions options;
    options.sampling = sampling;
    return encoded(input.file, options);
  };
  EXPECT_EQ(with(Sampling::k444), "ycbcr 1x1 of 3");
  EXPECT_EQ(with(Sampling::k422), "ycbcr 2x1 of 3");
  EXPECT_EQ(with(Sampling::k420), "ycbcr 2x2 of 3");
  EXPECT_EQ(with(Sampling::k440), "ycbcr 1x2 of 3");
  EXPECT_EQ(with(Sampling::kGray), "gray 1x1 of 1");
}

TEST(PlanEncode, ColourModelsTakeThePathTheyNeed) {
  ResizeOptions options;
  const auto path = [&](const HeaderOnly& input, bool icc = false) {
    return plan_or_die(input.file, options, {}, icc).color_path;
  };
  const HeaderOnly gray({64, 64, 1});
  const HeaderOnly color(ycbcr(64, 64, 2, 2));
  const HeaderOnly rgb({64, 64, 3}, 0);
  const HeaderOnly cmyk({64, 64, 4}, 0);
  const HeaderOnly ycck({64, 64, 4}, 2);
  ASSERT_EQ(rgb.file.color_model, jpeg::ColorModel::kRgb);
  ASSERT_EQ(ycck.file.color_model, jpeg::ColorModel::kYcck);
  EXPECT_EQ(path(gray), ColorPath::kPlanar);
  EXPECT_EQ(path(color), ColorPath::kPlanar);
  EXPECT_EQ(path(color, true), ColorPath::kConvert);
  EXPECT_EQ(path(gray, true), ColorPath::kConvert);
  EXPECT_EQ(path(rgb), ColorPath::kConvert);
  EXPECT_EQ(path(cmyk), ColorPath::kConvert);
  EXPECT_EQ(encoded(cmyk.file, options), "ycbcr 2x2 of 3");
  options.color = ColorMode::kKeep;
  EXPECT_EQ(path(color, true), ColorPath::kPlanar) << "the profile travels along instead";
  EXPECT_EQ(encoded(cmyk.file, options), "cmyk 1x1 of 4");
  EXPECT_EQ(encoded(ycck.file, options), "cmyk 1x1 of 4");
  EXPECT_EQ(encoded(rgb.file, options), "ycbcr 2x2 of 3");
  options.sampling = Sampling::kGray;
  EXPECT_EQ(encoded(rgb.file, options), "gray 1x1 of 1");
}

TEST(PlanEncode, PassesTheRestThrough) {
  const HeaderOnly input(ycbcr(64, 64, 2, 2));
  ResizeOptions options;
  options.quality = 33;
  options.progressive = options.optimize_huffman = true;
  options.restart_interval_mcus = 7;
  options.max_bytes = 12345;
  const EncodePlan e = plan_or_die(input.file, options).encode;
  EXPECT_EQ(e.quality, 33);
  EXPECT_TRUE(e.progressive);
  EXPECT_TRUE(e.optimize_huffman);
  EXPECT_EQ(e.restart_interval_mcus, 7);
  EXPECT_EQ(e.max_bytes, 12345u);
}

TEST(PlanPlacement, PaddingStartsOnWholeChromaSamples) {
  const HeaderOnly input(ycbcr(30, 20, 2, 2));
  ResizeOptions options;
  options.width_px = 43;
  options.height_px = 49;
  options.has_background = true;
  EXPECT_EQ(plan_or_die(input.file, options).placement,
            (Rect{6, 14, 30, 20}));  // 7, 15 down to even
  options.sampling = Sampling::k422;
  EXPECT_EQ(plan_or_die(input.file, options).placement, (Rect{6, 15, 30, 20}));
  options.sampling = Sampling::k444;
  EXPECT_EQ(plan_or_die(input.file, options).placement, (Rect{7, 15, 30, 20}));
  options.has_background = false;
  EXPECT_EQ(plan_or_die(input.file, options).placement, (Rect{0, 0, 30, 20}));
}

TEST(PlanSource, IsTheUsedPartAsStored) {
  HeaderOnly input(ycbcr(400, 300, 1, 1));
  ResizeOptions options;
  options.crop_width = 100;
  options.crop_height = 50;
  options.gravity.anchor = Gravity::Anchor::kNoWe;
  const SourceRect expected[] = {{0, 0, 100, 50},     {300, 0, 100, 50}, {300, 250, 100, 50},
                                 {0, 250, 100, 50},   {0, 0, 50, 100},   {0, 200, 50, 100},
                                 {350, 200, 50, 100}, {350, 0, 50, 100}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    input.file.orientation = orientation;
    EXPECT_EQ(plan_or_die(input.file, options).source, expected[orientation - 1]) << orientation;
  }
}

/// Samples of a picture, row by row.
struct Grid {
  int width = 0;
  int height = 0;
  std::vector<int> samples;
  [[nodiscard]] int at(int x, int y) const {
    return samples[static_cast<std::size_t>(y * width + x)];
  }
  friend bool operator==(const Grid&, const Grid&) = default;
};

/// A picture of the given size whose sample at (x, y) is from(x, y).
Grid draw(int width, int height, const std::function<int(int, int)>& from) {
  Grid g{width, height, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) g.samples.push_back(from(x, y));
  }
  return g;
}

Grid shown(const Grid& in, int orientation) {
  const bool swapped = transform::swaps_axes(orientation);
  return draw(swapped ? in.height : in.width, swapped ? in.width : in.height, [&](int x, int y) {
    const auto at = transform::stored_position(orientation, {x, y}, in.width, in.height);
    return in.at(at.x, at.y);
  });
}

/// What a user asked for, done to the upright picture one after the other.
Grid changed(Grid g, const ResizeOptions& options) {
  for (int turns = static_cast<int>(options.rotate); turns > 0; --turns) {
    const Grid in = g;  // clockwise: the left column, read upwards, becomes the first row
    g = draw(in.height, in.width, [&](int x, int y) { return in.at(y, in.height - 1 - x); });
  }
  const Grid in = g;
  const bool h = options.flip == Flip::kHorizontal || options.flip == Flip::kBoth;
  const bool v = options.flip == Flip::kVertical || options.flip == Flip::kBoth;
  return draw(in.width, in.height, [&](int x, int y) {
    return in.at(h ? in.width - 1 - x : x, v ? in.height - 1 - y : y);
  });
}

TEST(PlanOrientation, TurnsAndFlipsFollowTheFilesOwn) {
  const Grid stored{3, 2, {1, 2, 3, 4, 5, 6}};
  HeaderOnly input(ycbcr(3, 2, 1, 1));
  for (int orientation = 1; orientation <= 8; ++orientation) {
    input.file.orientation = orientation;
    for (int turn = 0; turn < 4; ++turn) {
      for (int flip = 0; flip < 4; ++flip) {
        for (const bool upright : {false, true}) {
          ResizeOptions options;
          options.rotate = static_cast<Rotation>(turn);
          options.flip = static_cast<Flip>(flip);
          options.auto_orient = upright;
          SCOPED_TRACE(std::to_string(orientation) + " " + to_string(options));
          const Plan plan = plan_or_die(input.file, options);
          const Grid expected = changed(upright ? shown(stored, orientation) : stored, options);
          EXPECT_EQ(shown(stored, plan.orientation), expected);
          EXPECT_EQ(plan.encode.width_px, expected.width);
          EXPECT_EQ(plan.encode.height_px, expected.height);
        }
      }
    }
  }
}

TEST(PlanSource, IsThePartOfTheTurnedPicture) {
  HeaderOnly input(ycbcr(400, 300, 1, 1));
  ResizeOptions options;
  options.crop_width = 100;
  options.crop_height = 50;
  options.gravity.anchor = Gravity::Anchor::kNoWe;
  options.rotate = Rotation::k90;  // the upper left corner was the lower left one
  EXPECT_EQ(plan_or_die(input.file, options).source, (SourceRect{0, 200, 50, 100}));
  options.flip = Flip::kHorizontal;
  EXPECT_EQ(plan_or_die(input.file, options).source, (SourceRect{0, 0, 50, 100}));
}

TEST(PlanPlacement, PaddingOnAllSides) {
  const HeaderOnly input(ycbcr(30, 20, 2, 2));
  ResizeOptions options;
  options.padding = {3, 5, 7, 9};
  options.sampling = Sampling::k444;
  EXPECT_EQ(plan_or_die(input.file, options).placement, (Rect{9, 3, 30, 20}));
  options.sampling = Sampling::k420;
  const Plan plan = plan_or_die(input.file, options);
  EXPECT_EQ(plan.placement, (Rect{8, 2, 30, 20}));
  EXPECT_EQ(plan.encode.width_px, 44);
  EXPECT_EQ(plan.encode.height_px, 30);
  EXPECT_TRUE(is_padded(plan));
  EXPECT_EQ(plan.background, (std::array<std::uint8_t, 3>{255, 255, 255})) << "white, unless asked";
}

TEST(PlanGainMap, FollowsItsPrimary) {
  HeaderOnly primary(ycbcr(4000, 3000, 2, 2));
  HeaderOnly map({1000, 750, 1});
  for (int orientation = 1; orientation <= 8; ++orientation) {
    primary.file.orientation = orientation;
    ResizeOptions options;
    options.width_px = 801;
    options.height_px = 600;
    options.resize = ResizeMode::kFill;
    options.gravity.anchor = Gravity::Anchor::kSoEa;
    options.max_bytes = 1000;
    options.sharpen_sigma = 1;
    const Plan main = plan_or_die(primary.file, options);
    const auto plan = make_gain_map_plan(map.file, main, primary.file.frame, options, {});
    ASSERT_TRUE(plan);
    SCOPED_TRACE(orientation);
    EXPECT_EQ(plan->orientation, orientation);
    EXPECT_EQ(plan->encode.width_px, 200);  // 801 / 4 rounds down, 600 / 4
    EXPECT_EQ(plan->encode.height_px, 150);
    EXPECT_EQ(plan->encode.max_bytes, 0u);
    EXPECT_EQ(plan->sharpen_sigma, 0);
    EXPECT_EQ(plan->color_path, ColorPath::kPlanar);
    EXPECT_EQ(plan->placement, (Rect{0, 0, 200, 150}));
    // Edges of the parts coincide, in units of the stored picture's sides.
    const PlanePlan& a = main.planes[0];
    const PlanePlan& b = plan->planes[0];
    const double sizes[] = {4000.0 * main.scales[0] / 8, 3000.0 * main.scales[0] / 8};
    const double map_sizes[] = {1000.0 * plan->scales[0] / 8, 750.0 * plan->scales[0] / 8};
    EXPECT_NEAR(a.x.origin / sizes[0], b.x.origin / map_sizes[0], 1e-12);
    EXPECT_NEAR(a.y.origin / sizes[1], b.y.origin / map_sizes[1], 1e-12);
    EXPECT_NEAR((a.x.origin + a.x.step * a.x.out_size) / sizes[0],
                (b.x.origin + b.x.step * b.x.out_size) / map_sizes[0], 1e-12);
    EXPECT_NEAR((a.y.origin + a.y.step * a.y.out_size) / sizes[1],
                (b.y.origin + b.y.step * b.y.out_size) / map_sizes[1], 1e-12);
  }
}

TEST(PlanGainMap, IsNeverLargerThanItsPrimary) {
  const HeaderOnly primary(ycbcr(100, 80, 2, 2));
  const HeaderOnly map({400, 320, 1});
  ResizeOptions options;
  options.width_px = 50;
  const Plan main = plan_or_die(primary.file, options);
  const auto plan = make_gain_map_plan(map.file, main, primary.file.frame, options, {});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->encode.width_px, 50);
  EXPECT_EQ(plan->encode.height_px, 40);
}

TEST(PlanGainMap, TinyMapsKeepAPixel) {
  const HeaderOnly primary(ycbcr(1000, 800, 2, 2));
  const HeaderOnly map({2, 1, 1});
  ResizeOptions options;
  options.width_px = 100;
  const Plan main = plan_or_die(primary.file, options);
  const auto plan = make_gain_map_plan(map.file, main, primary.file.frame, options, {});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->encode.width_px, 1);
  EXPECT_EQ(plan->encode.height_px, 1);
}

TEST(PlanGainMap, ColourMapsStayAtFullSampling) {
  const HeaderOnly primary(ycbcr(100, 80, 2, 2));
  const HeaderOnly map(ycbcr(100, 80, 2, 2));
  const Plan main = plan_or_die(primary.file, {});
  const auto plan = make_gain_map_plan(map.file, main, primary.file.frame, {}, {});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->encode.component_count, 3);
  EXPECT_EQ(plan->encode.h[0], 1);
  EXPECT_EQ(plan->planes[1].x.out_size, 100);
  EXPECT_DOUBLE_EQ(plan->planes[1].x.step, 0.5);
}

TEST(PlanGainMap, OtherModelsAreRefused) {
  const HeaderOnly primary(ycbcr(100, 80, 2, 2));
  const HeaderOnly map({50, 40, 4}, 0);
  const Plan main = plan_or_die(primary.file, {});
  const auto plan = make_gain_map_plan(map.file, main, primary.file.frame, {}, {});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code(), StatusCode::kUnsupported);
}

/// Corners of the colour cube, by ITU-T T.871: Y, Cb and Cr of red are 76.245, 84.97 and 255.5.
TEST(Plan, BackgroundsAreSamplesOfTheOutput) {
  using Samples = std::array<std::uint8_t, 4>;
  Plan plan;
  plan.background = {255, 255, 255};
  EXPECT_EQ(background_samples(plan), (Samples{255, 128, 128, 0}));
  plan.background = {255, 0, 0};
  EXPECT_EQ(background_samples(plan), (Samples{76, 85, 255, 0}));
  plan.encode.model = OutputModel::kCmyk;
  EXPECT_EQ(background_samples(plan), (Samples{255, 0, 0, 255})) << "inverted: no key";
}

TEST(Plan, UnsupportedFilesAreRefused) {
  HeaderOnly input(ycbcr(64, 64, 2, 2));
  input.file.frame.precision_bits = 12;
  const auto plan = make_plan(input.file, {}, {}, false);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace framewire::plan
