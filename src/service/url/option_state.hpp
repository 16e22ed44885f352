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

using Arguments = std::span<const std::string_view>;  ///< never empty; single ones may be
using Applied = Parsed<void>;

/// A request in the making, and by which rules.
struct State {
  const Settings& settings;
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

using Handler = Applied (*)(State&, Arguments);

// size_options.cpp
Applied apply_resize(State&, Arguments);
Applied apply_size(State&, Arguments);
Applied apply_resizing_type(State&, Arguments);
Applied apply_zoom(State&, Arguments);
Applied apply_dpr(State&, Arguments);
// place_options.cpp
Applied apply_extend(State&, Arguments);
Applied apply_extend_aspect_ratio(State&, Arguments);
Applied apply_gravity(State&, Arguments);
Applied apply_crop(State&, Arguments);
Applied apply_padding(State&, Arguments);
Applied apply_rotate(State&, Arguments);
Applied apply_flip(State&, Arguments);
// picture_options.cpp
Applied apply_trim(State&, Arguments);
Applied apply_background(State&, Arguments);
Applied apply_watermark(State&, Arguments);
// encoding_options.cpp
Applied apply_quality(State&, Arguments);
Applied apply_format_quality(State&, Arguments);
Applied apply_max_bytes(State&, Arguments);
Applied apply_format(State&, Arguments);
Applied apply_skip_processing(State&, Arguments);
// answer_options.cpp
Applied apply_cachebuster(State&, Arguments);
Applied apply_expires(State&, Arguments);
Applied apply_filename(State&, Arguments);
Applied apply_max_src_file_size(State&, Arguments);
Applied apply_max_animation_frames(State&, Arguments);
Applied apply_max_result_dimension(State&, Arguments);
// presets.cpp
Applied apply_presets(State&, Arguments names);

/// One segment "name:argument:…", which contains the separator.
/// @param trusted  of a preset: allowed_processing_options does not count
Applied apply_option(State& state, std::string_view segment, bool trusted);

/// Whether an option has this name, as URLs spell it.
[[nodiscard]] bool is_option(std::string_view name);
/// All names, as URLs spell them, sorted.
[[nodiscard]] std::vector<std::string_view> option_names();

// Values that several handlers read.
inline constexpr std::string_view kWholeNumber = "a whole number from 0 to 2147483647";
Applied set_whole(State&, Arguments, std::optional<std::int32_t>& out);
Applied set_sigma(State&, Arguments, std::optional<double>& out);  ///< a number from 0 on
void set_flag(Arguments, std::optional<bool>& out);

/// type, x and y of a gravity; each offset may be empty.
/// @param smart  whether "sm" is accepted
Applied set_gravity(State&, Arguments, bool smart, GravityOptions& out);

// Handlers of options that are one member of ImageOptions or ImageRequest.
template <typename T>
T& member_of(State& state, T ImageOptions::*member) {
  return state.request.options.*member;
}
template <typename T>
T& member_of(State& state, T ImageRequest::*member) {
  return state.request.*member;
}
template <auto kMember>
Applied apply_whole(State& state, Arguments arguments) {
  return set_whole(state, arguments, member_of(state, kMember));
}
template <auto kMember>
Applied apply_sigma(State& state, Arguments arguments) {
  return set_sigma(state, arguments, member_of(state, kMember));
}
template <auto kMember>
Applied apply_flag(State& state, Arguments arguments) {
  set_flag(arguments, member_of(state, kMember));
  return {};
}

}  // namespace framewire::service::url
