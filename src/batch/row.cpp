#include <fmt/format.h>
#include <algorithm>
#include <batch/row.hpp>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace framewire::batch {
namespace {

using Json = nlohmann::ordered_json;

Json size_json(std::int32_t width, std::int32_t height) {
  if (width == 0) return nullptr;
  return {{"w", width}, {"h", height}};
}

Json warnings_json(const std::vector<Warning>& warnings) {
  Json list = Json::array();
  for (const Warning& warning : warnings) {
    Json entry = {{"kind", to_string(warning.kind)}, {"message", warning.message}};
    if (warning.offset) entry["offset"] = *warning.offset;
    list.push_back(std::move(entry));
  }
  return list;
}

Json error_message(const std::optional<Status>& error) {
  if (!error) return nullptr;
  if (!error->offset()) return error->message();
  return fmt::format("{} (at byte {})", error->message(), *error->offset());
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

/// Whether a JSON parser gives the text back unchanged; ASCII needs no parser.
bool survives_json(const std::string& text) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::ranges::all_of(text, is_ascii)) return true;
  const auto through = nlohmann::json::parse(dump(Json(text)), nullptr, false);
  return through.get<std::string>() == text;
}

std::optional<std::string> unhex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + i + 2, value, 16);
    if (error != std::errc{} || end != text.data() + i + 2) return std::nullopt;
    bytes.push_back(static_cast<char>(value));
  }
  return bytes;
}

template <typename Number>
Number number_of(const nlohmann::json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_number_integer() ? found->get<Number>() : Number{};
}

std::string text_of(const nlohmann::json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

std::optional<std::uint64_t> parse_hash(const std::string& text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
  if (text.empty() || error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

}  // namespace

std::string_view to_string(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::kOk:
      return "ok";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kSkipped:
      return "skipped";
  }
  return "failed";
}

std::string to_json_line(const Row& row) {
  const bool ok = row.outcome == Outcome::kOk;
  Json json;
  json["input"] = row.input;
  json["output"] = ok ? Json(row.output) : Json(nullptr);
  json["name"] = row.name;
  json["status"] = to_string(row.outcome);
  json["error_class"] = row.error ? Json(to_string(row.error->code())) : Json(nullptr);
  json["message"] = error_message(row.error);
  json["bytes_in"] = row.bytes_in;
  json["mtime_ns"] = row.mtime_ns;
  json["bytes_out"] = row.bytes_out;
  json["hash"] = row.hash ? Json(fmt::format("{:016x}", *row.hash)) : Json(nullptr);
  json["in"] = size_json(row.in_width_px, row.in_height_px);
  json["out"] = size_json(row.out_width_px, row.out_height_px);
  json["codec"] = ok ? Json(framewire::to_string(row.codec)) : Json(nullptr);
  json["original_kept"] = ok ? Json(row.original_kept) : Json(nullptr);
  json["warnings"] = warnings_json(row.warnings);
  json["ms"] = std::round(row.ms * 1000) / 1000;
  json["options_hash"] = row.options_hash;
  if (!row.version.empty()) json["version"] = row.version;
  if (!survives_json(row.name)) json["name_hex"] = hex(row.name);
  return dump(json) + "\n";
}

bool is_row(std::string_view line) {
  const auto json = nlohmann::json::parse(line.begin(), line.end(), nullptr, false);
  if (!json.is_object()) return false;
  for (const char* key : {"input", "name", "status", "options_hash"}) {
    if (text_of(json, key).empty()) return false;
  }
  for (const char* key : {"bytes_in", "bytes_out", "mtime_ns"}) {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_number_integer()) return false;
  }
  const std::string status = text_of(json, "status");
  const bool known = status == to_string(Outcome::kOk) || status == to_string(Outcome::kFailed) ||
                     status == to_string(Outcome::kSkipped);
  return known && json.contains("output") && parse_hash(text_of(json, "options_hash"));
}

std::optional<DoneRow> parse_row(std::string_view line) {
  const auto json = nlohmann::json::parse(line.begin(), line.end(), nullptr, false);
  if (!json.is_object()) return std::nullopt;
  DoneRow row;
  row.name = text_of(json, "name");
  if (const std::string encoded = text_of(json, "name_hex"); !encoded.empty()) {
    const auto name = unhex(encoded);
    if (!name) return std::nullopt;
    row.name = *name;
  }
  if (row.name.empty()) return std::nullopt;
  row.ok = text_of(json, "status") == "ok";
  row.bytes_in = number_of<std::uint64_t>(json, "bytes_in");
  row.mtime_ns = number_of<std::int64_t>(json, "mtime_ns");
  row.bytes_out = number_of<std::uint64_t>(json, "bytes_out");
  row.hash = parse_hash(text_of(json, "hash"));
  row.options_hash = text_of(json, "options_hash");
  row.version = text_of(json, "version");
  return row;
}

}  // namespace framewire::batch
