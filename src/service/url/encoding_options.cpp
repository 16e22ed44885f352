#include <algorithm>
#include <limits>
#include <service/url/option_state.hpp>
#include <service/url/values.hpp>

namespace framewire::service::url {
namespace {

// Formats of sources. Results are JPEGs alone.
constexpr std::string_view kSourceFormats =
    "jpg, jpeg, png, webp, avif, gif, ico, bmp, tiff, jxl, heic, svg";

Parsed<std::int32_t> read_quality(const State& state, std::string_view text) {
  const auto value = read_integer(text, 0, 100);
  if (!value) return refuse_argument(state, text, "a whole number from 0 to 100");
  return static_cast<std::int32_t>(*value);
}

Parsed<Format> read_format_of(const State& state, std::string_view text,
                              std::string_view accepted = kSourceFormats) {
  const auto format = read_format(text);
  if (!format) return refuse_argument(state, text, accepted);
  return *format;
}

}  // namespace

Applied apply_quality(State& state, OptionArguments arguments) {
  const auto quality = read_quality(state, arguments[0]);
  if (!quality) return tl::unexpected<RequestError>(quality.error());
  state.request.options.quality = *quality;
  return {};
}

Applied apply_format_quality(State& state, OptionArguments arguments) {
  if (arguments.size() % 2 != 0) {
    return refuse_argument(state, arguments.back(), "pairs of a format and its quality");
  }
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const auto format = read_format_of(state, arguments[i]);
    if (!format) return tl::unexpected<RequestError>(format.error());
    const auto quality = read_quality(state, arguments[i + 1]);
    if (!quality) return tl::unexpected<RequestError>(quality.error());
    state.request.options.format_quality[static_cast<std::size_t>(*format)] = *quality;
  }
  return {};
}

Applied apply_max_bytes(State& state, OptionArguments arguments) {
  const auto bytes = read_integer(arguments[0], 0, std::numeric_limits<std::int64_t>::max());
  if (!bytes) {
    return refuse_argument(state, arguments[0],
                           "a whole number of bytes from 0 to 9223372036854775807");
  }
  state.request.options.max_bytes = bytes;
  return {};
}

Applied apply_format(State& state, OptionArguments arguments) {
  const auto format = read_format_of(state, arguments[0], "jpg, jpeg");
  if (!format) return tl::unexpected<RequestError>(format.error());
  state.request.options.format = *format;
  return {};
}

// Adds to what presets and earlier options have named. Kept sorted and without repetition, so that
// the list is as short as there are formats.
Applied apply_skip_processing(State& state, OptionArguments arguments) {
  auto& skipped = state.request.options.skip_processing;
  for (const std::string_view argument : arguments) {
    const auto format = read_format_of(state, argument);
    if (!format) return tl::unexpected<RequestError>(format.error());
    const auto at = std::lower_bound(skipped.begin(), skipped.end(), *format);
    if (at == skipped.end() || *at != *format) skipped.insert(at, *format);
  }
  return {};
}

}  // namespace framewire::service::url
