#include <algorithm>
#include <base/options_values.hpp>
#include <cmath>
#include <plan/scaling.hpp>

namespace framewire::plan {
namespace {

/// A positive factor as the grammar bounds it, also where it was set from code.
double sane_factor(double value) {
  return value > options::kMinFactor ? std::min(value, options::kMaxFactor) : options::kMinFactor;
}

std::int64_t times(std::int64_t side, double factor) {
  return round_side(static_cast<double>(side) * factor);
}

/// The pixels that resampling by `scale` makes, as libvips counts them.
std::int64_t shrunk(std::int64_t side, double scale) {
  return std::max<std::int64_t>(1, round_side(static_cast<double>(side) / (1.0 / scale)));
}

/// The smaller side; `bound` 0 is none.
std::int64_t bounded(std::int64_t side, std::int64_t bound) {
  return bound == 0 ? side : std::min(side, bound);
}

/// Source pixels for one of the output, along each axis.
struct Shrink {
  double x = 1;
  double y = 1;
};

ResizeMode effective_mode(ResizeMode mode, double source_surplus, double box_surplus) {
  if (mode != ResizeMode::kAuto) return mode;
  // A square counts as wide.
  return (source_surplus >= 0) == (box_surplus >= 0) ? ResizeMode::kFill : ResizeMode::kFit;
}

Shrink shrink_to_box(double width, double height, const ResizeOptions& options) {
  const double box_width = options.width_px > 0 ? options.width_px : width;
  const double box_height = options.height_px > 0 ? options.height_px : height;
  Shrink shrink{width / box_width, height / box_height};
  if (shrink.x == 1 && shrink.y == 1) return shrink;
  const ResizeMode mode = effective_mode(options.resize, width - height, box_width - box_height);
  if (mode == ResizeMode::kForce) return shrink;
  if (options.width_px <= 0) return {shrink.y, shrink.y};
  if (options.height_px <= 0) return {shrink.x, shrink.x};
  const double both =
      mode == ResizeMode::kFit ? std::max(shrink.x, shrink.y) : std::min(shrink.x, shrink.y);
  return {both, both};
}

/// Takes back what would enlarge a side, and bounds dpr by what the source can give.
void forbid_enlarging(Shrink& shrink, double& dpr, bool keeps_composition) {
  const double least = std::min(shrink.x, shrink.y);
  if (least < 1) {
    shrink.x /= least;
    shrink.y /= least;
    if (!keeps_composition) dpr /= least;
  }
  dpr = std::min(dpr, std::min(shrink.x, shrink.y));
}

void grow_to_minimum(Shrink& shrink, double width, double height, const ResizeOptions& options) {
  if (options.min_width_px > 0) {
    const double most = width / options.min_width_px;
    if (most < shrink.x) {
      shrink.y /= shrink.x / most;
      shrink.x = most;
    }
  }
  if (options.min_height_px > 0) {
    const double most = height / options.min_height_px;
    if (most < shrink.y) {
      shrink.x /= shrink.y / most;
      shrink.y = most;
    }
  }
}

/// The target, of fill-down without enlarging cut to the scaled part in its own shape.
Size cut_of(const Scaling& s, const ResizeOptions& options) {
  if (options.resize != ResizeMode::kFillDown || options.enlarge) return s.target;
  const auto target_width = static_cast<double>(s.target.width);
  const auto target_height = static_cast<double>(s.target.height);
  const double over_x = target_width / static_cast<double>(s.estimate.width);
  const double over_y = target_height / static_cast<double>(s.estimate.height);
  if (over_x > over_y && over_x > 1) {
    return {s.estimate.width, times(s.estimate.width, target_height / target_width)};
  }
  if (over_y > over_x && over_y > 1) {
    return {times(s.estimate.height, target_width / target_height), s.estimate.height};
  }
  return s.target;
}

/// The picture grown at two sides to the target's shape.
Size aspect_of(const Scaling& s) {
  if (s.target.width == 0 || s.target.height == 0) return {};
  const Size picture{bounded(s.estimate.width, s.cut.width),
                     bounded(s.estimate.height, s.cut.height)};
  const auto target_width = static_cast<double>(s.target.width);
  const auto target_height = static_cast<double>(s.target.height);
  const double over_x = target_width / static_cast<double>(picture.width);
  const double over_y = target_height / static_cast<double>(picture.height);
  if (over_y > over_x) return {picture.width, times(picture.width, target_height / target_width)};
  if (over_x > over_y) return {times(picture.height, target_width / target_height), picture.height};
  return {};
}

void find_sizes(Scaling& s, Size part, const ResizeOptions& options) {
  s.target = {times(options.width_px, s.dpr * sane_factor(options.zoom_x)),
              times(options.height_px, s.dpr * sane_factor(options.zoom_y))};
  s.estimate = {std::max<std::int64_t>(1, times(part.width, s.x)),
                std::max<std::int64_t>(1, times(part.height, s.y))};
  s.scaled = {shrunk(part.width, s.x), shrunk(part.height, s.y)};
  s.cut = cut_of(s, options);
  s.aspect = options.extend_aspect_ratio ? aspect_of(s) : Size{};
}

/// The longest side of the output: picture, what is added to it, and padding.
std::int64_t longest_side(const Scaling& s, const ResizeOptions& options) {
  Size out{bounded(s.estimate.width, s.cut.width), bounded(s.estimate.height, s.cut.height)};
  const Size box = pads_to_box(options) ? s.target : Size{};
  out = {std::max({out.width, box.width, s.aspect.width}),
         std::max({out.height, box.height, s.aspect.height})};
  const Padding padding = scale_padding(options.padding, s.dpr);
  return std::max(out.width + padding.left_px + padding.right_px,
                  out.height + padding.top_px + padding.bottom_px);
}

/// Makes all smaller until the longest side of the output fits. One step would do, but for a short
/// side that is rounded up, which fill-down takes its long side from.
void fit_result(Scaling& s, Size part, const ResizeOptions& options) {
  constexpr int kMaxSteps = 16;
  for (int step = 0; step < kMaxSteps; ++step) {
    const std::int64_t longest = longest_side(s, options);
    if (longest <= options.max_result_side_px) return;
    const double down =
        static_cast<double>(options.max_result_side_px) / static_cast<double>(longest);
    s.x = std::max(s.x * down, 1.0 / static_cast<double>(part.width));
    s.y = std::max(s.y * down, 1.0 / static_cast<double>(part.height));
    s.dpr *= down;
    find_sizes(s, part, options);
  }
}

}  // namespace

std::int64_t round_side(double value) {
  if (!(value > 0)) return 0;
  constexpr auto kMax = static_cast<double>(kMaxScaledSide);
  return static_cast<std::int64_t>(std::round(std::min(value, kMax)));
}

std::int64_t round_to_even(double value) {
  if (std::isnan(value)) return 0;
  constexpr auto kMax = static_cast<double>(kMaxScaledSide);
  const double bound = std::clamp(value, -kMax, kMax);
  const double below = std::floor(bound);
  const auto whole = static_cast<std::int64_t>(below);
  const double rest = bound - below;
  if (rest != 0.5) return rest < 0.5 ? whole : whole + 1;
  return whole % 2 == 0 ? whole : whole + 1;
}

bool pads_to_box(const ResizeOptions& options) {
  if (options.extend) return true;
  return options.has_background && !options.extend_aspect_ratio && options.padding == Padding{};
}

Scaling scale_part(Size part, const ResizeOptions& options) {
  const auto width = static_cast<double>(part.width);
  const auto height = static_cast<double>(part.height);
  Shrink shrink = shrink_to_box(width, height, options);
  shrink.x /= sane_factor(options.zoom_x);
  shrink.y /= sane_factor(options.zoom_y);
  Scaling s;
  s.dpr = sane_factor(options.dpr);
  if (!options.enlarge) forbid_enlarging(shrink, s.dpr, pads_to_box(options));
  grow_to_minimum(shrink, width, height, options);
  s.x = 1.0 / std::min(shrink.x / s.dpr, width);
  s.y = 1.0 / std::min(shrink.y / s.dpr, height);
  find_sizes(s, part, options);
  if (options.max_result_side_px > 0) fit_result(s, part, options);
  return s;
}

Padding scale_padding(const Padding& padding, double dpr) {
  const auto scaled = [dpr](std::int32_t px) {
    const std::int64_t side = round_to_even(std::max(px, 0) * dpr);
    return static_cast<std::int32_t>(std::min<std::int64_t>(side, INT32_MAX));
  };
  return {scaled(padding.top_px), scaled(padding.right_px), scaled(padding.bottom_px),
          scaled(padding.left_px)};
}

}  // namespace framewire::plan
