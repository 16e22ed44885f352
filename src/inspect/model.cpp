#include <fmt/format.h>
#include <base/clock.hpp>
#include <codec/codec.hpp>
#include <color/assumed_profile.hpp>
#include <color/converter.hpp>
#include <engine/codec_router.hpp>
#include <engine/device_verdict.hpp>
#include <inspect/icc_name.hpp>
#include <inspect/marker_meaning.hpp>
#include <inspect/model.hpp>
#include <jpeg/markers.hpp>
#include <jpeg/parser.hpp>
#include <limits>
#include <optional>
#include <plan/plan.hpp>

namespace framewire::inspect {
namespace {

Value value_of(const Status& status) {
  Value value = Value::object("class", to_string(status.code()), "message", status.message());
  if (status.offset()) value["offset"] = *status.offset();
  return value;
}

Value value_of(const std::vector<Warning>& warnings) {
  Value list = Value::array();
  for (const Warning& warning : warnings) {
    Value entry = Value::object("kind", to_string(warning.kind), "message", warning.message);
    if (warning.offset) entry["offset"] = *warning.offset;
    list.push_back(std::move(entry));
  }
  return list;
}

// No picture needs more: four components, 64 coefficients, 14 bits. Each scan, and each table that
// it uses, is an entry of the model, which takes hundreds of times its bytes in the file.
constexpr std::uint32_t kMaxScans = 4 * 64 * 14;

// Looking costs only the headers, so no picture is too large to be looked at.
Limits limits_of_looking() {
  Limits limits;
  limits.max_input_bytes = UINT64_MAX;
  limits.max_input_pixels = UINT64_MAX;
  limits.max_scan_pixels = UINT64_MAX;
  limits.max_scans = kMaxScans;
  limits.deadline_ms = 0;
  return limits;
}

Value markers_json(const jpeg::JpegFile& file) {
  Value list = Value::array();
  for (const jpeg::MarkerEntry& entry : file.markers) {
    list.push_back(Value::object(
        "offset", entry.offset, "bytes", entry.bytes, "marker", jpeg::marker_name(entry.marker),
        "code", fmt::format("ff{:02x}", entry.marker), "meaning", marker_meaning(file, entry)));
  }
  return list;
}

Value frame_json(const jpeg::JpegFile& file) {
  const jpeg::FrameHeader& frame = file.frame;
  Value components = Value::array();
  for (int i = 0; i < frame.component_count; ++i) {
    const jpeg::Component& component = frame.components[static_cast<std::size_t>(i)];
    components.push_back(Value::object(
        "id", component.id, "sampling", fmt::format("{}x{}", component.h, component.v),
        "quant_table", component.quant_index, "w", component.width_px, "h", component.height_px));
  }
  return Value::object("offset", frame.offset, "process", jpeg::process_name(frame), "w",
                       frame.width_px, "h", frame.height_px, "precision_bits", frame.precision_bits,
                       "sampling", jpeg::sampling_name(frame), "color_model",
                       jpeg::color_model_name(file.color_model), "mcu_columns", frame.mcu_columns,
                       "mcu_rows", frame.mcu_rows, "components", std::move(components));
}

Value scans_json(const jpeg::JpegFile& file) {
  Value list = Value::array();
  for (const jpeg::Scan& scan : file.scans) {
    Value components = Value::array();
    for (int i = 0; i < scan.component_count; ++i) {
      const std::size_t index = scan.component[static_cast<std::size_t>(i)];
      components.push_back(file.frame.components[index].id);
    }
    list.push_back(Value::object(
        "offset", scan.offset, "components", std::move(components), "spectral_start",
        scan.spectral_start, "spectral_end", scan.spectral_end, "approx_high", scan.approx_high,
        "approx_low", scan.approx_low, "restart_interval_mcus", scan.restart_interval_mcus,
        "entropy_offset", scan.entropy_offset, "entropy_bytes", scan.entropy_bytes));
  }
  return list;
}

Value tables_json(const jpeg::JpegFile& file) {
  Value quant = Value::array();
  for (int i = 0; i < file.frame.component_count; ++i) {
    const int index = file.component_quant[static_cast<std::size_t>(i)];
    if (index < 0) continue;
    const jpeg::QuantTable& table = file.quant_tables[static_cast<std::size_t>(index)];
    quant.push_back(
        Value::object("component", file.frame.components[static_cast<std::size_t>(i)].id, "bits",
                      table.sixteen_bit ? 16 : 8, "values", Value::array_of(table.values)));
  }
  Value huffman = Value::array();
  for (const jpeg::HuffmanTable& table : file.huffman_tables) {
    huffman.push_back(Value::object("codes", table.value_count, "codes_of_length",
                                    Value::array_of(table.counts)));
  }
  return Value::object("quantisation", std::move(quant), "huffman", std::move(huffman));
}

std::string_view profile_use(color::ProfileUse use) {
  switch (use) {
    case color::ProfileUse::kNone:
      return "none";
    case color::ProfileUse::kIsSrgb:
      return "is sRGB";
    case color::ProfileUse::kConvertible:
      return "convertible to sRGB";
    case color::ProfileUse::kUnusable:
      return "unusable";
  }
  return "unusable";
}

Value metadata_json(const jpeg::JpegFile& file, color::ProfileUse use) {
  Value json = Value::object("orientation", file.orientation, "exif_bytes", file.exif.size(),
                             "xmp_bytes", file.xmp.size(), "jfif", nullptr, "adobe_transform",
                             nullptr, "icc", nullptr, "gain_map", nullptr);
  if (file.jfif) {
    json["jfif"] = fmt::format("{}.{:02}", file.jfif->version_major, file.jfif->version_minor);
  }
  if (file.adobe_transform) json["adobe_transform"] = *file.adobe_transform;
  if (!file.icc.empty()) {
    json["icc"] = Value::object("bytes", file.icc.size(), "name", icc_name(file.icc), "use",
                                profile_use(use));
  }
  if (file.gain_map) {
    const jpeg::MpfImage& image = file.mpf[*file.gain_map];
    json["gain_map"] = Value::object("offset", image.offset, "bytes", image.bytes);
  }
  json["images"] = file.mpf.size();
  json["trailing_bytes"] = file.bytes.size() - std::min(file.end_offset, file.bytes.size());
  json["truncated"] = file.truncated;
  return json;
}

Value plan_json(const plan::Plan& plan, int components) {
  Value scales = Value::array();
  for (int i = 0; i < components; ++i) {
    scales.push_back(fmt::format("{}/8", plan.scales[static_cast<std::size_t>(i)]));
  }
  const bool planar = plan.color_path == plan::ColorPath::kPlanar;
  return Value::object("w", plan.encode.width_px, "h", plan.encode.height_px, "decode_scales",
                       std::move(scales), "color_path", planar ? "planar" : "per pixel");
}

// What a codec that can `capable` would make of the file.
struct Intent {
  Result<jpeg::JpegFile> file;
  Result<plan::Plan> plan;
};

// Limits are checked by parsing under them, as a resize does first.
Intent intend(std::span<const std::uint8_t> bytes, const ResizeOptions& options,
              const plan::Capabilities& capable, bool convertible) {
  auto file = jpeg::parse(bytes, options.limits);
  if (!file) return {fail(file.error()), fail(file.error())};
  color::assume_profile(*file);
  auto plan = plan::make_plan(*file, options, capable, convertible);
  return {std::move(file), std::move(plan)};
}

Value refused(CodecKind kind, const Status& why) {
  return Value::object("codec", to_string(kind), "supported", false, "error", value_of(why));
}

Value accepted(CodecKind kind, const Intent& intent) {
  return Value::object("codec", to_string(kind), "supported", true, "output",
                       plan_json(*intent.plan, intent.file->frame.component_count));
}

Value host_json(CodecKind kind, const engine::CodecRouter& router,
                std::span<const std::uint8_t> bytes, const ResizeOptions& options,
                bool convertible) {
  const auto route = router.choose(kind);
  if (!route) return refused(kind, route.error());
  const Intent intent = intend(bytes, options, route->codec->capabilities(), convertible);
  return intent.plan ? accepted(kind, intent) : refused(kind, intent.plan.error());
}

// Known without a GPU, as long as the build has the codec.
Value cuda_json(std::span<const std::uint8_t> bytes, const ResizeOptions& options,
                bool convertible) {
  const Intent intent = intend(bytes, options, {}, convertible);
  if (!intent.plan) return refused(CodecKind::kCuda, intent.plan.error());
  std::optional<color::Converter> converter;
  if (intent.plan->convert_icc) {
    auto made = color::Converter::make(*intent.file, intent.plan->encode.model, true);
    if (made) converter = std::move(*made);
  }
  const auto taken =
      engine::check_for_cuda(*intent.file, *intent.plan, converter ? &*converter : nullptr);
  if (!taken) return refused(CodecKind::kCuda, taken.error());
  Value json = accepted(CodecKind::kCuda, intent);
  json["entropy_decoding"] = engine::entropy_on_host(intent.file->frame) ? "host" : "device";
  return json;
}

}  // namespace

Value inspect_bytes(const std::string& file, std::span<const std::uint8_t> bytes,
                    const ResizeOptions& options) {
  Value model = Value::object("file", file, "bytes", bytes.size());
  auto parsed = jpeg::parse(bytes, limits_of_looking());
  if (!parsed) {
    model["error"] = value_of(parsed.error());
    return model;
  }
  const std::string_view assumed = color::assume_profile(*parsed);
  const color::ProfileUse use = color::classify_profile(*parsed);
  model["markers"] = markers_json(*parsed);
  model["frame"] = frame_json(*parsed);
  model["scans"] = scans_json(*parsed);
  model["tables"] = tables_json(*parsed);
  model["metadata"] = metadata_json(*parsed, use);
  if (!assumed.empty()) {
    model["metadata"]["icc"] = Value::object(
        "bytes", 0, "name", fmt::format("none; EXIF says {}", assumed), "use", profile_use(use));
  }
  model["warnings"] = value_of(parsed->warnings);
  const bool convertible = use == color::ProfileUse::kConvertible;
  model["codecs"] = Value::array();
  const engine::CodecRouter router;
  for (const CodecKind kind : {CodecKind::kTurbo, CodecKind::kReference}) {
    model["codecs"].push_back(host_json(kind, router, bytes, options, convertible));
  }
  model["codecs"].push_back(cuda_json(bytes, options, convertible));
  return model;
}

}  // namespace framewire::inspect
