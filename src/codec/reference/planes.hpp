// Between coefficients and samples.
#pragma once

#include <codec/codec.hpp>
#include <codec/reference/coefficients.hpp>
#include <jpeg/types.hpp>
#include <plan/plan.hpp>

namespace framewire::codec::reference {

/// Dequantises and inverse-transforms every component, at full or reduced size.
///
/// Source: ITU-T T.81 A.3.3; reduced sizes as transform::make_corner_basis(), blocks at the right
/// and bottom edge re-padded. A component without a quantiser (no scan delivered it) is 128.
/// @return planes of ⌈component size × scale / 8⌉; deadline
[[nodiscard]] Result<Planes> decode_planes(const jpeg::JpegFile& file,
                                           const PaddedCoefficients& coefficients,
                                           const plan::Scales& scales, const Context& context);

/// Transforms of one plane, before quantisation.
struct TransformedPlane {
  std::int32_t width_blocks = 0;
  std::int32_t height_blocks = 0;
  std::vector<std::array<double, jpeg::kBlockSize>> blocks;  ///< natural order
};

/// Forward-transforms a plane; beyond its edge the last column and row repeat.
[[nodiscard]] TransformedPlane transform_plane(const Plane& plane, std::int32_t width_blocks,
                                               std::int32_t height_blocks);

[[nodiscard]] ComponentBlocks quantise_plane(const TransformedPlane& plane,
                                             const jpeg::QuantTable& quantiser);

}  // namespace framewire::codec::reference
