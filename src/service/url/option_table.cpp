#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <limits>
#include <service/url/option_state.hpp>
#include <service/url/text.hpp>
#include <service/url/values.hpp>
#include <utility>

namespace framewire::service::url {
namespace {

constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

struct Option {
  std::string_view names;  ///< as URLs spell it, with spaces between; the long one comes first
  std::size_t max_arguments;
  Handler apply;
  bool security = false;  ///< only where the settings allow such options

  [[nodiscard]] constexpr std::string_view long_name() const {
    return names.substr(0, names.find(' '));
  }
};

constexpr Option kOptions[] = {
    {"resize rs", 8, apply_resize},
    {"size s", 7, apply_size},
    {"resizing_type rt", 1, apply_resizing_type},
    {"width w", 1, apply_whole<&ImageOptions::width>},
    {"height h", 1, apply_whole<&ImageOptions::height>},
    {"min-width mw", 1, apply_whole<&ImageOptions::min_width>},
    {"min-height mh", 1, apply_whole<&ImageOptions::min_height>},
    {"zoom z", 2, apply_zoom},
    {"dpr", 1, apply_dpr},
    {"enlarge el", 1, apply_flag<&ImageOptions::enlarge>},
    {"extend ex", 4, apply_extend},
    {"extend_aspect_ratio extend_ar exar", 4, apply_extend_aspect_ratio},
    {"gravity g", 3, apply_gravity},
    {"crop c", 5, apply_crop},
    {"padding pd", 4, apply_padding},
    {"auto_rotate ar", 1, apply_flag<&ImageOptions::auto_rotate>},
    {"rotate rot", 1, apply_rotate},
    {"flip fl", 2, apply_flip},
    {"trim t", 4, apply_trim},
    {"background bg", 3, apply_background},
    {"blur bl", 1, apply_sigma<&ImageOptions::blur, kZeroAccepted>},
    {"sharpen sh", 1, apply_sigma<&ImageOptions::sharpen>},
    {"pixelate pix", 1, apply_whole<&ImageOptions::pixelate, kZeroOrOneAccepted>},
    {"watermark wm", 7, apply_watermark},
    {"quality q", 1, apply_quality},
    {"format_quality fq", kAny, apply_format_quality},
    {"max_bytes mb", 1, apply_max_bytes},
    {"format f ext", 1, apply_format},
    {"strip_metadata sm", 1, apply_flag<&ImageOptions::strip_metadata>},
    {"keep_copyright kcr", 1, apply_flag<&ImageOptions::keep_copyright>},
    {"strip_color_profile scp", 1, apply_flag<&ImageOptions::strip_color_profile>},
    {"preserve_hdr ph", 1, apply_flag<&ImageOptions::preserve_hdr>},
    {"enforce_thumbnail eth", 1, apply_flag<&ImageOptions::enforce_thumbnail>},
    {"skip_processing skp", kAny, apply_skip_processing},
    {"raw", 1, apply_flag<&ImageRequest::raw>},
    {"cachebuster cb", 1, apply_cachebuster},
    {"expires exp", 1, apply_expires},
    {"filename fn", 2, apply_filename},
    {"return_attachment att", 1, apply_flag<&ImageRequest::return_attachment>},
    {"preset pr", kAny, apply_presets},
    {"max_src_resolution msr", 1, apply_sigma<&ImageOptions::max_src_resolution>, true},
    {"max_src_file_size msfs", 1, apply_max_src_file_size, true},
    {"max_animation_frames maf", 1, apply_max_animation_frames, true},
    {"max_animation_frame_resolution mafr", 1,
     apply_sigma<&ImageOptions::max_animation_frame_resolution>, true},
    {"max_result_dimension mrd", 1, apply_max_result_dimension, true},
};

struct OptionName {
  std::string_view text;
  const Option* option = nullptr;
};

constexpr std::size_t kNames = [] {
  std::size_t names = 0;
  for (const Option& option : kOptions) names += 1 + std::ranges::count(option.names, ' ');
  return names;
}();

constexpr auto kByName = [] {
  std::array<OptionName, kNames> sorted{};
  auto next = sorted.begin();
  for (const Option& option : kOptions) {
    for (std::string_view rest = option.names; !rest.empty();) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      *next++ = {rest.substr(0, end), &option};
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  std::ranges::sort(sorted, {}, &OptionName::text);
  return sorted;
}();

const Option* find_option(std::string_view name) {
  const auto found = std::ranges::lower_bound(kByName, name, {}, &OptionName::text);
  return found != kByName.end() && found->text == name ? found->option : nullptr;
}

// Whether the settings take this option; `name` as written.
Parsed<const Option*> admit(const State& state, std::string_view name, bool trusted) {
  const auto& allowed = state.settings.allowed_processing_options;
  if (!trusted && !allowed.empty() &&
      std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
    return refuse(RequestErrorKind::kForbiddenOption, name,
                  "it is not among the options that this server takes");
  }
  const Option* option = find_option(name);
  if (option == nullptr) {
    return refuse(RequestErrorKind::kUnknownOption, name, "there is no such option");
  }
  if (option->security && !state.settings.allow_security_options) {
    return refuse(RequestErrorKind::kSecurityOption, option->long_name(),
                  "this server takes no options that change its limits");
  }
  return option;
}

}  // namespace

bool is_option(std::string_view name) { return find_option(name) != nullptr; }

std::vector<std::string_view> option_names() {
  std::vector<std::string_view> names;
  for (const OptionName& name : kByName) names.push_back(name.text);
  return names;
}

tl::unexpected<RequestError> refuse_argument(const State& state, std::string_view found,
                                             std::string_view accepted) {
  return refuse(RequestErrorKind::kInvalidArgument, state.option,
                fmt::format("found {}; accepted: {}", quoted(found), accepted));
}

Applied set_whole(State& state, OptionArguments arguments, std::string_view accepted,
                  std::optional<std::int32_t>& out) {
  const auto value = read_integer(arguments[0], 0, std::numeric_limits<std::int32_t>::max());
  if (!value) return refuse_argument(state, arguments[0], accepted);
  out = static_cast<std::int32_t>(*value);
  return {};
}

Applied set_sigma(State& state, OptionArguments arguments, std::string_view accepted,
                  std::optional<double>& out) {
  const auto value = read_real(arguments[0]);
  if (!value || *value < 0) return refuse_argument(state, arguments[0], accepted);
  out = value;
  return {};
}

void set_flag(OptionArguments arguments, std::optional<bool>& out) {
  out = read_bool(arguments[0]);
}

Applied apply_option(State& state, std::string_view segment, bool trusted) {
  const std::string_view separator = state.settings.arguments_separator;
  const std::size_t end = segment.find(separator);
  const auto option = admit(state, segment.substr(0, end), trusted);
  if (!option) return tl::unexpected<RequestError>(option.error());
  const auto arguments = split(segment.substr(end + separator.size()), separator);
  const std::string_view outer = std::exchange(state.option, (*option)->long_name());
  if (arguments.size() > (*option)->max_arguments) {
    return refuse(RequestErrorKind::kInvalidArgument, state.option,
                  fmt::format("found {} arguments; accepted: at most {}", arguments.size(),
                              (*option)->max_arguments));
  }
  auto applied = (*option)->apply(state, arguments);
  state.option = outer;
  return applied;
}

}  // namespace framewire::service::url
