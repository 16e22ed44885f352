#include <gtest/gtest.h>
#include <fstream>
#include <service/url/values.hpp>
#include <tests/service/url/cases.hpp>

namespace framewire::service::url::test {
namespace {

using nlohmann::json;

template <typename T>
void put(json& out, const std::string& name, const std::optional<T>& value) {
  if (value) out[name] = *value;
}

void put(json& out, const std::string& name, const std::optional<RgbBytes>& value) {
  if (value) out[name] = hex(*value);
}

void put(json& out, const std::string& name, const GravityOptions& gravity) {
  if (gravity.type) out[name + ".type"] = word(*gravity.type);
  put(out, name + ".x_offset", gravity.x_offset);
  put(out, name + ".y_offset", gravity.y_offset);
}

void put(json& out, const std::string& name, const ExtendOptions& extend) {
  put(out, name + ".enabled", extend.enabled);
  put(out, name + ".gravity", extend.gravity);
}

void put_place(json& out, const ImageOptions& o) {
  put(out, "extend", o.extend);
  put(out, "extend_aspect_ratio", o.extend_aspect_ratio);
  put(out, "gravity", o.gravity);
  put(out, "crop.width", o.crop.width);
  put(out, "crop.height", o.crop.height);
  put(out, "crop.gravity", o.crop.gravity);
  put(out, "padding.top", o.padding.top);
  put(out, "padding.right", o.padding.right);
  put(out, "padding.bottom", o.padding.bottom);
  put(out, "padding.left", o.padding.left);
  put(out, "auto_rotate", o.auto_rotate);
  put(out, "rotate", o.rotate);
  put(out, "flip.horizontal", o.flip.horizontal);
  put(out, "flip.vertical", o.flip.vertical);
  put(out, "trim.threshold", o.trim.threshold);
  put(out, "trim.color", o.trim.color);
  put(out, "trim.equal_horizontal", o.trim.equal_horizontal);
  put(out, "trim.equal_vertical", o.trim.equal_vertical);
}

void put_picture(json& out, const ImageOptions& o) {
  put(out, "background", o.background);
  put(out, "blur", o.blur);
  put(out, "sharpen", o.sharpen);
  put(out, "pixelate", o.pixelate);
  put(out, "watermark.opacity", o.watermark.opacity);
  if (o.watermark.position) out["watermark.position"] = word(*o.watermark.position);
  put(out, "watermark.x_offset", o.watermark.x_offset);
  put(out, "watermark.y_offset", o.watermark.y_offset);
  put(out, "watermark.scale", o.watermark.scale);
  put(out, "quality", o.quality);
  for (std::size_t i = 0; i < kFormats; ++i) {
    const auto name = "format_quality." + std::string(word(static_cast<Format>(i)));
    put(out, name, o.format_quality[i]);
  }
  put(out, "max_bytes", o.max_bytes);
  if (o.format) out["format"] = word(*o.format);
  put(out, "strip_metadata", o.strip_metadata);
  put(out, "keep_copyright", o.keep_copyright);
  put(out, "strip_color_profile", o.strip_color_profile);
  put(out, "preserve_hdr", o.preserve_hdr);
  put(out, "enforce_thumbnail", o.enforce_thumbnail);
  for (const Format format : o.skip_processing) out["skip_processing"].push_back(word(format));
  put(out, "max_src_resolution", o.max_src_resolution);
  put(out, "max_src_file_size", o.max_src_file_size);
  put(out, "max_animation_frames", o.max_animation_frames);
  put(out, "max_animation_frame_resolution", o.max_animation_frame_resolution);
  put(out, "max_result_dimension", o.max_result_dimension);
}

}  // namespace

std::vector<json> read_cases(const std::string& name) {
  std::ifstream file(std::string(FRAMEWIRE_DOCS) + "/../tests/service/cases/" + name);
  std::vector<json> cases;
  for (std::string line; std::getline(file, line);) cases.push_back(json::parse(line));
  return cases;
}

UrlSettings settings_of(const json& config) {
  UrlSettings settings;
  const auto read = [&](const char* name, auto& out) {
    if (config.contains(name)) config[name].get_to(out);
  };
  read("keys", settings.keys);
  read("salts", settings.salts);
  read("size", settings.signature_size);
  read("trusted", settings.trusted_signatures);
  read("presets", settings.presets);
  read("only_presets", settings.only_presets);
  read("allowed_processing_options", settings.allowed_processing_options);
  read("allow_security_options", settings.allow_security_options);
  read("client_hints", settings.client_hints);
  read("arguments_separator", settings.arguments_separator);
  read("base_url", settings.base_url);
  read("url_replacements", settings.url_replacements);
  read("base64_url_includes_filename", settings.base64_url_includes_filename);
  read("path_prefix", settings.path_prefix);
  return settings;
}

json flatten(const ImageRequest& request) {
  const ImageOptions& o = request.options;
  json out = json::object();
  if (o.resizing_type) out["resizing_type"] = word(*o.resizing_type);
  put(out, "width", o.width);
  put(out, "height", o.height);
  put(out, "min-width", o.min_width);
  put(out, "min-height", o.min_height);
  put(out, "zoom_width", o.zoom_width);
  put(out, "zoom_height", o.zoom_height);
  put(out, "dpr", o.dpr);
  put(out, "enlarge", o.enlarge);
  put_place(out, o);
  put_picture(out, o);
  put(out, "filename", request.filename);
  put(out, "return_attachment", request.return_attachment);
  put(out, "expires", request.expires);
  put(out, "raw", request.raw);
  put(out, "cachebuster", request.cachebuster);
  if (!request.used_presets.empty()) out["used_presets"] = request.used_presets;
  return out;
}

Parsed<ImageRequest> parse(const std::string& target, const UrlSettings& settings,
                           std::int64_t now_s) {
  const auto grammar = Grammar::make(settings);
  if (!grammar) {
    ADD_FAILURE() << grammar.error().to_string();
    return refuse(RequestErrorKind::kNoMemory, "", "no grammar");
  }
  return grammar->parse(target, std::chrono::sys_seconds(std::chrono::seconds(now_s)));
}

Parsed<ImageRequest> parse_options(const std::string& options, const UrlSettings& settings) {
  return parse("/unsafe/" + options + "/plain/http://images.test/photo.jpg", settings);
}

}  // namespace framewire::service::url::test
