#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <command_line/lists.hpp>
#include <command_line/misuse.hpp>
#include <command_line/numbers.hpp>
#include <commands/bench/workload.hpp>

namespace framewire::app {
namespace {

std::int32_t scaled(std::int32_t side, double factor) {
  return side == 0 ? 0 : std::max(1, static_cast<std::int32_t>(std::lround(side * factor)));
}

}  // namespace

Result<Variation> parse_variation(const Arguments& arguments) {
  Variation variation;
  const std::string& text = arguments.get("vary");
  if (!text.empty()) {
    for (const std::string& what : split_at_commas(text)) {
      if (what == "size") {
        variation.size = true;
      } else if (what == "width") {
        variation.width = true;
      } else if (what == "crop") {
        variation.crop = true;
      } else if (what == "quality") {
        variation.quality = true;
      } else {
        return misuse(fmt::format(
            "--vary: found '{}'; accepted: size, width, crop and quality, joined by commas", text));
      }
    }
  }
  if (variation.size && variation.width) {
    return misuse("--vary: found size and width; accepted: one of them");
  }
  if (variation.size && arguments.options.width_px == 0 && arguments.options.height_px == 0) {
    return misuse("--vary size: found no --size; the box that sizes vary around is needed");
  }
  if (!parse_number(arguments.get("seed"), variation.seed)) {
    return misuse(fmt::format("--seed: found '{}'; accepted: a whole number from 0 on",
                              arguments.get("seed")));
  }
  return variation;
}

SeededNumbers::SeededNumbers(std::uint64_t seed, std::uint64_t index) : state_(seed) {
  state_ = next() ^ index;
}

std::uint64_t SeededNumbers::next() noexcept {
  std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

double SeededNumbers::uniform(double low, double high) noexcept {
  return low + (high - low) * (static_cast<double>(next() >> 11) * 0x1p-53);
}

ResizeOptions Workload::options(std::uint64_t index) const {
  if (!variation_.any()) return options_;
  ResizeOptions options = options_;
  SeededNumbers numbers(variation_.seed, index);
  if (variation_.size) {
    const double factor = std::sqrt(numbers.uniform(0.25, 1.75));
    options.width_px = scaled(options.width_px, factor);
    options.height_px = scaled(options.height_px, factor);
  }
  if (variation_.width) {
    options.width_px = static_cast<std::int32_t>(numbers.uniform(100, 1601));
    options.height_px = 0;
  }
  if (variation_.crop) {
    options.crop_width = options.crop_height = numbers.uniform(0.6, 1.0);
    options.crop_gravity.emplace();
    options.crop_gravity->anchor = Gravity::Anchor::kFocus;
    options.crop_gravity->focus_x = numbers.uniform(0, 1);
    options.crop_gravity->focus_y = numbers.uniform(0, 1);
  }
  if (variation_.quality) {
    const auto shift = static_cast<int>(std::floor(numbers.uniform(-20, 11)));
    options.quality = std::clamp(options.quality + shift, 1, 100);
  }
  return options;
}

}  // namespace framewire::app
