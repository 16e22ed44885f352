#include <inspect/json.hpp>
#include <type_traits>

namespace framewire::inspect {

Json to_json(const ImageSummary& image) {
  return {{"w", image.width_px},        {"h", image.height_px},
          {"bytes", image.bytes},       {"components", image.components},
          {"sampling", image.sampling}, {"process", image.process}};
}

Json to_json(const std::vector<Warning>& warnings) {
  Json list = Json::array();
  for (const Warning& warning : warnings) {
    Json entry = {{"kind", to_string(warning.kind)}, {"message", warning.message}};
    if (warning.offset) entry["offset"] = *warning.offset;
    list.push_back(std::move(entry));
  }
  return list;
}

Json to_json(const Report& report) {
  const StageTimes& times = report.times;
  return {{"in", to_json(report.input)},
          {"out", to_json(report.output)},
          {"codec", to_string(report.codec)},
          {"codec_reason", report.codec_reason},
          {"decode_scale", report.decode_scale},
          {"quality", report.quality},
          {"color_converted", report.color_converted},
          {"assumed_profile", report.assumed_profile},
          {"gain_map_kept", report.gain_map_kept},
          {"original_kept", report.original_kept},
          {"times_us",
           {{"parse", times.parse_us},
            {"decode_resample", times.decode_resample_us},
            {"encode", times.encode_us},
            {"total", times.total_us}}},
          {"warnings", to_json(report.warnings)}};
}

Json to_json(const Value& value) {
  return value.visit([](const auto& held) -> Json {
    using Held = std::remove_cvref_t<decltype(held)>;
    if constexpr (std::is_same_v<Held, Value::Array>) {
      Json list = Json::array();
      for (const Value& item : held) list.push_back(to_json(item));
      return list;
    } else if constexpr (std::is_same_v<Held, Value::Object>) {
      Json object = Json::object();
      for (const Value::Member& member : held) object[member.key] = to_json(member.value);
      return object;
    } else {
      return held;
    }
  });
}

std::string text_of(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string pretty(const Json& json) { return text_of(json, 2) + "\n"; }

std::string one_line(const Json& json) { return text_of(json) + "\n"; }

Json to_json(const Status& status) {
  Json json = {{"class", to_string(status.code())}, {"message", status.message()}};
  if (status.offset()) json["offset"] = *status.offset();
  return json;
}

}  // namespace framewire::inspect
