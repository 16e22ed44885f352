// Options, crops and elements of training batches, for tests.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <framewire/tensor.hpp>
#include <random>

namespace framewire::test {

/// @param threads  0: as many as the process may use
inline TensorOptions tensor_options(int width_px, int height_px, unsigned threads = 1) {
  TensorOptions options;
  options.width_px = width_px;
  options.height_px = height_px;
  options.threads = threads;
  return options;
}

/// Any box inside of a picture.
inline CropBox random_box(std::mt19937& random, int width_px, int height_px) {
  const auto draw = [&](int low, int high) {
    return std::uniform_int_distribution(low, high)(random);
  };
  CropBox box;
  box.width_px = draw(1, width_px);
  box.height_px = draw(1, height_px);
  box.left_px = draw(0, width_px - box.width_px);
  box.top_px = draw(0, height_px - box.height_px);
  return box;
}

inline std::size_t element_bytes(TensorType type) {
  return type == TensorType::kUint8 ? 1 : type == TensorType::kFloat32 ? 4 : 2;
}

inline double from_float16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

/// One element of a batch, whatever its type.
/// @param data  host, at any address
inline double element_at(const void* data, std::size_t index, TensorType type) {
  const auto* const at = static_cast<const std::uint8_t*>(data) + index * element_bytes(type);
  if (type == TensorType::kUint8) return *at;
  if (type == TensorType::kFloat32) {
    float value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  if (type == TensorType::kFloat16) return from_float16(bits);
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace framewire::test
