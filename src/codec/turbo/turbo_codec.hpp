// The CPU codec: our own entropy decoding of clean files, scaled transform and resampling;
// libjpeg-turbo's full-size transform and encoder, and its decoder for everything else.
#pragma once

#include <codec/codec.hpp>
#include <codec/turbo/entropy_decoder.hpp>
#include <memory>

namespace framewire::codec {

/// Takes every file that jpeg::check_supported() admits.
[[nodiscard]] std::unique_ptr<Codec> make_turbo_codec();

/// The same codec with a given entropy decoder; for comparing the two, which must not differ.
[[nodiscard]] std::unique_ptr<Codec> make_turbo_codec_with(turbo::EntropyDecoder entropy);

}  // namespace framewire::codec
