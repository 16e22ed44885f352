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
  std::string_view name;  ///< as URLs spell it
  std::string_view long_name;
  std::size_t most_arguments;
  Handler apply;
  bool security = false;  ///< only where the settings allow such options
};

constexpr Option kOptions[] = {
    {"resize", "resize", 8, apply_resize},
    {"rs", "resize", 8, apply_resize},
    {"size", "size", 7, apply_size},
    {"s", "size", 7, apply_size},
    {"resizing_type", "resizing_type", 1, apply_resizing_type},
    {"rt", "resizing_type", 1, apply_resizing_type},
    {"width", "width", 1, apply_width},
    {"w", "width", 1, apply_width},
    {"height", "height", 1, apply_height},
    {"h", "height", 1, apply_height},
    {"min-width", "min-width", 1, apply_min_width},
    {"mw", "min-width", 1, apply_min_width},
    {"min-height", "min-height", 1, apply_min_height},
    {"mh", "min-height", 1, apply_min_height},
    {"zoom", "zoom", 2, apply_zoom},
    {"z", "zoom", 2, apply_zoom},
    {"dpr", "dpr", 1, apply_dpr},
    {"enlarge", "enlarge", 1, apply_enlarge},
    {"el", "enlarge", 1, apply_enlarge},
    {"extend", "extend", 4, apply_extend},
    {"ex", "extend", 4, apply_extend},
    {"extend_aspect_ratio", "extend_aspect_ratio", 4, apply_extend_aspect_ratio},
    {"extend_ar", "extend_aspect_ratio", 4, apply_extend_aspect_ratio},
    {"exar", "extend_aspect_ratio", 4, apply_extend_aspect_ratio},
    {"gravity", "gravity", 3, apply_gravity},
    {"g", "gravity", 3, apply_gravity},
    {"crop", "crop", 5, apply_crop},
    {"c", "crop", 5, apply_crop},
    {"padding", "padding", 4, apply_padding},
    {"pd", "padding", 4, apply_padding},
    {"auto_rotate", "auto_rotate", 1, apply_auto_rotate},
    {"ar", "auto_rotate", 1, apply_auto_rotate},
    {"rotate", "rotate", 1, apply_rotate},
    {"rot", "rotate", 1, apply_rotate},
    {"flip", "flip", 2, apply_flip},
    {"fl", "flip", 2, apply_flip},
    {"trim", "trim", 4, apply_trim},
    {"t", "trim", 4, apply_trim},
    {"background", "background", 3, apply_background},
    {"bg", "background", 3, apply_background},
    {"blur", "blur", 1, apply_blur},
    {"bl", "blur", 1, apply_blur},
    {"sharpen", "sharpen", 1, apply_sharpen},
    {"sh", "sharpen", 1, apply_sharpen},
    {"pixelate", "pixelate", 1, apply_pixelate},
    {"pix", "pixelate", 1, apply_pixelate},
    {"watermark", "watermark", 7, apply_watermark},
    {"wm", "watermark", 7, apply_watermark},
    {"quality", "quality", 1, apply_quality},
    {"q", "quality", 1, apply_quality},
    {"format_quality", "format_quality", kAny, apply_format_quality},
    {"fq", "format_quality", kAny, apply_format_quality},
    {"max_bytes", "max_bytes", 1, apply_max_bytes},
    {"mb", "max_bytes", 1, apply_max_bytes},
    {"format", "format", 1, apply_format},
    {"f", "format", 1, apply_format},
    {"ext", "format", 1, apply_format},
    {"strip_metadata", "strip_metadata", 1, apply_strip_metadata},
    {"sm", "strip_metadata", 1, apply_strip_metadata},
    {"keep_copyright", "keep_copyright", 1, apply_keep_copyright},
    {"kcr", "keep_copyright", 1, apply_keep_copyright},
    {"strip_color_profile", "strip_color_profile", 1, apply_strip_color_profile},
    {"scp", "strip_color_profile", 1, apply_strip_color_profile},
    {"preserve_hdr", "preserve_hdr", 1, apply_preserve_hdr},
    {"ph", "preserve_hdr", 1, apply_preserve_hdr},
    {"enforce_thumbnail", "enforce_thumbnail", 1, apply_enforce_thumbnail},
    {"eth", "enforce_thumbnail", 1, apply_enforce_thumbnail},
    {"skip_processing", "skip_processing", kAny, apply_skip_processing},
    {"skp", "skip_processing", kAny, apply_skip_processing},
    {"raw", "raw", 1, apply_raw},
    {"cachebuster", "cachebuster", 1, apply_cachebuster},
    {"cb", "cachebuster", 1, apply_cachebuster},
    {"expires", "expires", 1, apply_expires},
    {"exp", "expires", 1, apply_expires},
    {"filename", "filename", 2, apply_filename},
    {"fn", "filename", 2, apply_filename},
    {"return_attachment", "return_attachment", 1, apply_return_attachment},
    {"att", "return_attachment", 1, apply_return_attachment},
    {"preset", "preset", kAny, apply_presets},
    {"pr", "preset", kAny, apply_presets},
    {"max_src_resolution", "max_src_resolution", 1, apply_max_src_resolution, true},
    {"msr", "max_src_resolution", 1, apply_max_src_resolution, true},
    {"max_src_file_size", "max_src_file_size", 1, apply_max_src_file_size, true},
    {"msfs", "max_src_file_size", 1, apply_max_src_file_size, true},
    {"max_animation_frames", "max_animation_frames", 1, apply_max_animation_frames, true},
    {"maf", "max_animation_frames", 1, apply_max_animation_frames, true},
    {"max_animation_frame_resolution", "max_animation_frame_resolution", 1,
     apply_max_animation_frame_resolution, true},
    {"mafr", "max_animation_frame_resolution", 1, apply_max_animation_frame_resolution, true},
    {"max_result_dimension", "max_result_dimension", 1, apply_max_result_dimension, true},
    {"mrd", "max_result_dimension", 1, apply_max_result_dimension, true},
};

constexpr auto kByName = [] {
  std::array<Option, std::size(kOptions)> sorted{};
  std::copy(std::begin(kOptions), std::end(kOptions), sorted.begin());
  std::sort(sorted.begin(), sorted.end(),
            [](const Option& a, const Option& b) { return a.name < b.name; });
  return sorted;
}();

const Option* find_option(std::string_view name) {
  const auto found = std::lower_bound(
      kByName.begin(), kByName.end(), name,
      [](const Option& option, std::string_view key) { return option.name < key; });
  return found != kByName.end() && found->name == name ? &*found : nullptr;
}

// Whether the settings take this option; `name` as written.
Parsed<const Option*> admit(const State& state, std::string_view name, bool trusted) {
  const auto& allowed = state.settings.allowed_processing_options;
  if (!trusted && !allowed.empty() &&
      std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
    return refuse(RequestErrorKind::kForbiddenOption, name,
                  fmt::format("option {} is not among those that this server takes", quoted(name)));
  }
  const Option* option = find_option(name);
  if (option == nullptr) {
    return refuse(RequestErrorKind::kUnknownOption, name,
                  fmt::format("there is no option {}", quoted(name)));
  }
  if (option->security && !state.settings.allow_security_options) {
    return refuse(
        RequestErrorKind::kSecurityOption, option->long_name,
        fmt::format("{}: this server takes no options that change its limits", option->long_name));
  }
  return option;
}

}  // namespace

bool is_option(std::string_view name) { return find_option(name) != nullptr; }

std::vector<std::string_view> option_names() {
  std::vector<std::string_view> names;
  for (const Option& option : kByName) names.push_back(option.name);
  return names;
}

tl::unexpected<RequestError> refuse_argument(const State& state, std::string_view found,
                                             std::string_view accepted) {
  return refuse(RequestErrorKind::kInvalidArgument, state.option,
                fmt::format("{}: found {}; accepted: {}", state.option, quoted(found), accepted));
}

Applied set_whole(State& state, Arguments arguments, std::optional<std::int32_t>& out) {
  const auto value = read_integer(arguments[0], 0, std::numeric_limits<std::int32_t>::max());
  if (!value) return refuse_argument(state, arguments[0], kWholeNumber);
  out = static_cast<std::int32_t>(*value);
  return {};
}

Applied set_sigma(State& state, Arguments arguments, std::optional<double>& out) {
  const auto value = read_real(arguments[0]);
  if (!value || *value < 0) return refuse_argument(state, arguments[0], "a number from 0 on");
  out = value;
  return {};
}

void set_flag(Arguments arguments, std::optional<bool>& out) { out = read_bool(arguments[0]); }

Applied apply_option(State& state, std::string_view segment, bool trusted) {
  const std::string_view separator = state.settings.arguments_separator;
  const std::size_t end = segment.find(separator);
  const auto option = admit(state, segment.substr(0, end), trusted);
  if (!option) return tl::unexpected<RequestError>(option.error());
  const auto arguments = split(segment.substr(end + separator.size()), separator);
  const std::string_view outer = std::exchange(state.option, (*option)->long_name);
  if (arguments.size() > (*option)->most_arguments) {
    return refuse(RequestErrorKind::kInvalidArgument, state.option,
                  fmt::format("{}: found {} arguments; accepted: at most {}", state.option,
                              arguments.size(), (*option)->most_arguments));
  }
  auto applied = (*option)->apply(state, arguments);
  state.option = outer;
  return applied;
}

}  // namespace framewire::service::url
