// The CPU codec: libjpeg-turbo's entropy coding and full-size transform, our own scaled transform
// and resampling.
#pragma once

#include <codec/codec.hpp>
#include <memory>

namespace framewire::codec {

/// Takes every file that jpeg::check_supported() admits.
[[nodiscard]] std::unique_ptr<Codec> make_turbo_codec();

}  // namespace framewire::codec
