// What is asked of a picture in the tests of whole resizes.
#pragma once

#include <cstdint>
#include <framewire/options.hpp>
#include <string>
#include <vector>

namespace framewire::conformance {

/// One kind of resize: what is asked for, and how the file says to show itself.
struct Wish {
  std::string name;
  ResizeOptions options;
  int orientation = 1;
};

/// Forced to a size, at quality 100.
[[nodiscard]] ResizeOptions sized(std::int32_t width, std::int32_t height,
                                  Sampling sampling = Sampling::k420);

/// Every mode, kernel, sampling, orientation and finishing step, for a picture of 250 × 131.
[[nodiscard]] const std::vector<Wish>& all_wishes();

}  // namespace framewire::conformance
