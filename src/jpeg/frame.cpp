#include <fmt/format.h>
#include <algorithm>
#include <base/checked.hpp>
#include <jpeg/frame.hpp>
#include <jpeg/markers.hpp>

namespace framewire::jpeg {
namespace {

Status frame_error(std::size_t offset, StatusCode code, std::string message) {
  return Status(code, std::move(message)).at(offset).about("SOF");
}

void derive_geometry(FrameHeader& frame) {
  frame.mcu_columns = base::ceil_div(frame.width_px, kBlockSide * frame.h_max);
  frame.mcu_rows = base::ceil_div(frame.height_px, kBlockSide * frame.v_max);
  for (auto& component : frame.components) {
    if (&component - frame.components.data() >= frame.component_count) break;
    component.width_px = base::ceil_div<std::int32_t>(frame.width_px * component.h, frame.h_max);
    component.height_px = base::ceil_div<std::int32_t>(frame.height_px * component.v, frame.v_max);
    component.width_blocks = base::ceil_div(component.width_px, kBlockSide);
    component.height_blocks = base::ceil_div(component.height_px, kBlockSide);
    component.padded_width_blocks = frame.mcu_columns * component.h;
    component.padded_height_blocks = frame.mcu_rows * component.v;
  }
}

Process process_of(std::uint8_t code) {
  switch (code & 3) {
    case 0:
      return Process::kBaseline;
    case 1:
      return Process::kExtended;
    case 2:
      return Process::kProgressive;
    default:
      return Process::kLossless;
  }
}

Result<void> read_components(const MarkerView& segment, FrameHeader& frame) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(frame.component_count); ++i) {
    const ByteSpan fields = segment.payload.subspan(6 + 3 * i, 3);
    auto& component = frame.components[i];
    component.id = fields[0];
    component.h = static_cast<std::uint8_t>(fields[1] >> 4);
    component.v = fields[1] & 15;
    component.quant_index = fields[2];
    if (component.h < 1 || component.h > 4 || component.v < 1 || component.v > 4) {
      return fail(frame_error(segment.offset, StatusCode::kInvalidInput,
                              fmt::format("component {} has sampling factors {}x{}; 1 to 4 exist",
                                          i, component.h, component.v)));
    }
    if (component.quant_index > 3) {
      return fail(frame_error(segment.offset, StatusCode::kInvalidInput,
                              fmt::format("component {} uses quantisation table {}; 0 to 3 exist",
                                          i, component.quant_index)));
    }
    frame.h_max = std::max(frame.h_max, component.h);
    frame.v_max = std::max(frame.v_max, component.v);
  }
  return {};
}

Result<void> check_shape(const MarkerView& segment, const FrameHeader& frame) {
  if (frame.width_px == 0) {
    return fail(frame_error(segment.offset, StatusCode::kInvalidInput, "an image 0 pixels wide"));
  }
  if (frame.component_count == 0) {
    return fail(frame_error(segment.offset, StatusCode::kInvalidInput, "no components"));
  }
  const std::size_t wanted = 6 + 3 * static_cast<std::size_t>(frame.component_count);
  if (segment.payload.size() != wanted) {
    return fail(frame_error(segment.offset, StatusCode::kInvalidInput,
                            fmt::format("{} bytes of frame header; {} components take {}",
                                        segment.payload.size(), frame.component_count, wanted)));
  }
  if (frame.component_count > kMaxComponents) {
    return fail(frame_error(
        segment.offset, StatusCode::kUnsupported,
        fmt::format("{} components; up to {} are read", frame.component_count, kMaxComponents)));
  }
  return {};
}

}  // namespace

Result<FrameHeader> read_frame(const MarkerView& segment, bool hierarchical, const Limits& limits) {
  if (segment.payload.size() < 6) {
    return fail(frame_error(
        segment.offset, StatusCode::kInvalidInput,
        fmt::format("a frame header of {} bytes; at least 9 belong here", segment.payload.size())));
  }
  FrameHeader frame;
  frame.offset = segment.offset;
  frame.sof_marker = segment.code;
  frame.process = process_of(segment.code);
  frame.arithmetic = segment.code >= marker::kSof9;
  frame.hierarchical = hierarchical || (segment.code & 7) > 4;
  frame.precision_bits = segment.payload[0];
  frame.width_px = read_u16(segment.payload, 3);
  frame.component_count = segment.payload[5];
  if (auto ok = check_shape(segment, frame); !ok) return fail(ok.error());
  if (auto ok = read_components(segment, frame); !ok) return fail(ok.error());
  if (auto ok = set_height(frame, read_u16(segment.payload, 1), limits); !ok) {
    return fail(ok.error());
  }
  return frame;
}

Result<void> set_height(FrameHeader& frame, std::int32_t height_px, const Limits& limits) {
  const auto pixels =
      static_cast<std::uint64_t>(frame.width_px) * static_cast<std::uint64_t>(height_px);
  if (pixels > limits.max_input_pixels) {
    return fail(frame_error(frame.offset, StatusCode::kTooLarge,
                            fmt::format("{}×{} is {} pixels; the limit is {}", frame.width_px,
                                        height_px, pixels, limits.max_input_pixels)));
  }
  frame.height_px = height_px;
  derive_geometry(frame);
  return {};
}

}  // namespace framewire::jpeg
