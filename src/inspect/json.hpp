// Reports as JSON, with the keys that docs/batch.md lists.
#pragma once

#include <framewire/image.hpp>
#include <framewire/status.hpp>
#include <inspect/value.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace framewire::inspect {

using Json = nlohmann::ordered_json;

[[nodiscard]] Json to_json(const ImageSummary& image);
[[nodiscard]] Json to_json(const std::vector<Warning>& warnings);
/// {class, message, offset}
[[nodiscard]] Json to_json(const Status& status);
[[nodiscard]] Json to_json(const Report& report);
[[nodiscard]] Json to_json(const Value& value);

/// JSON as text. To be used instead of Json::dump(), which throws at bytes that are not UTF-8: here
/// such bytes, of a peer or of a file's name, become U+FFFD.
/// @param indent  -1: all on one line
[[nodiscard]] std::string text_of(const Json& json, int indent = -1);

/// Indented, with a line's end.
[[nodiscard]] std::string pretty(const Json& json);

/// On one line, with its end.
[[nodiscard]] std::string one_line(const Json& json);

}  // namespace framewire::inspect
