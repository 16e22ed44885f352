#include <service/url/option_state.hpp>
#include <service/url/values.hpp>

namespace framewire::service::url {
namespace {

Parsed<double> read_factor(const State& state, std::string_view text) {
  const auto value = read_real(text);
  if (!value || *value <= 0) return refuse_argument(state, text, "a number from 0.0001 to 100000");
  return *value;
}

}  // namespace

// Arguments of resize and size that are empty leave what was set before.
Applied apply_resize(State& state, OptionArguments arguments) {
  if (!arguments[0].empty()) {
    if (auto set = apply_resizing_type(state, arguments.first(1)); !set) return set;
  }
  return arguments.size() > 1 ? apply_size(state, arguments.subspan(1)) : Applied{};
}

Applied apply_size(State& state, OptionArguments arguments) {
  constexpr Handler kParts[] = {apply_whole<&ImageOptions::width>,
                                apply_whole<&ImageOptions::height>,
                                apply_flag<&ImageOptions::enlarge>};
  for (std::size_t i = 0; i < std::size(kParts) && i < arguments.size(); ++i) {
    if (arguments[i].empty()) continue;
    if (auto set = kParts[i](state, arguments.subspan(i, 1)); !set) return set;
  }
  if (arguments.size() < 4 || arguments[3].empty()) return {};
  return apply_extend(state, arguments.subspan(3));
}

Applied apply_resizing_type(State& state, OptionArguments arguments) {
  const auto type = read_resizing_type(arguments[0]);
  if (!type) return refuse_argument(state, arguments[0], "fit, fill, fill-down, force, auto");
  state.request.options.resizing_type = type;
  return {};
}

Applied apply_zoom(State& state, OptionArguments arguments) {
  const auto x = read_factor(state, arguments.front());
  if (!x) return tl::unexpected<RequestError>(x.error());
  const auto y = read_factor(state, arguments.back());
  if (!y) return tl::unexpected<RequestError>(y.error());
  state.request.options.zoom_width = *x;
  state.request.options.zoom_height = *y;
  return {};
}

Applied apply_dpr(State& state, OptionArguments arguments) {
  const auto value = read_factor(state, arguments[0]);
  if (!value) return tl::unexpected<RequestError>(value.error());
  state.request.options.dpr = *value;
  return {};
}

}  // namespace framewire::service::url
