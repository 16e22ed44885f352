#include <algorithm>
#include <array>
#include <base/checked.hpp>
#include <codec/reference/planes.hpp>
#include <transform/dct.hpp>
#include <transform/quant.hpp>

namespace framewire::codec::reference {
namespace {

using jpeg::kBlockSide;
using jpeg::kBlockSize;

/// The inverse transform of a block of which `valid` samples an axis belong to the picture, 1 to 8.
/// Only reduced inverses depend on it.
template <int N>
const transform::DctBasis<N>& inverse_basis(std::int32_t valid) {
  static const auto bases = [] {
    std::array<transform::DctBasis<N>, kBlockSide> all;
    for (int v = 1; v <= kBlockSide; ++v) {
      all[static_cast<std::size_t>(v - 1)] =
          transform::make_corner_basis<N>(N < kBlockSide ? v : kBlockSide);
    }
    return all;
  }();
  return bases[static_cast<std::size_t>(std::min(valid, kBlockSide) - 1)];
}

template <int N>
void write_block(const double* samples, std::int32_t block_x, std::int32_t block_y, Plane& plane) {
  const std::int32_t width = std::min(N, plane.width_px - block_x * N);
  const std::int32_t height = std::min(N, plane.height_px - block_y * N);
  for (std::int32_t y = 0; y < height; ++y) {
    std::uint8_t* row = &plane.samples[static_cast<std::size_t>(block_y * N + y) * plane.width_px];
    for (std::int32_t x = 0; x < width; ++x) {
      row[block_x * N + x] = transform::to_sample(samples[y * N + x]);
    }
  }
}

template <int N>
Result<Plane> inverse_component(const jpeg::Component& component, const ComponentBlocks& blocks,
                                const jpeg::QuantTable& quantiser, const Context& context) {
  Plane plane;
  plane.width_px = base::ceil_div(component.width_px * N, kBlockSide);
  plane.height_px = base::ceil_div(component.height_px * N, kBlockSide);
  plane.samples.resize(static_cast<std::size_t>(plane.width_px) * plane.height_px);
  for (std::int32_t y = 0; y < component.height_blocks; ++y) {
    if (context.deadline.passed()) {
      return fail(StatusCode::kDeadline, "time ran out in the inverse transform");
    }
    for (std::int32_t x = 0; x < component.width_blocks; ++x) {
      const Block& levels = blocks.at(x, y);
      double coefficients[kBlockSize];
      for (std::size_t i = 0; i < kBlockSize; ++i) {
        coefficients[i] = transform::dequantise(levels[i], quantiser.values[i]);
      }
      double samples[N * N];
      transform::idct<N>(inverse_basis<N>(component.width_px - x * kBlockSide),
                         inverse_basis<N>(component.height_px - y * kBlockSide), coefficients,
                         samples);
      write_block<N>(samples, x, y, plane);
    }
  }
  return plane;
}

/// The sample of column x, row y; beyond the edge the last one.
double padded_sample(const Plane& plane, std::int32_t x, std::int32_t y) {
  const std::int32_t column = std::min(x, plane.width_px - 1);
  const std::int32_t row = std::min(y, plane.height_px - 1);
  return plane.samples[static_cast<std::size_t>(row) * plane.width_px + column];
}

}  // namespace

Result<Planes> decode_planes(const jpeg::JpegFile& file, const PaddedCoefficients& coefficients,
                             const plan::Scales& scales, const Context& context) {
  Planes out;
  for (int i = 0; i < file.frame.component_count; ++i) {
    const auto n = static_cast<std::size_t>(i);
    const int table = file.component_quant[n];
    jpeg::QuantTable quantiser;
    if (table >= 0) quantiser = file.quant_tables[static_cast<std::size_t>(table)];
    const auto& component = file.frame.components[n];
    const ComponentBlocks& blocks = coefficients.components[n];
    Result<Plane> plane = fail(StatusCode::kUnsupported, "decode scales are 8, 6, 5, 4, 2 and 1");
    if (scales[n] == 8) plane = inverse_component<8>(component, blocks, quantiser, context);
    if (scales[n] == 6) plane = inverse_component<6>(component, blocks, quantiser, context);
    if (scales[n] == 5) plane = inverse_component<5>(component, blocks, quantiser, context);
    if (scales[n] == 4) plane = inverse_component<4>(component, blocks, quantiser, context);
    if (scales[n] == 2) plane = inverse_component<2>(component, blocks, quantiser, context);
    if (scales[n] == 1) plane = inverse_component<1>(component, blocks, quantiser, context);
    if (!plane) return fail(std::move(plane.error()));
    out.planes.push_back(std::move(*plane));
  }
  return out;
}

TransformedPlane transform_plane(const Plane& plane, std::int32_t width_blocks,
                                 std::int32_t height_blocks) {
  static const transform::DctBasis<8> basis = transform::make_dct_basis();
  TransformedPlane out{width_blocks, height_blocks, {}};
  out.blocks.resize(static_cast<std::size_t>(width_blocks) * height_blocks);
  for (std::int32_t by = 0; by < height_blocks; ++by) {
    for (std::int32_t bx = 0; bx < width_blocks; ++bx) {
      double samples[kBlockSize];
      for (int i = 0; i < kBlockSize; ++i) {
        samples[i] = padded_sample(plane, bx * kBlockSide + i % kBlockSide,
                                   by * kBlockSide + i / kBlockSide) -
                     128.0;
      }
      transform::fdct(basis, samples,
                      out.blocks[static_cast<std::size_t>(by) * width_blocks + bx].data());
    }
  }
  return out;
}

ComponentBlocks quantise_plane(const TransformedPlane& plane, const jpeg::QuantTable& quantiser) {
  ComponentBlocks out{plane.width_blocks, plane.height_blocks, {}};
  out.blocks.resize(plane.blocks.size());
  for (std::size_t b = 0; b < plane.blocks.size(); ++b) {
    for (std::size_t i = 0; i < kBlockSize; ++i) {
      out.blocks[b][i] = transform::quantise(plane.blocks[b][i], quantiser.values[i]);
    }
  }
  return out;
}

}  // namespace framewire::codec::reference
