#include <algorithm>
#include <array>
#include <base/checked.hpp>
#include <cmath>
#include <codec/reference/resample.hpp>
#include <color/converter.hpp>
#include <transform/axis_filter.hpp>
#include <transform/color.hpp>
#include <transform/orient.hpp>
#include <transform/sharpen.hpp>

namespace framewire::codec::reference {
namespace {

Plane make_plane(std::int32_t width_px, std::int32_t height_px, std::uint8_t value = 0) {
  return {width_px, height_px,
          std::vector<std::uint8_t>(static_cast<std::size_t>(width_px) * height_px, value)};
}

std::uint8_t round_sample(double value) {
  return static_cast<std::uint8_t>(std::clamp(std::floor(value + 0.5), 0.0, 255.0));
}

transform::AxisFilter make_filter(const plan::AxisMap& axis, Kernel kernel) {
  return transform::make_axis_filter(kernel, {axis.in_size, axis.out_size, axis.origin, axis.step});
}

/// Converts rows of full-size planes to the encoder's components.
Result<Planes> convert(const Planes& in, const plan::Plan& plan, const Context& context) {
  const color::Converter* converter = context.converter;
  if (converter == nullptr || converter->input_components() != static_cast<int>(in.planes.size()) ||
      converter->output_components() != plan.encode.component_count) {
    return fail(StatusCode::kInternal, "the plan converts colour, but no converter fits it");
  }
  Planes out;
  for (int i = 0; i < plan.encode.component_count; ++i) {
    out.planes.push_back(make_plane(plan.resized_width_px, plan.resized_height_px));
  }
  const auto width = static_cast<std::size_t>(plan.resized_width_px);
  for (std::int32_t y = 0; y < plan.resized_height_px; ++y) {
    if (context.deadline.passed()) {
      return fail(StatusCode::kDeadline, "time ran out while converting colour");
    }
    std::vector<const std::uint8_t*> from;
    std::vector<std::uint8_t*> to;
    for (const Plane& p : in.planes) from.push_back(&p.samples[y * width]);
    for (Plane& p : out.planes) to.push_back(&p.samples[y * width]);
    converter->convert_row(from, to, plan.resized_width_px);
  }
  return out;
}

Result<Planes> resample_all(const Planes& decoded, const plan::Plan& plan, const Context& context) {
  Planes out;
  for (int i = 0; i < plan.plane_count; ++i) {
    if (context.deadline.passed()) {
      return fail(StatusCode::kDeadline, "time ran out while resampling");
    }
    const plan::PlanePlan& plane = plan.planes[static_cast<std::size_t>(i)];
    const auto component = static_cast<std::size_t>(plane.component);
    if (component >= decoded.planes.size() ||
        decoded.planes[component].width_px != plane.x.in_size ||
        decoded.planes[component].height_px != plane.y.in_size) {
      return fail(StatusCode::kInternal,
                  "a decoded plane is not of the size that the plan expects");
    }
    out.planes.push_back(resample(decoded.planes[component], plane, plan.kernel));
  }
  return out;
}

/// Orients, after colour conversion subsamples, and pads one component.
Result<Plane> post_process_plane(const Plane& in, const plan::Plan& plan, std::size_t component,
                                 std::uint8_t background) {
  const plan::EncodePlan& encode = plan.encode;
  const auto count = encode.component_count;
  const int step_x =
      *std::max_element(encode.h.begin(), encode.h.begin() + count) / encode.h[component];
  const int step_y =
      *std::max_element(encode.v.begin(), encode.v.begin() + count) / encode.v[component];
  Plane shown = orient(in, plan.orientation);
  if (plan.color_path == plan::ColorPath::kConvert) shown = box_average(shown, step_x, step_y);
  const std::int32_t width = base::ceil_div(encode.width_px, step_x);
  const std::int32_t height = base::ceil_div(encode.height_px, step_y);
  const std::int32_t x = plan.placement.x / step_x;
  const std::int32_t y = plan.placement.y / step_y;
  if (x < 0 || y < 0 || x + shown.width_px > width || y + shown.height_px > height) {
    return fail(StatusCode::kInternal, "the plan's picture does not fit its canvas");
  }
  return pad(shown, width, height, x, y, background);
}

}  // namespace

Plane resample(const Plane& in, const plan::PlanePlan& plan, Kernel kernel) {
  const transform::AxisFilter across = make_filter(plan.x, kernel);
  const transform::AxisFilter down = make_filter(plan.y, kernel);
  std::vector<double> rows(static_cast<std::size_t>(plan.x.out_size) * in.height_px);
  for (std::int32_t y = 0; y < in.height_px; ++y) {
    for (std::int32_t x = 0; x < plan.x.out_size; ++x) {
      const double* weights = &across.weights[static_cast<std::size_t>(x) * across.taps];
      const std::uint8_t* row =
          &in.samples[static_cast<std::size_t>(y) * in.width_px + across.first[x]];
      double sum = 0.0;
      for (std::int32_t i = 0; i < across.count[x]; ++i) sum += weights[i] * row[i];
      rows[static_cast<std::size_t>(y) * plan.x.out_size + x] = sum;
    }
  }
  Plane out = make_plane(plan.x.out_size, plan.y.out_size);
  std::vector<double> sums(static_cast<std::size_t>(out.width_px));
  for (std::int32_t y = 0; y < out.height_px; ++y) {
    const double* weights = &down.weights[static_cast<std::size_t>(y) * down.taps];
    std::fill(sums.begin(), sums.end(), 0.0);
    for (std::int32_t i = 0; i < down.count[y]; ++i) {
      const double* row = &rows[static_cast<std::size_t>(down.first[y] + i) * out.width_px];
      for (std::int32_t x = 0; x < out.width_px; ++x) sums[x] += weights[i] * row[x];
    }
    std::uint8_t* to = &out.samples[static_cast<std::size_t>(y) * out.width_px];
    for (std::int32_t x = 0; x < out.width_px; ++x) to[x] = round_sample(sums[x]);
  }
  return out;
}

Plane orient(const Plane& in, int orientation) {
  const bool swaps = transform::swaps_axes(orientation);
  Plane out = make_plane(swaps ? in.height_px : in.width_px, swaps ? in.width_px : in.height_px);
  std::size_t to = 0;
  for (std::int32_t y = 0; y < out.height_px; ++y) {
    for (std::int32_t x = 0; x < out.width_px; ++x) {
      const transform::PixelPosition from =
          transform::stored_position(orientation, {x, y}, in.width_px, in.height_px);
      out.samples[to++] = in.samples[static_cast<std::size_t>(from.y) * in.width_px + from.x];
    }
  }
  return out;
}

Plane pad(const Plane& in, std::int32_t width_px, std::int32_t height_px, std::int32_t x_px,
          std::int32_t y_px, std::uint8_t background) {
  Plane out = make_plane(width_px, height_px, background);
  for (std::int32_t y = 0; y < in.height_px; ++y) {
    std::copy_n(&in.samples[static_cast<std::size_t>(y) * in.width_px], in.width_px,
                &out.samples[static_cast<std::size_t>(y + y_px) * width_px + x_px]);
  }
  return out;
}

Plane box_average(const Plane& in, int step_x, int step_y) {
  Plane out = make_plane(base::ceil_div(in.width_px, step_x), base::ceil_div(in.height_px, step_y));
  for (std::int32_t y = 0; y < out.height_px; ++y) {
    for (std::int32_t x = 0; x < out.width_px; ++x) {
      const std::int32_t right = std::min((x + 1) * step_x, in.width_px);
      const std::int32_t bottom = std::min((y + 1) * step_y, in.height_px);
      int sum = 0;
      int count = 0;
      for (std::int32_t j = y * step_y; j < bottom; ++j) {
        for (std::int32_t i = x * step_x; i < right; ++i, ++count) {
          sum += in.samples[static_cast<std::size_t>(j) * in.width_px + i];
        }
      }
      out.samples[static_cast<std::size_t>(y) * out.width_px + x] =
          static_cast<std::uint8_t>((2 * sum + count) / (2 * count));
    }
  }
  return out;
}

Result<Planes> make_output_planes(const Planes& decoded, const plan::Plan& plan,
                                  const Context& context) {
  auto planes = resample_all(decoded, plan, context);
  if (!planes) return planes;
  const bool converts = plan.color_path == plan::ColorPath::kConvert;
  if (converts) {
    planes = convert(*planes, plan, context);
    if (!planes) return planes;
  }
  const plan::EncodePlan& encode = plan.encode;
  if (plan.sharpen_sigma > 0 && encode.model != plan::OutputModel::kCmyk) {
    Plane& luma = planes->planes[0];
    if (!transform::sharpen_plane(luma.samples, luma.width_px, luma.height_px, plan.sharpen_sigma,
                                  context.deadline)) {
      return fail(StatusCode::kDeadline, "the time allowed ran out while sharpening");
    }
  }
  const auto background = plan::background_samples(plan);
  for (std::size_t i = 0; i < planes->planes.size(); ++i) {
    auto processed = post_process_plane(planes->planes[i], plan, i, background[i]);
    if (!processed) return fail(std::move(processed.error()));
    planes->planes[i] = std::move(*processed);
  }
  return planes;
}

}  // namespace framewire::codec::reference
