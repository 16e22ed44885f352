// What holds for every request: random ones against the rules of docs/geometry.md, and values that
// no grammar lets pass.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <plan/plan.hpp>
#include <random>
#include <string>
#include <vector>

namespace framewire::plan {
namespace {

/// A random request for a picture of random size.
struct Draw {
  std::int32_t width = 1;
  std::int32_t height = 1;
  ResizeOptions options;
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
    o.crop_width = crop_side();
    o.crop_height = crop_side();
    o.gravity = gravity();
    if (below(4) == 0) o.crop_gravity = gravity();
    constexpr double kDprs[] = {1.0, 1.0, 2.0, 1.5, 0.37, 3.0};
    o.dpr = kDprs[below(6)];
    if (below(6) == 0) o.zoom_x = o.zoom_y = kDprs[below(6)];
    if (below(6) == 0) o.extend = gravity();
    if (below(6) == 0) o.extend_aspect_ratio = gravity();
    if (below(6) == 0) o.padding = {pad(), pad(), pad(), pad()};
    o.has_background = o.width_px != 0 && o.height_px != 0 && below(5) == 0;
    if (below(8) == 0) o.max_result_side_px = side();
    if (below(8) == 0) o.min_width_px = side();
    if (below(8) == 0) o.min_height_px = side();
    o.limits.max_output_side_px = 65'500;
    o.limits.max_output_pixels = 1'000'000'000'000;
    return d;
  }

 private:
  unsigned below(unsigned n) { return static_cast<unsigned>(random_()) % n; }
  /// Small and large sides alike.
  std::int32_t side() { return 1 + static_cast<std::int32_t>(below(1u << (1 + below(13)))); }
  std::int32_t pad() { return static_cast<std::int32_t>(below(50)); }
  double crop_side() {
    const unsigned kind = below(4);
    if (kind == 0) return side();
    return kind == 1 ? (1 + below(999)) / 1000.0 : 0;
  }
  Gravity gravity() {
    Gravity g;
    g.anchor = static_cast<Gravity::Anchor>(below(10));
    g.focus_x = below(1001) / 1000.0;
    g.focus_y = below(1001) / 1000.0;
    if (below(3) == 0) g.offset_x = static_cast<double>(below(400)) - 200;
    if (below(3) == 0) g.offset_y = (static_cast<double>(below(200)) - 100) / 100;
    return g;
  }
  std::mt19937 random_;
};

constexpr double kTiny = 1e-6;

void expect_inside(const Draw& d, const Geometry& g) {
  EXPECT_GE(g.crop.x, 0);
  EXPECT_GE(g.crop.y, 0);
  EXPECT_GE(std::min(g.crop.width, g.crop.height), 1);
  EXPECT_LE(g.crop.x + g.crop.width, d.width);
  EXPECT_LE(g.crop.y + g.crop.height, d.height);
  EXPECT_GE(g.source.x, g.crop.x);
  EXPECT_GE(g.source.y, g.crop.y);
  EXPECT_GT(g.source.width, 0);
  EXPECT_GT(g.source.height, 0);
  EXPECT_LE(g.source.x + g.source.width, g.crop.x + g.crop.width + kTiny);
  EXPECT_LE(g.source.y + g.source.height, g.crop.y + g.crop.height + kTiny);
  EXPECT_GE(std::min(g.picture_width_px, g.picture_height_px), 1);
  EXPECT_GE(std::min(g.window_x_px, g.window_y_px), 0);
  EXPECT_LE(g.window_x_px + g.picture_width_px, g.scaled_width_px);
  EXPECT_LE(g.window_y_px + g.picture_height_px, g.scaled_height_px);
  EXPECT_GE(g.offset_x_px, 0);
  EXPECT_GE(g.offset_y_px, 0);
  EXPECT_LE(g.offset_x_px + g.picture_width_px, g.canvas_width_px);
  EXPECT_LE(g.offset_y_px + g.picture_height_px, g.canvas_height_px);
}

/// Whether one scale makes width × height pixels, each rounded, of a part.
bool same_shape(double width, double height, double part_width, double part_height) {
  const double low = std::max((width - 0.5) / part_width, (height - 0.5) / part_height);
  const double high = std::min((width + 0.5) / part_width, (height + 0.5) / part_height);
  return low <= high + kTiny;
}

/// The box times dpr and zoom; 0 where it is free.
double target(std::int32_t side, double dpr, double zoom) { return std::round(side * dpr * zoom); }

void expect_no_enlarging(const Draw& d, const Geometry& g) {
  const ResizeOptions& o = d.options;
  if (o.enlarge || o.min_width_px != 0 || o.min_height_px != 0) return;
  EXPECT_LE(g.scaled_width_px, g.crop.width);
  EXPECT_LE(g.scaled_height_px, g.crop.height);
  EXPECT_LE(g.picture_width_px, g.source.width + kTiny);
  EXPECT_LE(g.picture_height_px, g.source.height + kTiny);
}

/// No side is longer than asked for.
void expect_target_kept(const Draw& d, const Geometry& g) {
  const ResizeOptions& o = d.options;
  const double width = target(o.width_px, g.dpr, o.zoom_x);
  const double height = target(o.height_px, g.dpr, o.zoom_y);
  // fill-down leaves a side alone that would be cut to nothing.
  const bool cuts = o.resize != ResizeMode::kFillDown;
  EXPECT_TRUE(width < 1 || !cuts || g.picture_width_px <= width);
  EXPECT_TRUE(height < 1 || !cuts || g.picture_height_px <= height);
}

bool forces(const ResizeOptions& o) { return o.resize == ResizeMode::kForce; }

/// The picture has the shape of what it shows.
void expect_shape(const Draw& d, const Geometry& g) {
  if (forces(d.options)) return;
  const double crop_width = g.crop.width;
  const double crop_height = g.crop.height;
  // A side that would be less than a pixel is one.
  if (std::min(g.scaled_width_px, g.scaled_height_px) > 1) {
    EXPECT_TRUE(same_shape(static_cast<double>(g.scaled_width_px),
                           static_cast<double>(g.scaled_height_px), crop_width, crop_height));
  }
  if (std::min(g.picture_width_px, g.picture_height_px) > 1) {
    EXPECT_TRUE(
        same_shape(g.picture_width_px, g.picture_height_px, g.source.width, g.source.height));
  }
}

/// All of the crop is shown, but where the box is smaller in a side.
void expect_all_that_fits(const Draw& d, const Geometry& g) {
  const ResizeOptions& o = d.options;
  const bool limited = o.max_result_side_px != 0 || o.min_width_px != 0 || o.min_height_px != 0;
  const bool fits = o.resize == ResizeMode::kFit || o.width_px == 0 || o.height_px == 0;
  if (limited || !fits) return;
  // At an exact half box and picture can be rounded either way.
  EXPECT_LE(g.scaled_width_px - g.picture_width_px, 1);
  EXPECT_LE(g.scaled_height_px - g.picture_height_px, 1);
}

void expect_canvas(const Draw& d, const Geometry& g) {
  const ResizeOptions& o = d.options;
  const bool pads = o.extend || o.extend_aspect_ratio || o.has_background || o.padding != Padding{};
  if (!pads) {
    EXPECT_EQ(g.canvas_width_px, g.picture_width_px);
    EXPECT_EQ(g.canvas_height_px, g.picture_height_px);
  }
  if (o.max_result_side_px != 0) {
    EXPECT_LE(std::max(g.canvas_width_px, g.canvas_height_px), o.max_result_side_px);
  }
  if (o.extend && !o.extend_aspect_ratio && o.padding == Padding{}) {
    EXPECT_EQ(g.canvas_width_px,
              std::max<double>(g.picture_width_px, target(o.width_px, g.dpr, o.zoom_x)));
    EXPECT_EQ(g.canvas_height_px,
              std::max<double>(g.picture_height_px, target(o.height_px, g.dpr, o.zoom_y)));
  }
}

TEST(GeometryRules, HoldForRandomRequests) {
  Requests requests(20240531);
  int made = 0;
  for (int i = 0; i < 50'000; ++i) {
    const Draw d = requests.next();
    const auto g = make_geometry(d.width, d.height, d.options);
    SCOPED_TRACE(std::to_string(d.width) + "x" + std::to_string(d.height) + " " +
                 to_string(d.options));
    if (!g) {
      ASSERT_EQ(g.error().code(), StatusCode::kTooLarge);
      continue;
    }
    ++made;
    expect_inside(d, *g);
    expect_no_enlarging(d, *g);
    expect_target_kept(d, *g);
    expect_shape(d, *g);
    expect_all_that_fits(d, *g);
    expect_canvas(d, *g);
    if (HasFailure()) return;
  }
  EXPECT_GT(made, 45'000);
}

TEST(GeometryAttack, HugeRequestsOverflowNothing) {
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

/// Each number of the options set to the value, one at a time.
std::vector<ResizeOptions> with_each_number(double value) {
  std::vector<ResizeOptions> all;
  const auto add = [&](auto change) {
    ResizeOptions o;
    o.width_px = 50;
    o.height_px = 20;
    o.resize = ResizeMode::kFill;
    o.gravity.offset_x = 3;
    o.extend = Gravity{};
    o.extend_aspect_ratio = Gravity{};
    o.padding = {1, 2, 3, 4};
    change(o);
    all.push_back(o);
  };
  const auto whole = static_cast<std::int32_t>(
      std::isnan(value) ? 0 : std::clamp(value, double{INT32_MIN}, double{INT32_MAX}));
  for (const bool enlarge : {false, true}) {
    add([&](auto& o) { o.enlarge = enlarge, o.width_px = whole; });
    add([&](auto& o) { o.enlarge = enlarge, o.height_px = whole; });
    add([&](auto& o) { o.enlarge = enlarge, o.min_width_px = whole; });
    add([&](auto& o) { o.enlarge = enlarge, o.min_height_px = whole; });
    add([&](auto& o) { o.enlarge = enlarge, o.max_result_side_px = whole; });
    add([&](auto& o) { o.enlarge = enlarge, o.dpr = value; });
    add([&](auto& o) { o.enlarge = enlarge, o.zoom_x = value; });
    add([&](auto& o) { o.enlarge = enlarge, o.zoom_y = o.zoom_x = o.dpr = value; });
  }
  add([&](auto& o) { o.crop_width = value; });
  add([&](auto& o) { o.crop_height = value; });
  add([&](auto& o) { o.gravity.offset_x = o.gravity.offset_y = value; });
  add([&](auto& o) { o.extend->offset_x = o.extend_aspect_ratio->offset_y = value; });
  add([&](auto& o) { o.gravity = {Gravity::Anchor::kFocus, value, value}; });
  add([&](auto& o) { o.padding.left_px = o.padding.right_px = whole; });
  add([&](auto& o) { o.padding.top_px = whole, o.dpr = value; });
  return all;
}

TEST(GeometryAttack, ValuesOutOfAnyRangeTrapNothing) {
  const double inf = std::numeric_limits<double>::infinity();
  const double values[] = {0, -1, -0.5, 1e-300, -1e300, 1e300, 1e18, inf, -inf, std::nan("")};
  for (const double value : values) {
    for (const ResizeOptions& options : with_each_number(value)) {
      for (const std::int32_t height : {1, 30, 65'535}) {
        Draw d{40, height, options};
        SCOPED_TRACE(std::to_string(value) + " " + to_string(options));
        const auto g = make_geometry(d.width, d.height, options);
        if (!g) {
          EXPECT_EQ(g.error().code(), StatusCode::kTooLarge);
        } else {
          expect_inside(d, *g);
        }
        if (HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace framewire::plan
