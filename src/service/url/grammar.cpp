#include <fmt/format.h>
#include <cmath>
#include <limits>
#include <new>
#include <service/url/grammar.hpp>
#include <service/url/option_state.hpp>
#include <service/url/path.hpp>
#include <service/url/presets.hpp>
#include <service/url/signature.hpp>
#include <service/url/source.hpp>
#include <service/url/text.hpp>
#include <service/url/values.hpp>
#include <utility>

namespace framewire::service::url {
namespace {

constexpr double kMaxHintedDpr = 8;
constexpr std::string_view kDefaultPreset = "default";

tl::unexpected<Status> bad_setting(const char* name, std::string problem) {
  return fail(Status(StatusCode::kInvalidInput, std::move(problem)).about(name));
}

Result<void> check_texts(const UrlSettings& settings) {
  if (settings.arguments_separator.empty() ||
      settings.arguments_separator.find_first_of("/?") != std::string::npos) {
    return bad_setting("arguments-separator",
                       fmt::format("found {}; accepted: a text without / and ?",
                                   quoted(settings.arguments_separator)));
  }
  const std::string& prefix = settings.path_prefix;
  if (!prefix.empty() && (!prefix.starts_with('/') || prefix.ends_with('/') ||
                          prefix.find('?') != std::string::npos)) {
    return bad_setting("path-prefix",
                       fmt::format("found {}; accepted: /TEXT without a slash at its end and "
                                   "without ?",
                                   quoted(prefix)));
  }
  for (const std::string& name : settings.allowed_processing_options) {
    if (!is_option(name)) {
      return bad_setting("allowed-options", fmt::format("there is no option {}", quoted(name)));
    }
  }
  return {};
}

// Every preset must be usable alone; with the default one beside it, it is checked at requests.
Result<void> check_presets(const UrlSettings& settings, const Presets& presets) {
  for (std::size_t i = 0; i < presets.size(); ++i) {
    State state{.settings = settings,
                .presets = presets,
                .now_s = std::numeric_limits<std::int64_t>::min(),
                .request = {},
                .option = "preset",
                .used_presets = {}};
    const std::string_view name = presets.name(i);
    if (const auto applied = apply_presets(state, std::span(&name, 1)); !applied) {
      return bad_setting("presets",
                         fmt::format("preset {}: {}", quoted(name), to_text(applied.error())));
    }
  }
  return {};
}

std::optional<double> first_number(std::optional<std::string_view> first,
                                   std::optional<std::string_view> second, double most) {
  for (const auto& text : {first, second}) {
    if (!text) continue;
    const auto value = read_real(*text);
    if (value && *value > 0 && *value <= most) return value;
  }
  return std::nullopt;
}

void apply_hints(const ClientHints& hints, ImageOptions& options) {
  options.dpr = first_number(hints.sec_ch_dpr, hints.dpr, kMaxHintedDpr);
  constexpr double kMaxSide = std::numeric_limits<std::int32_t>::max();
  if (const auto width = first_number(hints.sec_ch_width, hints.width, kMaxSide)) {
    const double scaled = std::round(*width / options.dpr.value_or(1));
    if (scaled <= kMaxSide) options.width = static_cast<std::int32_t>(scaled);
  }
}

Applied apply_all(State& state, const UrlPath& path) {
  state.option = "preset";
  if (state.presets.find(kDefaultPreset)) {
    if (auto set = apply_presets(state, std::span(&kDefaultPreset, 1)); !set) return set;
  }
  const auto segments = path.options();
  if (state.settings.only_presets) {
    if (segments.empty()) return {};
    return apply_presets(state, split(segments[0], state.settings.arguments_separator));
  }
  if (segments.empty() && read_resizing_type(split(path.source_text(), "/")[0])) {
    return refuse(RequestErrorKind::kInvalidUrl, "",
                  "found a resizing type without its option; accepted: resizing_type:TYPE");
  }
  for (const std::string_view segment : segments) {
    if (auto set = apply_option(state, segment, false); !set) return set;
  }
  return {};
}

}  // namespace

struct Grammar::Rules {
  UrlSettings settings;
  Presets presets;
  Signatures signatures;
  std::vector<Replacement> replacements;

  [[nodiscard]] Parsed<ImageRequest> parse(std::string_view target, std::int64_t now_s,
                                           const ClientHints& hints) const;
  [[nodiscard]] Applied check_signature(const UrlPath& path) const;
};

Applied Grammar::Rules::check_signature(const UrlPath& path) const {
  constexpr auto kKind = RequestErrorKind::kSignature;
  if (signatures.open() && path.signature.find(':') != std::string::npos) {
    return refuse(kKind, "",
                  "found an option in the signature's place; accepted: /SIGNATURE/OPTIONS/SOURCE, "
                  "with any word as signature where URLs need none");
  }
  if (!signatures.pass(path.signature, path.text)) {
    return refuse(kKind, "", "the signature does not fit this URL");
  }
  return {};
}

Parsed<ImageRequest> Grammar::Rules::parse(std::string_view target, std::int64_t now_s,
                                           const ClientHints& hints) const {
  const auto path = split_target(target, settings.path_prefix, settings.arguments_separator,
                                 settings.only_presets);
  if (!path) return tl::unexpected<RequestError>(path.error());
  if (auto signed_well = check_signature(*path); !signed_well) {
    return tl::unexpected<RequestError>(signed_well.error());
  }
  State state{.settings = settings,
              .presets = presets,
              .now_s = now_s,
              .request = {},
              .option = {},
              .used_presets = {}};
  if (settings.client_hints) apply_hints(hints, state.request.options);
  if (auto applied = apply_all(state, *path); !applied) {
    return tl::unexpected<RequestError>(applied.error());
  }
  auto source = decode_source(path->source_text(), settings.base64_url_includes_filename);
  if (!source) return tl::unexpected<RequestError>(source.error());
  if (!source->extension.empty() && !state.request.raw.value_or(false)) {
    const std::string_view extension = source->extension;
    state.option = "format";
    if (auto set = apply_format(state, std::span(&extension, 1)); !set) {
      return tl::unexpected<RequestError>(set.error());
    }
  }
  auto url = rewrite_source(std::move(source->url), replacements, settings.base_url);
  if (!url) return tl::unexpected<RequestError>(url.error());
  state.request.source_url = *std::move(url);
  return std::move(state.request);
}

Grammar::Grammar(std::unique_ptr<const Rules> rules) : rules_(std::move(rules)) {}
Grammar::Grammar(Grammar&&) noexcept = default;
Grammar& Grammar::operator=(Grammar&&) noexcept = default;
Grammar::~Grammar() = default;

Result<Grammar> Grammar::make(UrlSettings settings) {
  if (auto checked = check_texts(settings); !checked) return fail(checked.error());
  auto signatures = Signatures::make(settings);
  if (!signatures) return fail(signatures.error());
  auto presets = Presets::make(settings.presets, settings.arguments_separator);
  if (!presets) return fail(presets.error());
  if (auto checked = check_presets(settings, *presets); !checked) return fail(checked.error());
  std::vector<Replacement> replacements;
  for (const std::string& definition : settings.url_replacements) {
    auto replacement = Replacement::make(definition);
    if (!replacement) return fail(replacement.error());
    replacements.push_back(*std::move(replacement));
  }
  auto rules = std::make_unique<Rules>();
  rules->settings = std::move(settings);
  rules->presets = *std::move(presets);
  rules->signatures = *std::move(signatures);
  rules->replacements = std::move(replacements);
  return Grammar(std::move(rules));
}

Parsed<ImageRequest> Grammar::parse(std::string_view target, std::chrono::sys_seconds now,
                                    const ClientHints& hints) const noexcept {
  try {
    return rules_->parse(target, now.time_since_epoch().count(), hints);
  } catch (...) {  // bad_alloc: nothing else below throws
    return tl::unexpected<RequestError>(RequestError{RequestErrorKind::kNoMemory, {}, {}});
  }
}

const UrlSettings& Grammar::settings() const noexcept { return rules_->settings; }

}  // namespace framewire::service::url
