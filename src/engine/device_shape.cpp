#include <algorithm>
#include <engine/device_shape.hpp>
#include <jpeg/parser.hpp>
#include <plan/plan.hpp>

namespace framewire {
namespace engine {

Result<void> check_scale(int scale) {
  const auto& reduced = plan::kReducedScales;
  if (scale == 8 || std::ranges::find(reduced, scale) != reduced.end()) return {};
  return fail(StatusCode::kInvalidInput, "the scale of a decode is 8, 6, 5, 4, 2 or 1 eighths");
}

DeviceColorModel color_model_of(const jpeg::JpegFile& file) {
  switch (file.color_model) {
    case jpeg::ColorModel::kYcbcr:
      return DeviceColorModel::kYcbcr;
    case jpeg::ColorModel::kRgb:
      return DeviceColorModel::kRgb;
    case jpeg::ColorModel::kCmyk:
      return DeviceColorModel::kCmyk;
    case jpeg::ColorModel::kYcck:
      return DeviceColorModel::kYcck;
    case jpeg::ColorModel::kGray:
    case jpeg::ColorModel::kUnknown:
      break;
  }
  return DeviceColorModel::kGray;
}

bool has_inverted_inks(const jpeg::JpegFile& file) {
  return file.frame.component_count == 4 && file.adobe_transform.has_value();
}

DeviceImageShape shape_of(const jpeg::JpegFile& file, int scale) {
  DeviceImageShape shape;
  shape.component_count = file.frame.component_count;
  shape.color_model = color_model_of(file);
  shape.inverted_inks = has_inverted_inks(file);
  for (std::size_t c = 0; c < static_cast<std::size_t>(shape.component_count); ++c) {
    const jpeg::Component& component = file.frame.components[c];
    shape.planes[c] = {(component.width_px * scale + 7) / 8, (component.height_px * scale + 7) / 8,
                       component.width_blocks * scale, component.height_blocks * scale};
  }
  return shape;
}

}  // namespace engine

Result<DeviceImageShape> DeviceDecoder::shape(std::span<const std::uint8_t> jpeg, int scale,
                                              const Limits& limits) {
  if (auto ok = engine::check_scale(scale); !ok) return fail(ok.error());
  const auto file =
      jpeg::parse(jpeg, limits, jpeg::ParseDepth::kWhole, base::Deadline(limits.deadline_ms));
  if (!file) return fail(file.error());
  if (auto ok = jpeg::check_supported(*file); !ok) return fail(ok.error());
  return engine::shape_of(*file, scale);
}

}  // namespace framewire
