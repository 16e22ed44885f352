#include <service/url/option_state.hpp>
#include <service/url/values.hpp>

namespace framewire::service::url {
namespace {

constexpr std::string_view kColors = "3 or 6 hexadecimal digits, or three numbers from 0 to 255";
constexpr std::string_view kNothingAccepted = "nothing; this service does not do it";

Applied set_watermark_place(const State& state, OptionArguments arguments, WatermarkOptions& out) {
  if (arguments.size() > 1 && !arguments[1].empty()) {
    const auto type = read_gravity_type(arguments[1]);
    if (!type || type == GravityType::kFp || type == GravityType::kSm) {
      return refuse_argument(state, arguments[1], "ce, no, so, ea, we, noea, nowe, soea, sowe, re");
    }
    out.position = type;
  }
  for (std::size_t i = 2; i < 4 && i < arguments.size(); ++i) {
    if (arguments[i].empty()) continue;
    const auto offset = read_real(arguments[i]);
    if (!offset) return refuse_argument(state, arguments[i], "a number");
    (i == 2 ? out.x_offset : out.y_offset) = offset;
  }
  return {};
}

}  // namespace

Applied apply_trim(State& state, OptionArguments arguments) {
  TrimOptions& trim = state.request.options.trim;
  trim.threshold.reset();  // an empty one turns trimming off
  if (!arguments[0].empty()) {
    trim.threshold = read_real(arguments[0]);
    if (!trim.threshold) return refuse_argument(state, arguments[0], kNothingAccepted);
  }
  if (arguments.size() > 1 && !arguments[1].empty()) {
    trim.color = read_rgb(arguments[1]);
    if (!trim.color) return refuse_argument(state, arguments[1], "3 or 6 hexadecimal digits");
  }
  if (arguments.size() > 2 && !arguments[2].empty()) {
    set_flag(arguments.subspan(2), trim.equal_horizontal);
  }
  if (arguments.size() > 3 && !arguments[3].empty()) {
    set_flag(arguments.subspan(3), trim.equal_vertical);
  }
  return {};
}

Applied apply_background(State& state, OptionArguments arguments) {
  auto& background = state.request.options.background;
  if (arguments.size() == 1) {
    background = read_rgb(arguments[0]);  // an empty one takes the colour off
    if (!background && !arguments[0].empty()) return refuse_argument(state, arguments[0], kColors);
    return {};
  }
  RgbBytes color{};
  for (std::size_t i = 0; i < color.size(); ++i) {
    const auto part = i < arguments.size() ? read_integer(arguments[i], 0, 255) : std::nullopt;
    if (!part) {
      return refuse_argument(state, i < arguments.size() ? arguments[i] : "", kColors);
    }
    color[i] = static_cast<std::uint8_t>(*part);
  }
  background = color;
  return {};
}

// opacity : position : x : y : scale. The open version ignores what follows the scale.
Applied apply_watermark(State& state, OptionArguments arguments) {
  WatermarkOptions& mark = state.request.options.watermark;
  const auto opacity = read_real(arguments[0]);
  if (!opacity || *opacity < 0 || *opacity > 1) {
    return refuse_argument(state, arguments[0], kZeroAccepted);
  }
  mark.opacity = opacity;
  if (auto set = set_watermark_place(state, arguments, mark); !set) return set;
  if (arguments.size() > 4 && !arguments[4].empty()) {
    mark.scale = read_real(arguments[4]);
    if (!mark.scale || *mark.scale <= 0) {
      return refuse_argument(state, arguments[4], "a scale above 0");
    }
  }
  return {};
}

}  // namespace framewire::service::url
