#include <service/url/option_state.hpp>
#include <service/url/values.hpp>

namespace framewire::service::url {
namespace {

Applied set_offset(const State& state, std::string_view text, bool focus,
                   std::optional<double>& out) {
  if (text.empty() && !focus) return {};
  const auto value = read_real(text);
  if (!value || (focus && (*value < 0 || *value > 1))) {
    return refuse_argument(state, text,
                           focus ? "a number from 0 to 1" : "a number from -1000000 to 1000000");
  }
  out = value;
  return {};
}

Applied set_extend(State& state, OptionArguments arguments, ExtendOptions& out) {
  set_flag(arguments, out.enabled);
  if (arguments.size() == 1) return {};
  return set_gravity(state, arguments.subspan(1), false, out.gravity);
}

Applied set_crop_side(const State& state, std::string_view text, std::optional<double>& out) {
  const auto value = read_real(text);
  if (!value || *value < 0) {
    return refuse_argument(state, text,
                           "0 for the whole side, a fraction below 1, or pixels from 1 on");
  }
  out = value;
  return {};
}

}  // namespace

Applied set_gravity(State& state, OptionArguments arguments, bool smart, GravityOptions& out) {
  const auto type = read_gravity_type(arguments[0]);
  if (!type || type == GravityType::kRe || (type == GravityType::kSm && !smart)) {
    return refuse_argument(state, arguments[0], "ce, no, so, ea, we, noea, nowe, soea, sowe, fp");
  }
  const bool focus = type == GravityType::kFp;
  if (type == GravityType::kSm) {
    if (arguments.size() > 1) return refuse_argument(state, arguments[1], "sm alone");
    out = {.type = type, .x_offset = {}, .y_offset = {}};
    return {};
  }
  if (focus && arguments.size() != 3) {
    return refuse_argument(state, arguments[0], "fp with two numbers from 0 to 1");
  }
  out.type = type;
  if (arguments.size() > 1) {
    if (auto set = set_offset(state, arguments[1], focus, out.x_offset); !set) return set;
  }
  if (arguments.size() > 2) return set_offset(state, arguments[2], focus, out.y_offset);
  return {};
}

Applied apply_extend(State& state, OptionArguments arguments) {
  return set_extend(state, arguments, state.request.options.extend);
}

Applied apply_extend_aspect_ratio(State& state, OptionArguments arguments) {
  return set_extend(state, arguments, state.request.options.extend_aspect_ratio);
}

Applied apply_gravity(State& state, OptionArguments arguments) {
  return set_gravity(state, arguments, true, state.request.options.gravity);
}

Applied apply_crop(State& state, OptionArguments arguments) {
  CropOptions& crop = state.request.options.crop;
  if (auto set = set_crop_side(state, arguments[0], crop.width); !set) return set;
  if (arguments.size() > 1) {
    if (auto set = set_crop_side(state, arguments[1], crop.height); !set) return set;
  }
  if (arguments.size() > 2) return set_gravity(state, arguments.subspan(2), true, crop.gravity);
  return {};
}

// As in CSS: a side that is left out has the width of the one opposite, or of the top.
Applied apply_padding(State& state, OptionArguments arguments) {
  PaddingOptions& pad = state.request.options.padding;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].empty()) continue;
    std::optional<std::int32_t> side;
    if (auto set = set_whole(state, arguments.subspan(i, 1), kSideAccepted, side); !set) return set;
    if (i == 0) pad = {.top = side, .right = side, .bottom = side, .left = side};
    if (i == 1) pad.right = pad.left = side;
    if (i == 2) pad.bottom = side;
    if (i == 3) pad.left = side;
  }
  return {};
}

Applied apply_rotate(State& state, OptionArguments arguments) {
  std::optional<std::int32_t> degrees;
  if (!set_whole(state, arguments, {}, degrees) || *degrees % 90 != 0) {
    return refuse_argument(state, arguments[0],
                           "0, 90, 180, 270 and further multiples of 90 below 2147483648");
  }
  state.request.options.rotate = degrees;
  return {};
}

Applied apply_flip(State& state, OptionArguments arguments) {
  FlipOptions& flip = state.request.options.flip;
  if (!arguments[0].empty()) set_flag(arguments, flip.horizontal);
  if (arguments.size() > 1 && !arguments[1].empty()) set_flag(arguments.subspan(1), flip.vertical);
  return {};
}

}  // namespace framewire::service::url
