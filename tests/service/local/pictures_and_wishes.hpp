// What clients of every kind are asked to resize, and how: answers must be an engine's.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <framewire/options.hpp>
#include <fstream>
#include <iterator>
#include <limits>
#include <tests/unit/engine/resized.hpp>
#include <vector>

namespace framewire::service::local::test {

using framewire::test::photo;
using sample::Bytes;

/// Pictures of many kinds, and what is none.
inline std::vector<Bytes> inputs() {
  using sample::Spec;
  const auto make = [](const Spec& spec) { return sample::make(spec, framewire::test::smooth); };
  std::vector<Bytes> all{photo(), photo(1, 1), photo(640, 480), photo(17, 33)};
  Spec spec{200, 150, JCS_YCbCr, 2, 2, 90};
  spec.progressive = true;
  all.push_back(make(spec));
  all.push_back(make({120, 80, JCS_GRAYSCALE, 1, 1, 80}));
  all.push_back(make({120, 80, JCS_YCCK, 1, 1, 80}));
  all.push_back(make({120, 80, JCS_RGB, 1, 1, 80}));
  Bytes cut = photo();
  cut.resize(cut.size() / 2);
  all.push_back(cut);
  Bytes odd = photo();
  odd[odd.size() / 2] ^= 0x55;
  odd[odd.size() / 3] = 0xFF;
  all.push_back(odd);
  all.push_back({});
  all.push_back({0xFF, 0xD8});
  all.push_back(Bytes(1000, 'x'));
  return all;
}

inline std::vector<Bytes> corpus() {
  std::vector<Bytes> all;
  const char* folder = std::getenv("FRAMEWIRE_CORPUS");
  if (folder == nullptr) return all;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
    if (file.path().extension() != ".jpg" || file.file_size() > (8u << 20)) continue;
    std::ifstream in(file.path(), std::ios::binary);
    all.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return all;
}

inline std::vector<ResizeOptions> wishes() {
  std::vector<ResizeOptions> all(8);
  all[1].width_px = 64;
  all[2].width_px = all[2].height_px = 50;
  all[2].resize = ResizeMode::kFill;
  all[2].gravity = {Gravity::Anchor::kFocus, 0.1, 0.9};
  all[2].sharpen_sigma = 0.7;
  all[3].width_px = 40;
  all[3].progressive = all[3].optimize_huffman = true;
  all[3].max_bytes = 900;
  all[4].strict = true;
  all[5].width_px = -3;
  all[6].dpr = std::numeric_limits<double>::quiet_NaN();
  all[7].limits.max_input_pixels = 1000;
  return all;
}

}  // namespace framewire::service::local::test
