// Quantised coefficients of a whole file, for codecs that leave entropy decoding to the host.
#pragma once

#include <codec/codec.hpp>
#include <codec/coefficients.hpp>

namespace framewire::codec {

/// Decodes the entropy-coded data of every scan that counts: Huffman and arithmetic, sequential and
/// progressive. Bands that a reduced scale does not need are decoded too, since a fault in them is
/// still a fault. Damaged data decodes, warns and fails as in the CPU codec's decode().
///
/// Source: our own decoder for clean Huffman-coded files, libjpeg-turbo for all others.
/// @param outcome  gets the warnings
/// @return invalid_input where nothing can be decoded, or with strict on any warning; unsupported;
///         too_large for more scans than context.max_scans; deadline; busy
/// @accuracy equal to codec/reference on every file; tests/conformance/coefficients_test.cpp
/// @cost 128 bytes a block; twice that where libjpeg decodes
[[nodiscard]] Result<Coefficients> read_coefficients(const jpeg::JpegFile& file,
                                                     const Context& context, CodecOutcome& outcome);

}  // namespace framewire::codec
