// From planes to a JPEG stream, sequential Huffman.
#pragma once

#include <codec/codec.hpp>
#include <codec/reference/coefficients.hpp>
#include <codec/reference/planes.hpp>
#include <cstdint>
#include <framewire/status.hpp>
#include <plan/plan.hpp>
#include <vector>

namespace framewire::codec::reference {

/// Forward-transforms all planes to whole MCUs.
/// @return internal for planes that do not fit the plan
[[nodiscard]] Result<std::vector<TransformedPlane>> transform_planes(const Planes& planes,
                                                                     const plan::EncodePlan& plan);

/// What a stream of this quality carries; the tables are those of jpeg::quality_tables().
[[nodiscard]] PaddedCoefficients quantise_planes(const std::vector<TransformedPlane>& planes,
                                                 const plan::EncodePlan& plan, int quality);

/// Appends DQT, SOF0, DHT, DRI, SOS, entropy-coded data and EOI.
///
/// Source: ITU-T T.81 F.1.2; tables of K.3, or of K.2 with plan.optimize_huffman.
/// @param coefficients  as quantise_planes() gives
void write_stream(const PaddedCoefficients& coefficients, const plan::EncodePlan& plan, int quality,
                  std::vector<std::uint8_t>& out);

/// Encodes planes to a stream; under plan.max_bytes with the highest quality that fits, counting
/// what `out` holds already.
/// @return unsupported for progressive; internal; deadline
[[nodiscard]] Result<void> encode_planes(const Planes& planes, const plan::EncodePlan& plan,
                                         const Context& context, std::vector<std::uint8_t>& out,
                                         CodecOutcome& outcome);

}  // namespace framewire::codec::reference
