// What the GPU bench checks outside its timed regions, with libjpeg-turbo as the judge.
#pragma once

#include <codec/cuda/transcoder.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace framewire::bench {

/// Quantised coefficients of one component as libjpeg reads them: [blocks][64] natural order, rows
/// of padded_width blocks.
struct CoefficientPlane {
  std::uint32_t width_blocks = 0;
  std::uint32_t height_blocks = 0;
  std::vector<std::int16_t> blocks;
};

/// @return empty, with `error` set, where libjpeg refuses; `warnings` counts its complaints
[[nodiscard]] std::vector<CoefficientPlane> read_coefficients(std::span<const std::uint8_t> jpeg,
                                                              std::string& error, long& warnings);

/// Samples of every component at its own sampling, as libjpeg decodes them.
struct SamplePlane {
  std::uint32_t width_px = 0;
  std::uint32_t height_px = 0;
  std::vector<std::uint8_t> samples;
};
[[nodiscard]] std::vector<SamplePlane> read_planes(std::span<const std::uint8_t> jpeg,
                                                   std::string& error);

/// Compares the decoder's coefficients with libjpeg's, bit for bit, within the stored corner.
/// @return what differs first; empty: nothing
[[nodiscard]] std::string compare_coefficients(const codec::cuda::Transcoder& transcoder,
                                               std::size_t image, std::size_t component,
                                               const CoefficientPlane& expected);

/// dB between two planes of equal size; 99 where they are equal, −1 where sizes differ.
[[nodiscard]] double psnr(const SamplePlane& a, const SamplePlane& b);

}  // namespace framewire::bench
