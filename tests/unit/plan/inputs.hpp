// Files to be planned for, and their plans.
#pragma once

#include <gtest/gtest.h>
#include <array>
#include <cstdint>
#include <jpeg/parser.hpp>
#include <optional>
#include <plan/plan.hpp>
#include <tests/support/tiny_jpeg.hpp>

namespace framewire::plan {

struct Shape {
  std::int32_t width = 0;
  std::int32_t height = 0;
  int components = 3;
  std::array<std::uint8_t, 4> h{1, 1, 1, 1};
  std::array<std::uint8_t, 4> v{1, 1, 1, 1};
};

/// A file that has headers and no entropy bytes: planning touches no pixels.
struct HeaderOnly {
  explicit HeaderOnly(const Shape& shape, const std::optional<std::uint8_t>& adobe = {}) {
    const bool jfif = shape.components != 4 && !adobe;
    bytes = jfif ? jpeg::tiny::head({{jpeg::marker::kApp0, jpeg::tiny::jfif_payload()}})
                 : jpeg::tiny::head();
    if (adobe) jpeg::write_segment(bytes, 0xEE, jpeg::tiny::adobe_payload(*adobe));
    jpeg::tiny::write_standard_tables(bytes);
    jpeg::FrameSpec frame;
    frame.width_px = shape.width;
    frame.height_px = shape.height;
    frame.component_count = shape.components;
    frame.h = shape.h;
    frame.v = shape.v;
    jpeg::write_sof(bytes, frame);
    jpeg::ScanSpec scan;
    scan.component_count = 1;  // so that any sampling may stand in the file
    scan.id[0] = 1;
    jpeg::write_sos(bytes, scan);
    Limits limits;
    limits.max_input_pixels = limits.max_scan_pixels = 1ull << 40;
    auto parsed = jpeg::parse(bytes, limits);
    EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().to_string());
    if (parsed) file = std::move(*parsed);
  }
  jpeg::Bytes bytes;
  jpeg::JpegFile file;
};

inline Shape ycbcr(std::int32_t width, std::int32_t height, std::uint8_t h, std::uint8_t v) {
  return {width, height, 3, {h, 1, 1, 1}, {v, 1, 1, 1}};
}

inline Plan plan_or_die(const jpeg::JpegFile& file, const ResizeOptions& options,
                        const Capabilities& capabilities = {}, bool icc = false) {
  auto plan = make_plan(file, options, capabilities, icc);
  EXPECT_TRUE(plan) << (plan ? "" : plan.error().to_string());
  return plan ? *plan : Plan{};
}

}  // namespace framewire::plan
