// What a URL leaves open, filled in from the server's options.
#include <service/url/resize_options.hpp>
#include <utility>

namespace framewire::service::url {
namespace {

template <typename Value>
void fill(std::optional<Value>& said, Value unsaid) {
  if (!said) said = unsaid;
}

ResizingType type_of(ResizeMode mode) {
  switch (mode) {
    case ResizeMode::kFit:
      return ResizingType::kFit;
    case ResizeMode::kFill:
      return ResizingType::kFill;
    case ResizeMode::kFillDown:
      return ResizingType::kFillDown;
    case ResizeMode::kForce:
      return ResizingType::kForce;
    case ResizeMode::kAuto:
      return ResizingType::kAuto;
  }
  return ResizingType::kFit;
}

GravityType type_of(Gravity::Anchor anchor) {
  using Anchor = Gravity::Anchor;
  switch (anchor) {
    case Anchor::kNo:
      return GravityType::kNo;
    case Anchor::kSo:
      return GravityType::kSo;
    case Anchor::kEa:
      return GravityType::kEa;
    case Anchor::kWe:
      return GravityType::kWe;
    case Anchor::kNoEa:
      return GravityType::kNoEa;
    case Anchor::kNoWe:
      return GravityType::kNoWe;
    case Anchor::kSoEa:
      return GravityType::kSoEa;
    case Anchor::kSoWe:
      return GravityType::kSoWe;
    case Anchor::kFocus:
      return GravityType::kFp;
    case Anchor::kCe:
      break;
  }
  return GravityType::kCe;
}

// A gravity counts as a whole: a URL that names an anchor has that without the server's offsets.
void fill(GravityOptions& said, const Gravity& unsaid) {
  if (said.type) return;
  const bool focus = unsaid.anchor == Gravity::Anchor::kFocus;
  said.type = type_of(unsaid.anchor);
  said.x_offset = focus ? unsaid.focus_x : unsaid.offset_x;
  said.y_offset = focus ? unsaid.focus_y : unsaid.offset_y;
}

void fill(ExtendOptions& said, const std::optional<Gravity>& unsaid) {
  fill(said.enabled, unsaid.has_value());
  if (unsaid) fill(said.gravity, *unsaid);
}

void fill_size(ImageOptions& said, const ResizeOptions& unsaid) {
  fill(said.resizing_type, type_of(unsaid.resize));
  fill(said.width, unsaid.width_px);
  fill(said.height, unsaid.height_px);
  fill(said.min_width, unsaid.min_width_px);
  fill(said.min_height, unsaid.min_height_px);
  fill(said.zoom_width, unsaid.zoom_x);
  fill(said.zoom_height, unsaid.zoom_y);
  fill(said.dpr, unsaid.dpr);
  fill(said.enlarge, unsaid.enlarge);
  fill(said.max_result_dimension, unsaid.max_result_side_px);
}

void fill_place(ImageOptions& said, const ResizeOptions& unsaid) {
  fill(said.gravity, unsaid.gravity);
  fill(said.crop.width, unsaid.crop_width);
  fill(said.crop.height, unsaid.crop_height);
  if (unsaid.crop_gravity) fill(said.crop.gravity, *unsaid.crop_gravity);
  fill(said.rotate, static_cast<std::int32_t>(unsaid.rotate) * 90);
  fill(said.flip.horizontal, unsaid.flip == Flip::kHorizontal || unsaid.flip == Flip::kBoth);
  fill(said.flip.vertical, unsaid.flip == Flip::kVertical || unsaid.flip == Flip::kBoth);
}

void fill_canvas(ImageOptions& said, const ResizeOptions& unsaid) {
  const bool extend_is_open = !said.extend.enabled;
  fill(said.padding.top, unsaid.padding.top_px);
  fill(said.padding.right, unsaid.padding.right_px);
  fill(said.padding.bottom, unsaid.padding.bottom_px);
  fill(said.padding.left, unsaid.padding.left_px);
  fill(said.extend, unsaid.extend);
  fill(said.extend_aspect_ratio, unsaid.extend_aspect_ratio);
  if (!unsaid.has_background) return;
  fill(said.background, unsaid.background);
  // The server's background alone adds what `extend` would; that of a URL does nothing alone.
  const bool has_box = *said.width > 0 && *said.height > 0;
  if (extend_is_open && has_box && !adds_background(said)) {
    said.extend = {.enabled = true, .gravity = said.gravity};
  }
}

}  // namespace

ImageOptions with_defaults(ImageOptions said, const ResizeOptions& defaults) {
  fill_size(said, defaults);
  fill_place(said, defaults);
  fill_canvas(said, defaults);
  fill(said.sharpen, defaults.sharpen_sigma);
  fill(said.max_bytes, static_cast<std::int64_t>(defaults.max_bytes));
  return said;
}

}  // namespace framewire::service::url
