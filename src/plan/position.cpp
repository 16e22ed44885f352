#include <algorithm>
#include <cmath>
#include <plan/position.hpp>
#include <plan/scaling.hpp>

namespace framewire::plan {
namespace {

enum class Towards : std::uint8_t { kStart, kMiddle, kEnd };

struct CompassPoint {
  Towards x = Towards::kMiddle;
  Towards y = Towards::kMiddle;
};

CompassPoint direction_of(Gravity::Anchor anchor) {
  using A = Gravity::Anchor;
  using T = Towards;
  switch (anchor) {
    case A::kNo:
      return {T::kMiddle, T::kStart};
    case A::kSo:
      return {T::kMiddle, T::kEnd};
    case A::kEa:
      return {T::kEnd, T::kMiddle};
    case A::kWe:
      return {T::kStart, T::kMiddle};
    case A::kNoEa:
      return {T::kEnd, T::kStart};
    case A::kNoWe:
      return {T::kStart, T::kStart};
    case A::kSoEa:
      return {T::kEnd, T::kEnd};
    case A::kSoWe:
      return {T::kStart, T::kEnd};
    case A::kCe:
    case A::kFocus:
      break;
  }
  return {};
}

/// A fraction of a side, or an offset below 1.
std::int64_t part_of(std::int64_t side, double fraction) {
  return round_to_even(static_cast<double>(side) * fraction);
}

std::int64_t start_of(std::int64_t side, std::int64_t part, Towards towards, double offset,
                      double dpr) {
  const std::int64_t room = side - part;
  const std::int64_t shift =
      std::fabs(offset) >= 1 ? round_to_even(offset * dpr) : part_of(side, offset);
  switch (towards) {
    case Towards::kStart:
      return shift;
    case Towards::kEnd:
      return room - shift;
    case Towards::kMiddle:
      break;
  }
  return round_to_even(static_cast<double>(room + 1) / 2) + shift;
}

std::int64_t held_inside(std::int64_t start, std::int64_t room) {
  return std::clamp<std::int64_t>(start, 0, std::max<std::int64_t>(0, room));
}

}  // namespace

Position find_position(std::int64_t width, std::int64_t height, std::int64_t part_width,
                       std::int64_t part_height, const Gravity& gravity, double dpr) {
  Position at;
  if (gravity.anchor == Gravity::Anchor::kFocus) {
    at = {part_of(width, gravity.focus_x) - part_width / 2,
          part_of(height, gravity.focus_y) - part_height / 2};
  } else {
    const CompassPoint to = direction_of(gravity.anchor);
    at = {start_of(width, part_width, to.x, gravity.offset_x, dpr),
          start_of(height, part_height, to.y, gravity.offset_y, dpr)};
  }
  return {held_inside(at.x, width - part_width), held_inside(at.y, height - part_height)};
}

}  // namespace framewire::plan
