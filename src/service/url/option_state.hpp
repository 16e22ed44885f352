// What the handlers of single options share. Internal to this folder.
#pragma once

#include <cstdint>
#include <service/url/image_request.hpp>
#include <service/url/presets.hpp>
#include <service/url/request_error.hpp>
#include <service/url/settings.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace framewire::service::url {

using OptionArguments = std::span<const std::string_view>;  ///< never empty; single ones may be
using Applied = Parsed<void>;

/// A request in the making, and by which rules.
struct State {
  const UrlSettings& settings;
  const Presets& presets;
  std::int64_t now_s = 0;

  ImageRequest request;
  std::string_view option;         ///< the long name under which to report
  std::vector<bool> used_presets;  ///< by index in `presets`; empty before the first
  int depth = 0;                   ///< of presets that name presets
};

/// invalid_argument about state.option: what was found and what would be accepted.
[[nodiscard]] tl::unexpected<RequestError> refuse_argument(const State& state,
                                                           std::string_view found,
                                                           std::string_view accepted);

using Handler = Applied (*)(State&, OptionArguments);

// size_options.cpp
Applied apply_resize(State&, OptionArguments);
Applied apply_size(State&, OptionArguments);
Applied apply_resizing_type(State&, OptionArguments);
Applied apply_zoom(State&, OptionArguments);
Applied apply_dpr(State&, OptionArguments);
// place_options.cpp
Applied apply_extend(State&, OptionArguments);
Applied apply_extend_aspect_ratio(State&, OptionArguments);
Applied apply_gravity(State&, OptionArguments);
Applied apply_crop(State&, OptionArguments);
Applied apply_padding(State&, OptionArguments);
Applied apply_rotate(State&, OptionArguments);
Applied apply_flip(State&, OptionArguments);
// picture_options.cpp
Applied apply_trim(State&, OptionArguments);
Applied apply_background(State&, OptionArguments);
Applied apply_watermark(State&, OptionArguments);
// encoding_options.cpp
Applied apply_quality(State&, OptionArguments);
Applied apply_format_quality(State&, OptionArguments);
Applied apply_max_bytes(State&, OptionArguments);
Applied apply_format(State&, OptionArguments);
Applied apply_skip_processing(State&, OptionArguments);
// answer_options.cpp
Applied apply_cachebuster(State&, OptionArguments);
Applied apply_expires(State&, OptionArguments);
Applied apply_filename(State&, OptionArguments);
Applied apply_max_src_file_size(State&, OptionArguments);
Applied apply_max_animation_frames(State&, OptionArguments);
Applied apply_max_result_dimension(State&, OptionArguments);
// presets.cpp
Applied apply_presets(State&, OptionArguments names);

/// One segment "name:argument:…", which contains the separator.
/// @param trusted  of a preset: allowed_processing_options does not count
Applied apply_option(State& state, std::string_view segment, bool trusted);

/// Whether an option has this name, as URLs spell it.
[[nodiscard]] bool is_option(std::string_view name);
/// All names, as URLs spell them, sorted.
[[nodiscard]] std::vector<std::string_view> option_names();

// Values that several handlers read. `accepted` is what the service takes in the end: where
// to_resize_options() refuses values as unsupported, that is less than what is read here.
inline constexpr std::string_view kSideAccepted = "a whole number from 0 to 1000000";
inline constexpr std::string_view kRealAccepted = "a number from 0 on";
inline constexpr std::string_view kZeroAccepted = "0; this service does not do it";
inline constexpr std::string_view kZeroOrOneAccepted = "0 or 1; this service does not do it";
Applied set_whole(State&, OptionArguments, std::string_view accepted,
                  std::optional<std::int32_t>& out);
/// A number from 0 on.
Applied set_sigma(State&, OptionArguments, std::string_view accepted, std::optional<double>& out);
void set_flag(OptionArguments, std::optional<bool>& out);

/// type, x and y of a gravity; each offset may be empty.
/// @param smart  whether "sm" is accepted
Applied set_gravity(State&, OptionArguments, bool smart, GravityOptions& out);

// Handlers of options that are one member of ImageOptions or ImageRequest.
template <typename T>
T& member_of(State& state, T ImageOptions::*member) {
  return state.request.options.*member;
}
template <typename T>
T& member_of(State& state, T ImageRequest::*member) {
  return state.request.*member;
}
template <auto kMember, const std::string_view& kAccepted = kSideAccepted>
Applied apply_whole(State& state, OptionArguments arguments) {
  return set_whole(state, arguments, kAccepted, member_of(state, kMember));
}
template <auto kMember, const std::string_view& kAccepted = kRealAccepted>
Applied apply_sigma(State& state, OptionArguments arguments) {
  return set_sigma(state, arguments, kAccepted, member_of(state, kMember));
}
template <auto kMember>
Applied apply_flag(State& state, OptionArguments arguments) {
  set_flag(arguments, member_of(state, kMember));
  return {};
}

}  // namespace framewire::service::url
