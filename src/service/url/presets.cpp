#include <fmt/format.h>
#include <base/ascii.hpp>
#include <service/url/option_state.hpp>
#include <service/url/presets.hpp>
#include <service/url/text.hpp>

namespace framewire::service::url {
namespace {

tl::unexpected<Status> bad_preset(std::string_view definition, std::string_view problem) {
  return fail(
      Status(StatusCode::kInvalidInput, fmt::format("found {}: {}", quoted(definition), problem))
          .about("presets"));
}

Applied apply_preset(State& state, std::size_t index) {
  if (state.used_presets.empty()) state.used_presets.resize(state.presets.size());
  // One that is in use, or was used, is skipped, so that circles end.
  if (state.used_presets[index]) return {};
  if (state.depth == Presets::kMaxDepth) {
    return refuse(RequestErrorKind::kInvalidArgument, state.option,
                  fmt::format("presets name one another more than {} deep", Presets::kMaxDepth));
  }
  state.used_presets[index] = true;
  state.request.used_presets.push_back(state.presets.name(index));
  ++state.depth;
  for (const std::string& segment : state.presets.options(index)) {
    if (auto applied = apply_option(state, segment, true); !applied) return applied;
  }
  --state.depth;
  return {};
}

}  // namespace

Result<Presets> Presets::make(std::span<const std::string> definitions,
                              std::string_view arguments_separator) {
  Presets made;
  for (const std::string& definition : definitions) {
    const std::size_t equals = definition.find('=');
    const std::string_view name = base::trim_white(std::string_view(definition).substr(0, equals));
    if (equals == std::string::npos || name.empty()) {
      return bad_preset(definition, "accepted: NAME=OPTION/OPTION");
    }
    if (name.find('/') != std::string::npos ||
        name.find(arguments_separator) != std::string::npos) {
      return bad_preset(definition, "no URL could name it, with a separator in its name");
    }
    if (!made.index_.emplace(name, made.size()).second) {
      return bad_preset(definition, "there is another preset of this name");
    }
    made.names_.emplace_back(name);
    auto& segments = made.options_.emplace_back();
    for (const auto segment :
         split(base::trim_white(std::string_view(definition).substr(equals + 1)), "/")) {
      if (segment.find(arguments_separator) == std::string_view::npos) {
        return bad_preset(definition, fmt::format("{} is no option; accepted: OPTION{}ARGUMENT",
                                                  quoted(segment), arguments_separator));
      }
      segments.emplace_back(segment);
    }
  }
  return made;
}

std::optional<std::size_t> Presets::find(std::string_view name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) return std::nullopt;
  return found->second;
}

Applied apply_presets(State& state, OptionArguments names) {
  for (const std::string_view name : names) {
    const auto index = state.presets.find(name);
    if (!index) return refuse_argument(state, name, "names of presets that the server has");
    if (auto applied = apply_preset(state, *index); !applied) return applied;
  }
  return {};
}

}  // namespace framewire::service::url
