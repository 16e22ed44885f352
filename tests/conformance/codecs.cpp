#include <algorithm>
#include <cmath>
#include <codec/reference/reference_codec.hpp>
#include <codec/turbo/turbo_codec.hpp>
#include <cstdlib>
#include <jpeg/parser.hpp>
#include <limits>
#include <stdexcept>
#include <tests/conformance/codecs.hpp>

namespace framewire::conformance {

const std::vector<CodecEntry>& all_codecs() {
  static const std::vector<CodecEntry> codecs = {
      {"reference", CodecKind::kReference, codec::make_reference_codec},
      {"turbo", CodecKind::kTurbo, codec::make_turbo_codec},
  };
  return codecs;
}

std::vector<Cell> all_cells() {
  std::vector<Cell> cells;
  for (const CodecEntry& codec : all_codecs()) {
    for (const Layout& l : all_layouts()) {
      for (const Coding& c : all_codings()) cells.push_back({codec, l, c});
    }
  }
  return cells;
}

std::string cell_name(const testing::TestParamInfo<Cell>& info) {
  return info.param.codec.name + "_" + info.param.layout.name + "_" + info.param.coding.name;
}

jpeg::JpegFile parse_or_die(std::span<const std::uint8_t> bytes) {
  auto file = jpeg::parse(bytes, Limits{});
  if (!file) throw std::runtime_error(file.error().to_string());
  return std::move(*file);
}

Distance distance(const codec::Plane& a, const codec::Plane& b) {
  EXPECT_EQ(a.width_px, b.width_px);
  EXPECT_EQ(a.height_px, b.height_px);
  EXPECT_EQ(a.samples.size(), b.samples.size());
  Distance d;
  if (a.samples.size() != b.samples.size()) return d;
  double squares = 0;
  std::size_t ones = 0;
  std::size_t twos = 0;
  for (std::size_t i = 0; i < a.samples.size(); ++i) {
    const int difference = std::abs(a.samples[i] - b.samples[i]);
    d.largest = std::max(d.largest, difference);
    squares += difference * difference;
    ones += difference > 1 ? 1 : 0;
    twos += difference > 2 ? 1 : 0;
  }
  const auto count = static_cast<double>(a.samples.size());
  d.above_one = static_cast<double>(ones) / count;
  d.above_two = static_cast<double>(twos) / count;
  d.psnr_db = squares == 0 ? std::numeric_limits<double>::infinity()
                           : 10 * std::log10(255.0 * 255.0 * count / squares);
  return d;
}

}  // namespace framewire::conformance
