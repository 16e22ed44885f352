#include <algorithm>
#include <base/checked.hpp>
#include <cmath>
#include <codec/turbo/post_process.hpp>
#include <cstring>
#include <transform/color.hpp>
#include <transform/orient.hpp>
#include <transform/sharpen.hpp>

namespace framewire::codec::turbo {
namespace {

/// Side of the tiles in which planes are turned, so that source and target of the copy stay in
/// cache.
constexpr std::int32_t kTile = 32;

Plane oriented(const Plane& in, int orientation) {
  const bool swapped = transform::swaps_axes(orientation);
  Plane out{swapped ? in.height_px : in.width_px, swapped ? in.width_px : in.height_px, {}};
  out.samples.resize(in.samples.size());
  const auto at = [&](std::int32_t x, std::int32_t y) {
    const auto p = transform::stored_position(orientation, {x, y}, in.width_px, in.height_px);
    return in.samples[static_cast<std::size_t>(p.y) * in.width_px + p.x];
  };
  for (std::int32_t ty = 0; ty < out.height_px; ty += kTile) {
    for (std::int32_t tx = 0; tx < out.width_px; tx += kTile) {
      for (std::int32_t y = ty; y < std::min(ty + kTile, out.height_px); ++y) {
        for (std::int32_t x = tx; x < std::min(tx + kTile, out.width_px); ++x) {
          out.samples[static_cast<std::size_t>(y) * out.width_px + x] = at(x, y);
        }
      }
    }
  }
  return out;
}

Plane pad(const Plane& in, const plan::Plan& plan, int step_x, int step_y, std::uint8_t fill) {
  Plane out{base::ceil_div(plan.encode.width_px, std::int32_t{step_x}),
            base::ceil_div(plan.encode.height_px, std::int32_t{step_y}),
            {}};
  out.samples.assign(static_cast<std::size_t>(out.width_px) * out.height_px, fill);
  const std::int32_t left = plan.placement.x / step_x;
  const std::int32_t top = plan.placement.y / step_y;
  for (std::int32_t y = 0; y < in.height_px; ++y) {
    std::memcpy(&out.samples[static_cast<std::size_t>(top + y) * out.width_px + left],
                &in.samples[static_cast<std::size_t>(y) * in.width_px],
                static_cast<std::size_t>(in.width_px));
  }
  return out;
}

}  // namespace

bool needs_post_process(const plan::Plan& plan) {
  return plan.sharpen_sigma > 0 || plan.orientation != 1 || plan::is_padded(plan);
}

Result<Planes> post_process(Planes planes, const plan::Plan& plan, const base::Deadline& deadline) {
  if (plan.sharpen_sigma > 0 && plan.encode.model != plan::OutputModel::kCmyk) {
    Plane& luma = planes.planes[0];
    if (!transform::sharpen_plane(luma.samples, luma.width_px, luma.height_px, plan.sharpen_sigma,
                                  deadline)) {
      return fail(StatusCode::kDeadline, "the time allowed ran out while sharpening");
    }
  }
  const auto background = plan::background_samples(plan);
  for (std::size_t c = 0; c < planes.planes.size(); ++c) {
    if (plan.orientation != 1) planes.planes[c] = oriented(planes.planes[c], plan.orientation);
    if (!plan::is_padded(plan)) continue;
    const int step_x = c == 0 ? 1 : plan.encode.h[0] / plan.encode.h[c];
    const int step_y = c == 0 ? 1 : plan.encode.v[0] / plan.encode.v[c];
    planes.planes[c] = pad(planes.planes[c], plan, step_x, step_y, background[c]);
  }
  return planes;
}

}  // namespace framewire::codec::turbo
