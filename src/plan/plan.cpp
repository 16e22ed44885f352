#include <algorithm>
#include <array>
#include <base/checked.hpp>
#include <cmath>
#include <jpeg/parser.hpp>
#include <plan/plan.hpp>
#include <transform/color.hpp>
#include <transform/orient.hpp>

namespace framewire::plan {
namespace {

using jpeg::ColorModel;
using jpeg::FrameHeader;

/// Chroma sample size in output pixels, as displayed.
struct ChromaStep {
  int x = 1;
  int y = 1;
};

/// Axes of the stored picture relative to the displayed one (EXIF orientation 1 to 8).
struct Axes {
  bool swapped = false;  ///< stored x runs along displayed y
  bool flip_x = false;   ///< stored x runs backwards
  bool flip_y = false;
};

Axes axes_of(int orientation) {
  return {orientation >= 5,
          orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8,
          orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7};
}

/// A rectangle of the displayed picture, in stored coordinates.
SourceRect to_stored(const SourceRect& shown, const Axes& axes, const FrameHeader& frame) {
  SourceRect r = shown;
  if (axes.swapped) r = {shown.y, shown.x, shown.height, shown.width};
  if (axes.flip_x) r.x = frame.width_px - r.x - r.width;
  if (axes.flip_y) r.y = frame.height_px - r.y - r.height;
  return r;
}

/// The file's orientation, if it counts, then the turn and the flip that were asked for.
int orientation_of(const jpeg::JpegFile& file, const ResizeOptions& options) {
  int orientation = options.auto_orient ? file.orientation : 1;
  for (int turns = static_cast<int>(options.rotate); turns > 0; --turns) {
    orientation = transform::turned_clockwise(orientation);
  }
  if (options.flip == Flip::kHorizontal || options.flip == Flip::kBoth) {
    orientation = transform::mirrored(orientation);
  }
  if (options.flip == Flip::kVertical || options.flip == Flip::kBoth) {
    orientation = transform::turned_over(orientation);
  }
  return orientation;
}

/// The input's own chroma step as displayed, where an encoder can write it.
ChromaStep input_step(const FrameHeader& frame, const Axes& axes) {
  const auto& y = frame.components[0];
  const auto& cb = frame.components[1];
  const auto& cr = frame.components[2];
  const bool plain = frame.component_count == 3 && y.h == frame.h_max && y.v == frame.v_max &&
                     cb.h == cr.h && cb.v == cr.v && y.h % cb.h == 0 && y.v % cb.v == 0;
  if (!plain) return {1, 1};
  const ChromaStep stored{y.h / cb.h, y.v / cb.v};
  if (stored.x * stored.y > 8) return {1, 1};  // more than ten blocks an MCU
  return axes.swapped ? ChromaStep{stored.y, stored.x} : stored;
}

ChromaStep output_step(Sampling sampling, const jpeg::JpegFile& file, const Axes& axes) {
  switch (sampling) {
    case Sampling::k422:
      return {2, 1};
    case Sampling::k420:
      return {2, 2};
    case Sampling::k440:
      return {1, 2};
    case Sampling::kKeep:
      return file.color_model == ColorModel::kYcbcr ? input_step(file.frame, axes) : ChromaStep{};
    case Sampling::k444:
    case Sampling::kGray:
      break;
  }
  return {1, 1};
}

OutputModel output_model(const jpeg::JpegFile& file, const ResizeOptions& options) {
  if (file.color_model == ColorModel::kGray) return OutputModel::kGray;
  const bool cmyk = file.color_model == ColorModel::kCmyk || file.color_model == ColorModel::kYcck;
  if (cmyk && options.color == ColorMode::kKeep) return OutputModel::kCmyk;
  return options.sampling == Sampling::kGray ? OutputModel::kGray : OutputModel::kYcbcr;
}

EncodePlan make_encode_plan(const Geometry& geometry, OutputModel model, ChromaStep step,
                            const ResizeOptions& options) {
  EncodePlan encode;
  encode.width_px = geometry.canvas_width_px;
  encode.height_px = geometry.canvas_height_px;
  encode.model = model;
  encode.component_count = model == OutputModel::kGray ? 1 : model == OutputModel::kCmyk ? 4 : 3;
  if (model == OutputModel::kYcbcr) {
    encode.h[0] = static_cast<std::uint8_t>(step.x);
    encode.v[0] = static_cast<std::uint8_t>(step.y);
  }
  encode.quality = options.quality;
  encode.progressive = options.progressive;
  encode.optimize_huffman = options.optimize_huffman;
  encode.restart_interval_mcus = options.restart_interval_mcus;
  encode.max_bytes = options.max_bytes;
  return encode;
}

/// One axis of one plane at full decode scale. `factor` is the output sample's width in output
/// pixels, `density` the component's samples per full-size pixel.
AxisMap map_axis(double source_start, double source_size, std::int32_t picture_size, int factor,
                 bool flipped, std::int32_t component_size, double density) {
  AxisMap axis;
  axis.in_size = component_size;
  axis.out_size = base::ceil_div(picture_size, static_cast<std::int32_t>(factor));
  const double pixel = source_size / picture_size;
  // The sample grid starts at the displayed edge; seen from the other end of an axis whose size is
  // no multiple of the factor, it starts before the picture.
  const double shift = flipped ? picture_size - static_cast<double>(factor) * axis.out_size : 0.0;
  axis.origin = (source_start + shift * pixel) * density;
  axis.step = factor * pixel * density;
  return axis;
}

PlanePlan map_plane(const Plan& plan, const SourceRect& source, const FrameHeader& frame,
                    int component, ChromaStep step, const Axes& axes) {
  const auto& c = frame.components[static_cast<std::size_t>(component)];
  PlanePlan plane;
  plane.component = component;
  plane.x = map_axis(source.x, source.width, plan.resized_width_px, step.x, axes.flip_x, c.width_px,
                     static_cast<double>(c.h) / frame.h_max);
  plane.y = map_axis(source.y, source.height, plan.resized_height_px, step.y, axes.flip_y,
                     c.height_px, static_cast<double>(c.v) / frame.v_max);
  return plane;
}

/// Shrinking each dct_block by itself aliases, so at least this much of the reduction is left to
/// the filter. A little less than two, so that 12-megapixel
/// photographs (4,000 or 4,032 wide) need no full decode to become 1,024 wide; figures in
/// docs/decisions/0002.
constexpr double kMinFilterStep = 1.95;

/// Whether decoding at `scale`/8 leaves enough of the reduction, in both axes, to the filter and to
/// the averaging of `after` samples to one, which follows it.
bool leaves_enough(const PlanePlan& plane, int scale, ChromaStep after) {
  return std::min(plane.x.step * after.x, plane.y.step * after.y) * scale / 8.0 >=
         kMinFilterStep - 1e-9;
}

/// @param averaged  how many chroma samples are averaged to one behind the filter
Scales choose_scales(const Plan& plan, const Capabilities& capabilities, ChromaStep averaged) {
  Scales scales = kFullScale;
  if (!capabilities.scaled_decode || plan.kernel == Kernel::kNearest) return scales;
  for (int i = 0; i < plan.plane_count; ++i) {
    const PlanePlan& plane = plan.planes[static_cast<std::size_t>(i)];
    for (const int n : kReducedScales) {
      if (leaves_enough(plane, n, i > 0 ? averaged : ChromaStep{})) {
        scales[static_cast<std::size_t>(plane.component)] = n;
        break;
      }
    }
  }
  return scales;
}

void apply_scale(AxisMap& axis, int scale) {
  axis.in_size = base::ceil_div(axis.in_size * scale, 8);
  axis.origin = axis.origin * scale / 8.0;
  axis.step = axis.step * scale / 8.0;
}

/// Fills in the planes and the scales of a plan whose sizes and colour path are decided.
/// @param step  of the output's chroma
void map_planes(Plan& plan, const SourceRect& source, const jpeg::JpegFile& file, ChromaStep step,
                const Axes& axes, const Capabilities& capabilities) {
  const FrameHeader& frame = file.frame;
  const bool planar = plan.color_path == ColorPath::kPlanar;
  const ChromaStep stored = axes.swapped ? ChromaStep{step.y, step.x} : step;
  plan.plane_count = planar ? plan.encode.component_count : frame.component_count;
  for (int i = 0; i < plan.plane_count; ++i) {
    plan.planes[static_cast<std::size_t>(i)] =
        map_plane(plan, source, frame, i, planar && i > 0 ? stored : ChromaStep{}, axes);
  }
  // Conversion makes chroma at the output's full size, and the encoder then averages `stored`
  // samples to one.
  const bool averaged = !planar && file.color_model == ColorModel::kYcbcr;
  plan.scales = choose_scales(plan, capabilities, averaged ? stored : ChromaStep{});
  for (int i = 0; i < plan.plane_count; ++i) {
    PlanePlan& plane = plan.planes[static_cast<std::size_t>(i)];
    const int scale = plan.scales[static_cast<std::size_t>(plane.component)];
    apply_scale(plane.x, scale);
    apply_scale(plane.y, scale);
  }
}

}  // namespace

Result<Plan> make_plan(const jpeg::JpegFile& file, const ResizeOptions& options,
                       const Capabilities& capabilities, bool convertible_icc) {
  if (auto ok = jpeg::check_supported(file); !ok) return fail(ok.error());
  const FrameHeader& frame = file.frame;
  Plan plan;
  plan.orientation = orientation_of(file, options);
  const Axes axes = axes_of(plan.orientation);
  auto geometry = make_geometry(axes.swapped ? frame.height_px : frame.width_px,
                                axes.swapped ? frame.width_px : frame.height_px, options);
  if (!geometry) return fail(geometry.error());

  const OutputModel model = output_model(file, options);
  const ChromaStep step =
      model == OutputModel::kYcbcr ? output_step(options.sampling, file, axes) : ChromaStep{1, 1};
  plan.encode = make_encode_plan(*geometry, model, step, options);
  plan.source = to_stored(geometry->source, axes, frame);
  plan.resized_width_px = geometry->picture_width_px;
  plan.resized_height_px = geometry->picture_height_px;
  if (axes.swapped) std::swap(plan.resized_width_px, plan.resized_height_px);
  plan.kernel = options.kernel;
  plan.sharpen_sigma = options.sharpen_sigma;
  plan.background = options.background;
  plan.placement = {geometry->offset_x_px / step.x * step.x,
                    geometry->offset_y_px / step.y * step.y, geometry->picture_width_px,
                    geometry->picture_height_px};

  plan.convert_icc = convertible_icc && options.color == ColorMode::kSrgb;
  const bool planar_model =
      file.color_model == ColorModel::kGray || file.color_model == ColorModel::kYcbcr;
  plan.color_path = planar_model && !plan.convert_icc ? ColorPath::kPlanar : ColorPath::kConvert;
  map_planes(plan, plan.source, file, step, axes, capabilities);
  return plan;
}

std::array<std::uint8_t, 4> background_samples(const Plan& plan) {
  const auto round = [](double v) {
    return static_cast<std::uint8_t>(std::clamp(std::floor(v + 0.5), 0.0, 255.0));
  };
  const auto& b = plan.background;
  if (plan.encode.model == OutputModel::kCmyk) return {b[0], b[1], b[2], 255};
  const auto ycc = transform::rgb_to_ycbcr(transform::Rgb<double>{
      static_cast<double>(b[0]), static_cast<double>(b[1]), static_cast<double>(b[2])});
  return {round(ycc.y), round(ycc.cb), round(ycc.cr), 0};
}

Result<Plan> make_gain_map_plan(const jpeg::JpegFile& gain_map, const Plan& primary,
                                const FrameHeader& primary_frame, const ResizeOptions& options,
                                const Capabilities& capabilities) {
  if (auto ok = jpeg::check_supported(gain_map); !ok) return fail(ok.error());
  if (gain_map.color_model != ColorModel::kGray && gain_map.color_model != ColorModel::kYcbcr) {
    return fail(Status(StatusCode::kUnsupported,
                       "a gain map must be gray or YCbCr; found another colour model")
                    .at(gain_map.frame.offset));
  }
  const FrameHeader& frame = gain_map.frame;
  const double scale_x = static_cast<double>(frame.width_px) / primary_frame.width_px;
  const double scale_y = static_cast<double>(frame.height_px) / primary_frame.height_px;
  Plan plan;
  plan.orientation = primary.orientation;
  plan.kernel = primary.kernel;
  const auto shrink = [](std::int32_t px, double scale) {
    return std::max(1, static_cast<std::int32_t>(std::lround(px * scale)));
  };
  plan.resized_width_px = shrink(primary.resized_width_px, std::min(1.0, scale_x));
  plan.resized_height_px = shrink(primary.resized_height_px, std::min(1.0, scale_y));
  plan.source = {primary.source.x * scale_x, primary.source.y * scale_y,
                 primary.source.width * scale_x, primary.source.height * scale_y};
  const Axes axes = axes_of(plan.orientation);
  Geometry geometry;
  geometry.canvas_width_px = axes.swapped ? plan.resized_height_px : plan.resized_width_px;
  geometry.canvas_height_px = axes.swapped ? plan.resized_width_px : plan.resized_height_px;
  const bool gray = gain_map.color_model == ColorModel::kGray;
  // Chroma of a gain map is gain, not colour: the eye's tolerance for coarse chroma does not hold.
  const ChromaStep step{1, 1};
  plan.encode =
      make_encode_plan(geometry, gray ? OutputModel::kGray : OutputModel::kYcbcr, step, options);
  plan.encode.max_bytes = 0;
  plan.placement = {0, 0, geometry.canvas_width_px, geometry.canvas_height_px};
  map_planes(plan, plan.source, gain_map, step, axes, capabilities);
  return plan;
}

}  // namespace framewire::plan
