#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <service/url/image_request.hpp>
#include <service/url/resize_options.hpp>
#include <service/url/values.hpp>

namespace framewire::service::url {
namespace {

// Segments as a URL has them, in one order and with every argument written out.
class CanonicalText {
 public:
  template <typename... Values>
  void add(std::string_view name, const Values&... values) {
    if (!text_.empty()) text_ += '/';
    text_ += name;
    ((text_ += fmt::format(":{}", values)), ...);
  }
  // Values at which an option does nothing are left out.
  template <typename T>
  void add_above(std::string_view name, const std::optional<T>& value, T nothing) {
    if (value && *value > nothing) add(name, *value);
  }
  void add_flag(std::string_view name, const std::optional<bool>& value) {
    if (value) add(name, *value ? 1 : 0);
  }
  [[nodiscard]] std::string take() && { return std::move(text_); }

 private:
  std::string text_;
};

std::string print(const GravityOptions& gravity) {
  if (gravity.type == GravityType::kSm) return std::string(word(GravityType::kSm));
  return fmt::format("{}:{}:{}", word(gravity.type.value_or(GravityType::kCe)),
                     gravity.x_offset.value_or(0), gravity.y_offset.value_or(0));
}

double whole_from_one(double side) { return side >= 1 ? std::floor(side) : side; }

void add_size(const ImageOptions& options, CanonicalText& text) {
  const auto type = options.resizing_type.value_or(ResizingType::kFit);
  if (type != ResizingType::kFit) text.add("rt", word(type));
  text.add_above("w", options.width, 0);
  text.add_above("h", options.height, 0);
  text.add_above("mw", options.min_width, 0);
  text.add_above("mh", options.min_height, 0);
  const double zoom_x = options.zoom_width.value_or(1);
  const double zoom_y = options.zoom_height.value_or(1);
  if (zoom_x != 1 || zoom_y != 1) text.add("z", zoom_x, zoom_y);
  if (options.dpr.value_or(1) != 1) text.add("dpr", *options.dpr);
  if (options.enlarge.value_or(false)) text.add("el", 1);
  text.add_above("mrd", options.max_result_dimension, 0);
}

void add_place(const ImageOptions& options, CanonicalText& text) {
  if (options.extend.enabled.value_or(false)) text.add("ex", 1, print(options.extend.gravity));
  if (options.extend_aspect_ratio.enabled.value_or(false)) {
    text.add("exar", 1, print(options.extend_aspect_ratio.gravity));
  }
  if (options.gravity != GravityOptions{}) {
    if (const std::string gravity = print(options.gravity); gravity != print({})) {
      text.add("g", gravity);
    }
  }
  const double crop_width = whole_from_one(options.crop.width.value_or(0));
  const double crop_height = whole_from_one(options.crop.height.value_or(0));
  if (crop_width > 0 || crop_height > 0) {
    if (has_crop_gravity(options)) {
      text.add("c", crop_width, crop_height, print(options.crop.gravity));
    } else {
      text.add("c", crop_width, crop_height);
    }
  }
  const PaddingOptions& pad = options.padding;
  if (has_padding(pad)) {
    text.add("pd", pad.top.value_or(0), pad.right.value_or(0), pad.bottom.value_or(0),
             pad.left.value_or(0));
  }
  if (adds_background(options) && options.background) text.add("bg", hex(*options.background));
  text.add_flag("ar", options.auto_rotate);
  if (const int turn = options.rotate.value_or(0) % 360; turn != 0) text.add("rot", turn);
  const bool across = options.flip.horizontal.value_or(false);
  const bool down = options.flip.vertical.value_or(false);
  if (across || down) text.add("fl", across ? 1 : 0, down ? 1 : 0);
}

void add_picture(const ImageOptions& options, CanonicalText& text) {
  const TrimOptions& trim = options.trim;
  if (trim.threshold) {
    text.add("t", *trim.threshold, trim.color ? hex(*trim.color) : "",
             trim.equal_horizontal.value_or(false) ? 1 : 0,
             trim.equal_vertical.value_or(false) ? 1 : 0);
  }
  text.add_above("bl", options.blur, 0.0);
  text.add_above("sh", options.sharpen, 0.0);
  text.add_above("pix", options.pixelate, 1);
  const WatermarkOptions& mark = options.watermark;
  if (mark.opacity.value_or(0) > 0) {
    text.add("wm", *mark.opacity, word(mark.position.value_or(GravityType::kCe)),
             mark.x_offset.value_or(0), mark.y_offset.value_or(0),
             mark.scale ? fmt::format("{}", *mark.scale) : "");
  }
}

void add_encoding(const ImageOptions& options, CanonicalText& text) {
  if (const int quality = jpeg_quality(options); quality > 0) text.add("q", quality);
  text.add_above("mb", options.max_bytes, std::int64_t{0});
  const Format format = options.format.value_or(Format::kJpeg);
  if (format != Format::kJpeg) text.add("f", word(format));
  text.add_flag("sm", options.strip_metadata);
  if (options.strip_metadata.value_or(true)) text.add_flag("kcr", options.keep_copyright);
  text.add_flag("scp", options.strip_color_profile);
  if (skips_processing(options)) text.add("skp", word(Format::kJpeg));
  text.add_above("msr", options.max_src_resolution, 0.0);
  text.add_above("msfs", options.max_src_file_size, std::int64_t{0});
}

}  // namespace

std::string canonical_text(const ImageRequest& request) {
  CanonicalText text;
  if (request.raw.value_or(false)) {
    text.add("raw", 1);
  } else {
    add_size(request.options, text);
    add_place(request.options, text);
    add_picture(request.options, text);
    add_encoding(request.options, text);
  }
  if (!request.cachebuster.value_or("").empty()) text.add("cb", *request.cachebuster);
  return std::move(text).take();
}

std::string answer_filename(const ImageRequest& request) {
  if (!request.filename.value_or("").empty()) return *request.filename;
  std::string_view name = request.source_url;
  if (const std::size_t scheme = name.find("://"); scheme != std::string_view::npos) {
    name.remove_prefix(scheme + 3);
    const std::size_t path = name.find('/');
    name.remove_prefix(path == std::string_view::npos ? name.size() : path);
  }
  name.remove_prefix(name.rfind('/') + 1);  // all of it where there is no slash
  name = name.substr(0, name.rfind('.'));
  if (name.empty()) return "image";
  std::size_t size = std::min(name.size(), kMaxFilenameBytes);
  const auto continues = [&](std::size_t i) {
    return i < name.size() && (static_cast<unsigned char>(name[i]) & 0xc0U) == 0x80;
  };
  for (int i = 0; i < 3 && continues(size); ++i) --size;  // no cut within a character
  return std::string(name.substr(0, size));
}

}  // namespace framewire::service::url
