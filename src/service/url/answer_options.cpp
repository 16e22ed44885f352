#include <base/utf8.hpp>
#include <limits>
#include <service/url/option_state.hpp>
#include <service/url/text.hpp>
#include <service/url/values.hpp>

namespace framewire::service::url {
namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

// A name goes into a header, and there a terminal or a file system may meet it.
bool is_filename(std::string_view text) {
  if (text.size() > kMaxFilenameBytes) return false;
  while (!text.empty()) {
    const base::Utf8Character character = base::first_character(text);
    if (character.bytes == 0 || base::is_control(character.code)) return false;
    text.remove_prefix(character.bytes);
  }
  return true;
}

}  // namespace

Applied apply_cachebuster(State& state, OptionArguments arguments) {
  state.request.cachebuster = std::string(arguments[0]);
  return {};
}

Applied apply_expires(State& state, OptionArguments arguments) {
  const auto moment = read_integer(arguments[0], kMin, kMax);
  if (!moment) {
    return refuse_argument(state, arguments[0],
                           "a time in seconds since 1970, a whole number of 64 bits");
  }
  if (*moment > 0 && *moment < state.now_s) {
    return refuse(RequestErrorKind::kExpired, state.option, "this URL has expired");
  }
  state.request.expires = moment;
  return {};
}

Applied apply_filename(State& state, OptionArguments arguments) {
  std::optional<std::string> name(arguments[0]);
  if (arguments.size() > 1 && read_bool(arguments[1])) {
    std::string_view text = arguments[0];
    text = text.substr(0, text.find_last_not_of('=') + 1);
    name = base64url_decode(text);
  }
  if (!name || !is_filename(*name)) {
    return refuse_argument(state, arguments[0],
                           "UTF-8 of at most 255 bytes without control characters, or its base64 "
                           "and 1");
  }
  state.request.filename = *std::move(name);
  return {};
}

Applied apply_max_src_file_size(State& state, OptionArguments arguments) {
  const auto bytes = read_integer(arguments[0], kMin, kMax);
  if (!bytes) return refuse_argument(state, arguments[0], "a whole number of bytes of 64 bits");
  state.request.options.max_src_file_size = bytes;
  return {};
}

Applied apply_max_animation_frames(State& state, OptionArguments arguments) {
  const auto frames = read_integer(arguments[0], 1, std::numeric_limits<std::int32_t>::max());
  if (!frames) return refuse_argument(state, arguments[0], "a whole number from 1 to 2147483647");
  state.request.options.max_animation_frames = static_cast<std::int32_t>(*frames);
  return {};
}

Applied apply_max_result_dimension(State& state, OptionArguments arguments) {
  const auto side = read_integer(arguments[0], std::numeric_limits<std::int32_t>::min(),
                                 std::numeric_limits<std::int32_t>::max());
  if (!side) {
    return refuse_argument(state, arguments[0], "a whole number from -2147483648 to 2147483647");
  }
  state.request.options.max_result_dimension = static_cast<std::int32_t>(*side);
  return {};
}

}  // namespace framewire::service::url
