// The figures of the system that this project began from.
#pragma once

#include <commands/bench/serve/plan.hpp>
#include <cstdint>
#include <optional>

namespace framewire::app::bench_serve {

/// Sizes of an input and its output, pixels.
struct ImageSizes {
  std::int32_t in_width_px = 0;
  std::int32_t in_height_px = 0;
  std::int32_t out_width_px = 0;
  std::int32_t out_height_px = 0;
  friend bool operator==(const ImageSizes&, const ImageSizes&) = default;
};

/// Images a second, of all clients together.
struct Published {
  unsigned without_mps = 0;
  unsigned with_mps = 0;
};

/// Machine, codec settings and clients of the figures, in one line.
[[nodiscard]] std::string_view published_conditions() noexcept;

/// Whether what is asked for is what was published: quality 90, 4:2:0, restart interval 10, and
/// nothing else that costs work. The inputs must have restart interval 1, and one size.
[[nodiscard]] bool is_published_work(const ResizeOptions& options);

/// @return nothing where there is no such row
[[nodiscard]] std::optional<Published> published(const ImageSizes& sizes, unsigned servers,
                                                 unsigned clients);

}  // namespace framewire::app::bench_serve
