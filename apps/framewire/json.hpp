// Reports as JSON, with the keys that docs/batch.md lists.
#pragma once

#include <framewire/image.hpp>
#include <framewire/status.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace framewire::app {

using Json = nlohmann::ordered_json;

[[nodiscard]] Json to_json(const ImageSummary& image);
[[nodiscard]] Json to_json(const std::vector<Warning>& warnings);
/// {class, message, offset}
[[nodiscard]] Json to_json(const Status& status);
[[nodiscard]] Json to_json(const Report& report);

/// Indented text; bytes that are not UTF-8 become U+FFFD instead of an exception.
[[nodiscard]] std::string pretty(const Json& json);

}  // namespace framewire::app
