#include <tests/conformance/cases.hpp>
#include <tests/conformance/outputs.hpp>

namespace framewire::conformance {

plan::EncodePlan make_plan(const OutputLayout& layout, int width, int height, int quality) {
  plan::EncodePlan plan;
  plan.width_px = width;
  plan.height_px = height;
  plan.model = layout.model;
  plan.component_count = layout.component_count;
  plan.h[0] = layout.h;
  plan.v[0] = layout.v;
  plan.quality = quality;
  return plan;
}

codec::Planes make_planes(const plan::EncodePlan& plan) {
  codec::Planes planes;
  for (int i = 0; i < plan.component_count; ++i) {
    const auto n = static_cast<std::size_t>(i);
    codec::Plane plane;
    plane.width_px = (plan.width_px * plan.h[n] + plan.h[0] - 1) / plan.h[0];
    plane.height_px = (plan.height_px * plan.v[n] + plan.v[0] - 1) / plan.v[0];
    for (int y = 0; y < plane.height_px; ++y) {
      for (int x = 0; x < plane.width_px; ++x) plane.samples.push_back(picture_sample(i, x, y, 5));
    }
    planes.planes.push_back(std::move(plane));
  }
  return planes;
}

}  // namespace framewire::conformance
