// The inspection model as a listing for people.
#include <fmt/format.h>
#include <commands/inspect/text.hpp>
#include <report/console.hpp>

namespace framewire::app {
namespace {

std::string text(const Json& value) {
  return value.is_string() ? printable(value.get<std::string>()) : printable(text_of(value));
}

std::string error_text(const Json& error) {
  const std::string where =
      error.contains("offset") ? fmt::format(" (at byte {})", text(error["offset"])) : "";
  return fmt::format("{}: {}{}", text(error["class"]), text(error["message"]), where);
}

std::string markers_text(const Json& markers) {
  std::string out = fmt::format("  {:>10} {:>10}  marker\n", "offset", "bytes");
  for (const Json& entry : markers) {
    out += fmt::format("  {:>10} {:>10}  {:<6} {}\n", text(entry["offset"]), text(entry["bytes"]),
                       text(entry["marker"]), text(entry["meaning"]));
  }
  return out;
}

std::string frame_text(const Json& frame) {
  std::string out =
      fmt::format("  frame     {}x{} {}, {} bit, {}, sampling {}\n", text(frame["w"]),
                  text(frame["h"]), text(frame["process"]), text(frame["precision_bits"]),
                  text(frame["color_model"]), text(frame["sampling"]));
  for (const Json& component : frame["components"]) {
    out += fmt::format("            component {}: {}, {}x{}, quantisation table {}\n",
                       text(component["id"]), text(component["sampling"]), text(component["w"]),
                       text(component["h"]), text(component["quant_table"]));
  }
  return out;
}

std::string scans_text(const Json& scans) {
  std::string out;
  for (const Json& scan : scans) {
    std::string ids;
    for (const Json& id : scan["components"]) ids += " " + text(id);
    out += fmt::format("  scan      components{}, coefficients {} to {}, bits {} to {}, {} bytes",
                       ids, text(scan["spectral_start"]), text(scan["spectral_end"]),
                       text(scan["approx_high"]), text(scan["approx_low"]),
                       text(scan["entropy_bytes"]));
    const int interval = scan["restart_interval_mcus"].get<int>();
    out += interval > 0 ? fmt::format(", restart every {} MCUs\n", interval) : "\n";
  }
  return out;
}

std::string metadata_text(const Json& metadata) {
  std::string out = fmt::format("  metadata  orientation {}", text(metadata["orientation"]));
  if (!metadata["jfif"].is_null()) out += ", JFIF " + text(metadata["jfif"]);
  if (metadata["exif_bytes"] != 0) {
    out += fmt::format(", EXIF {} bytes", text(metadata["exif_bytes"]));
  }
  if (metadata["xmp_bytes"] != 0) out += fmt::format(", XMP {} bytes", text(metadata["xmp_bytes"]));
  if (!metadata["adobe_transform"].is_null()) {
    out += ", Adobe transform " + text(metadata["adobe_transform"]);
  }
  out += '\n';
  if (const Json& icc = metadata["icc"]; !icc.is_null()) {
    out += fmt::format("  profile   {}: {} bytes, {}\n",
                       icc["name"] == "" ? "unnamed" : text(icc["name"]), text(icc["bytes"]),
                       text(icc["use"]));
  }
  if (const Json& map = metadata["gain_map"]; !map.is_null()) {
    out +=
        fmt::format("  gain map  {} bytes at byte {}\n", text(map["bytes"]), text(map["offset"]));
  }
  if (metadata["trailing_bytes"] != 0) {
    out += fmt::format("  trailing  {} bytes after the image\n", text(metadata["trailing_bytes"]));
  }
  if (metadata["truncated"] == true) out += "  truncated\n";
  return out;
}

std::string codecs_text(const Json& codecs) {
  std::string out;
  for (const Json& codec : codecs) {
    out += fmt::format("  codec     {}: ", text(codec["codec"]));
    if (codec["supported"] == false) {
      out += error_text(codec["error"]) + "\n";
      continue;
    }
    const Json& output = codec["output"];
    std::string scales;
    for (const Json& scale : output["decode_scales"]) scales += " " + text(scale);
    out += fmt::format("{}x{}, decodes at{}, {}", text(output["w"]), text(output["h"]), scales,
                       text(output["color_path"]));
    if (codec.value("entropy_decoding", "") == "host") out += ", entropy decoding on a host thread";
    out += '\n';
  }
  return out;
}

}  // namespace

std::string inspect_text(const Json& model) {
  std::string out = fmt::format("{}: {} bytes\n", text(model["file"]), text(model["bytes"]));
  if (model.contains("error")) return out + "  " + error_text(model["error"]) + "\n";
  out += markers_text(model["markers"]);
  out += frame_text(model["frame"]);
  out += scans_text(model["scans"]);
  out += metadata_text(model["metadata"]);
  for (const Json& warning : model["warnings"]) {
    const std::string where =
        warning.contains("offset") ? fmt::format(" (at byte {})", text(warning["offset"])) : "";
    out += fmt::format("  warning   {}: {}{}\n", text(warning["kind"]), text(warning["message"]),
                       where);
  }
  out += codecs_text(model["codecs"]);
  return out;
}

}  // namespace framewire::app
