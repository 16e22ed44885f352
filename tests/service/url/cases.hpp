// The cases of tests/service/cases, and requests in their words.
#pragma once

#include <nlohmann/json.hpp>
#include <service/url/grammar.hpp>
#include <string>
#include <vector>

namespace framewire::service::url::test {

/// All lines of one file; none where it cannot be read.
[[nodiscard]] std::vector<nlohmann::json> read_cases(const std::string& name);

/// imgproxy's settings, as the cases name them.
[[nodiscard]] UrlSettings settings_of(const nlohmann::json& config);

/// What was set, under imgproxy's names: "crop.gravity.type", "background" as rrggbb.
[[nodiscard]] nlohmann::json flatten(const ImageRequest& request);

/// With a grammar that must make sense.
[[nodiscard]] Parsed<ImageRequest> parse(const std::string& target,
                                         const UrlSettings& settings = {},
                                         std::int64_t now_s = 1763800000);

/// "/unsafe/OPTIONS/plain/http://images.test/photo.jpg", parsed.
[[nodiscard]] Parsed<ImageRequest> parse_options(const std::string& options,
                                                 const UrlSettings& settings = {});

/// The word of the refusal, or "ok".
template <typename T>
[[nodiscard]] std::string outcome(const Parsed<T>& parsed) {
  return parsed ? "ok" : std::string(to_string(parsed.error().kind));
}

}  // namespace framewire::service::url::test
