// What the tests of encoders write.
#pragma once

#include <codec/codec.hpp>
#include <cstdint>
#include <plan/plan.hpp>
#include <string>

namespace framewire::conformance {

struct OutputLayout {
  std::string name;
  plan::OutputModel model;
  int component_count;
  std::uint8_t h;  ///< of the first component; the others have 1
  std::uint8_t v;
};

[[nodiscard]] plan::EncodePlan make_plan(const OutputLayout& layout, int width, int height,
                                         int quality);

/// Planes of the plan's sizes, with the picture that make_jpeg() writes.
[[nodiscard]] codec::Planes make_planes(const plan::EncodePlan& plan);

}  // namespace framewire::conformance
