// What tests of the Resizer share: a picture, and what becomes of it.
#pragma once

#include <gtest/gtest.h>
#include <cmath>
#include <framewire/resizer.hpp>
#include <jpeg/parser.hpp>
#include <stdexcept>
#include <string>
#include <tests/support/sample_jpeg.hpp>
#include <vector>

namespace framewire::test {

using sample::Bytes;

inline double smooth(int component, double x, double y) {
  return 128 + 70 * std::sin(x / 17 + component) + 45 * std::cos(y / 13 - component);
}

inline Bytes photo(int width = 200, int height = 150) {
  return sample::make({width, height, JCS_YCbCr, 2, 2, 90}, smooth);
}

inline Resized resize_or_die(const Bytes& jpeg, const ResizeOptions& options = {}) {
  static const Resizer resizer;
  auto resized = resizer.resize(jpeg, options);
  if (!resized) throw std::runtime_error(resized.error().to_string());
  return std::move(*resized);
}

inline StatusCode refusal(const Bytes& jpeg, const ResizeOptions& options = {}) {
  const auto resized = Resizer().resize(jpeg, options);
  EXPECT_FALSE(resized);
  return resized ? StatusCode::kInternal : resized.error().code();
}

inline jpeg::JpegFile parse_or_die(std::span<const std::uint8_t> bytes) {
  auto file = jpeg::parse(bytes, {});
  if (!file) throw std::runtime_error(file.error().to_string());
  return std::move(*file);
}

inline std::vector<std::string> kinds(const Report& report) {
  std::vector<std::string> out;
  for (const Warning& w : report.warnings) out.emplace_back(to_string(w.kind));
  return out;
}

}  // namespace framewire::test
