// Profiles made to cost more than they weigh.
#pragma once

#include <array>
#include <cstdint>
#include <jpeg/bytes.hpp>
#include <string_view>
#include <utility>
#include <vector>

namespace framewire::color::testing_profiles {

using Bytes = std::vector<std::uint8_t>;
using NamedTag = std::pair<std::string_view, Bytes>;

/// A profile of these tags, one behind the other. @param space  "RGB ", "CMYK" or "GRAY"
inline Bytes profile_of(std::string_view space, const std::vector<NamedTag>& tags,
                        std::uint32_t version = 0x04300000) {
  using namespace jpeg;
  Bytes out(128), table;
  const auto put = [&](std::size_t at, Bytes bytes) {
    std::copy(bytes.begin(), bytes.end(), out.begin() + static_cast<std::ptrdiff_t>(at));
  };
  const auto number = [](std::uint32_t value) {
    Bytes bytes;
    append_u32(bytes, value);
    return bytes;
  };
  const auto text = [](std::string_view value) { return Bytes(value.begin(), value.end()); };
  put(8, number(version));
  put(12, text("prtr"));
  put(16, text(space));
  put(20, text("Lab "));
  put(36, text("acsp"));
  put(68, {0, 0, 0xF6, 0xD6, 0, 1, 0, 0, 0, 0, 0xD3, 0x2D});  // D50
  append_u32(table, static_cast<std::uint32_t>(tags.size()));
  Bytes data;
  for (const auto& [name, bytes] : tags) {
    append_text(table, name);
    append_u32(table, static_cast<std::uint32_t>(128 + 4 + 12 * tags.size() + data.size()));
    append_u32(table, static_cast<std::uint32_t>(bytes.size()));
    append_bytes(data, bytes);
    data.resize((data.size() + 3) / 4 * 4);
  }
  append_bytes(out, table);
  append_bytes(out, data);
  put(0, number(static_cast<std::uint32_t>(out.size())));
  return out;
}

/// A multi-process-element tag of `count` elements that are all the same matrix of 3 × 3.
inline Bytes element_bomb(std::uint32_t count) {
  using namespace jpeg;
  Bytes tag;
  append_text(tag, "mpet");
  append_u32(tag, 0);
  append_u16(tag, 3);
  append_u16(tag, 3);
  append_u32(tag, count);
  constexpr std::uint32_t kMatrixBytes = 12 + 4 * 12;
  for (std::uint32_t i = 0; i < count; ++i) {
    append_u32(tag, 16 + 8 * count);
    append_u32(tag, kMatrixBytes);
  }
  append_text(tag, "matf");
  append_u32(tag, 0);
  append_u16(tag, 3);
  append_u16(tag, 3);
  for (int i = 0; i < 12; ++i) append_u32(tag, i < 9 && i % 4 == 0 ? 0x3F800000 : 0);
  return tag;
}

/// The same with curves of 65,000 entries each: few elements, much memory.
inline Bytes memory_bomb(std::uint32_t count) {
  using namespace jpeg;
  constexpr std::uint32_t kEntries = 65'000;
  Bytes curves;
  append_text(curves, "cvst");
  append_u32(curves, 0);
  append_u16(curves, 3);
  append_u16(curves, 3);
  Bytes curve;
  append_text(curve, "curf");
  append_u32(curve, 0);
  append_u16(curve, 2);
  append_u16(curve, 0);
  append_u32(curve, 0);  // the break point: everything above it is the sampled segment's
  append_text(curve, "parf");
  append_u32(curve, 0);
  append_u16(curve, 0);
  append_u16(curve, 0);
  for (const std::uint32_t parameter : {0x3F800000u, 0u, 0u, 0u}) append_u32(curve, parameter);
  append_text(curve, "samf");
  append_u32(curve, 0);
  append_u32(curve, kEntries);
  for (std::uint32_t i = 0; i < kEntries; ++i) append_u32(curve, 0x3F800000);
  for (int i = 0; i < 3; ++i) {
    append_u32(curves, 12 + 3 * 8);
    append_u32(curves, static_cast<std::uint32_t>(curve.size()));
  }
  append_bytes(curves, curve);
  Bytes tag;
  append_text(tag, "mpet");
  append_u32(tag, 0);
  append_u16(tag, 3);
  append_u16(tag, 3);
  append_u32(tag, count);
  for (std::uint32_t i = 0; i < count; ++i) {
    append_u32(tag, 16 + 8 * count);
    append_u32(tag, static_cast<std::uint32_t>(curves.size()));
  }
  append_bytes(tag, curves);
  return tag;
}

/// lut16Type without its samples, and as many of those as `bytes` says.
inline Bytes wide_table(std::uint8_t inputs, std::uint8_t nodes, std::uint16_t curve_entries,
                        std::size_t bytes) {
  using namespace jpeg;
  Bytes tag;
  append_text(tag, "mft2");
  append_u32(tag, 0);
  for (const std::uint8_t byte : {inputs, std::uint8_t{3}, nodes, std::uint8_t{0}}) {
    tag.push_back(byte);
  }
  for (int i = 0; i < 9; ++i) append_u32(tag, i % 4 == 0 ? 0x10000 : 0);
  append_u16(tag, curve_entries);
  append_u16(tag, curve_entries);
  std::uint32_t random = 1;
  while (tag.size() < 52 + bytes) {
    random = random * 1664525u + 1013904223u;
    append_u16(tag, random >> 16);
  }
  return tag;
}

/// The largest lookup table that reduce_profile() lets through: random, so that nothing of it can
/// be simplified.
inline Bytes largest_table(std::uint8_t inputs, std::uint8_t nodes) {
  std::size_t entries = 3;
  for (int i = 0; i < inputs; ++i) entries *= nodes;
  constexpr std::uint16_t kCurve = 4096;
  return wide_table(inputs, nodes, kCurve, 2 * (entries + std::size_t{kCurve} * (inputs + 3u)));
}

/// A table of stages whose curve sets are all the same, long bytes.
inline Bytes staged_table(std::uint8_t inputs, std::uint8_t nodes) {
  using namespace jpeg;
  constexpr std::uint32_t kEntries = 0x7FFF;
  Bytes curve;
  append_text(curve, "curv");
  append_u32(curve, 0);
  append_u32(curve, kEntries);
  for (std::uint32_t i = 0; i < kEntries; ++i) append_u16(curve, i * 2 ^ (i & 1 ? 0x55 : 0));
  curve.resize((curve.size() + 3) / 4 * 4);
  const auto curve_bytes = static_cast<std::uint32_t>(curve.size());
  constexpr std::uint32_t kCurves = 32;
  const std::uint32_t matrix = kCurves + 4 * curve_bytes;
  Bytes tag;
  append_text(tag, "mAB ");
  append_u32(tag, 0);
  for (const std::uint8_t byte : {inputs, std::uint8_t{3}, std::uint8_t{0}, std::uint8_t{0}}) {
    tag.push_back(byte);
  }
  for (const std::uint32_t offset : {kCurves, matrix, kCurves, matrix + 48, kCurves}) {
    append_u32(tag, offset);
  }
  for (int i = 0; i < 4; ++i) append_bytes(tag, curve);
  for (int i = 0; i < 12; ++i) append_u32(tag, i < 9 && i % 4 == 0 ? 0x10000 : 0);
  std::size_t entries = 3;
  for (int i = 0; i < 16; ++i) tag.push_back(i < inputs ? nodes : std::uint8_t{0});
  tag.push_back(2);
  tag.insert(tag.end(), 3, 0);
  for (int i = 0; i < inputs; ++i) entries *= nodes;
  std::uint32_t random = 1;
  for (std::size_t i = 0; i < entries; ++i) {
    random = random * 1664525u + 1013904223u;
    append_u16(tag, random >> 16);
  }
  return tag;
}

}  // namespace framewire::color::testing_profiles
