#include <fmt/format.h>
#include <array>
#include <jpeg/markers.hpp>

namespace framewire::jpeg {
namespace {

// 0xC0 to 0xFF in order; everything below is reserved save TEM.
constexpr std::array<std::string_view, 64> kNames = {
    "SOF0", "SOF1", "SOF2",  "SOF3",  "DHT",   "SOF5",  "SOF6",  "SOF7",   //
    "JPG",  "SOF9", "SOF10", "SOF11", "DAC",   "SOF13", "SOF14", "SOF15",  //
    "RST0", "RST1", "RST2",  "RST3",  "RST4",  "RST5",  "RST6",  "RST7",   //
    "SOI",  "EOI",  "SOS",   "DQT",   "DNL",   "DRI",   "DHP",   "EXP",    //
    "APP0", "APP1", "APP2",  "APP3",  "APP4",  "APP5",  "APP6",  "APP7",   //
    "APP8", "APP9", "APP10", "APP11", "APP12", "APP13", "APP14", "APP15",  //
    "JPG0", "JPG1", "JPG2",  "JPG3",  "JPG4",  "JPG5",  "JPG6",  "JPG7",   //
    "JPG8", "JPG9", "JPG10", "JPG11", "JPG12", "JPG13", "COM",   "RES"};

bool same_factors(const Component& a, const Component& b) { return a.h == b.h && a.v == b.v; }

/// The common name where both chroma components are sampled alike, by whole steps of luma's.
std::string_view common_sampling_name(const FrameHeader& frame) {
  const auto& luma = frame.components[0];
  const auto& chroma = frame.components[1];
  if (frame.component_count < 3 || !same_factors(chroma, frame.components[2])) return {};
  if (frame.component_count == 4 && !same_factors(luma, frame.components[3])) return {};
  if (chroma.h == 0 || chroma.v == 0 || luma.h % chroma.h != 0 || luma.v % chroma.v != 0) return {};
  const int across = luma.h / chroma.h;
  const int down = luma.v / chroma.v;
  if (across == 1 && down == 1) return "444";
  if (across == 2 && down == 1) return "422";
  if (across == 2 && down == 2) return "420";
  if (across == 1 && down == 2) return "440";
  if (across == 4 && down == 1) return "411";
  return {};
}

}  // namespace

std::string_view marker_name(std::uint8_t code) noexcept {
  if (code == marker::kTem) return "TEM";
  return code >= 0xC0 ? kNames[code - 0xC0u] : std::string_view("RES");
}

std::string process_name(const FrameHeader& frame) {
  std::string name;
  if (frame.hierarchical) name += "hierarchical ";
  if (frame.arithmetic) name += "arithmetic ";
  switch (frame.process) {
    case Process::kBaseline:
      return name + "baseline";
    case Process::kExtended:
      return name + "extended";
    case Process::kProgressive:
      return name + "progressive";
    case Process::kLossless:
      return name + "lossless";
  }
  return name;
}

std::string sampling_name(const FrameHeader& frame) {
  if (frame.component_count == 1) return "gray";
  if (const auto name = common_sampling_name(frame); !name.empty()) return std::string(name);
  std::string factors;
  for (int i = 0; i < frame.component_count; ++i) {
    const auto& component = frame.components[static_cast<std::size_t>(i)];
    factors += fmt::format("{}{}x{}", i == 0 ? "" : ",", component.h, component.v);
  }
  return factors;
}

std::string_view color_model_name(ColorModel model) noexcept {
  switch (model) {
    case ColorModel::kGray:
      return "gray";
    case ColorModel::kYcbcr:
      return "YCbCr";
    case ColorModel::kRgb:
      return "RGB";
    case ColorModel::kCmyk:
      return "CMYK";
    case ColorModel::kYcck:
      return "YCCK";
    case ColorModel::kUnknown:
      return "unknown";
  }
  return "unknown";
}

}  // namespace framewire::jpeg
