// The oracle: every stage slow, obvious and in double precision.
#pragma once

#include <codec/codec.hpp>
#include <memory>

namespace framewire::codec {

/// Decodes every 8-bit DCT process; writes sequential Huffman files (progressive is `unsupported`).
/// Results do not depend on the machine's SIMD. Memory: 2 bytes a coefficient of the whole picture
/// and 8 bytes a sample of the widest plane being filtered or encoded.
[[nodiscard]] std::unique_ptr<Codec> make_reference_codec();

}  // namespace framewire::codec
