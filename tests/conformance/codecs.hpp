// Every codec that the matrix runs over, and what the tests of the matrix share.
#pragma once

#include <gtest/gtest.h>
#include <codec/codec.hpp>
#include <cstdint>
#include <jpeg/types.hpp>
#include <memory>
#include <span>
#include <string>
#include <tests/conformance/cases.hpp>
#include <vector>

namespace framewire::conformance {

struct CodecEntry {
  std::string name;
  CodecKind kind;
  std::unique_ptr<codec::Codec> (*make)();
};

/// One line a codec; see codecs.cpp.
[[nodiscard]] const std::vector<CodecEntry>& all_codecs();

/// One cell of the matrix: a codec, a layout and a coding.
struct Cell {
  CodecEntry codec;
  Layout layout;
  Coding coding;
};
[[nodiscard]] std::vector<Cell> all_cells();
/// "reference_420_progressive"
[[nodiscard]] std::string cell_name(const testing::TestParamInfo<Cell>& info);

/// Parses with default limits; a failure is a test failure.
[[nodiscard]] jpeg::JpegFile parse_or_die(std::span<const std::uint8_t> bytes);

/// How far apart two planes are.
struct Distance {
  int largest = 0;
  double above_one = 0;  ///< share of samples that differ by more than 1
  double above_two = 0;
  double psnr_db = 0;  ///< infinity where equal
};
/// Planes of different sizes are a test failure.
[[nodiscard]] Distance distance(const codec::Plane& a, const codec::Plane& b);

}  // namespace framewire::conformance
