// nvJPEG behind the interface that every codec implements, for single images.
#pragma once

#include <codec/codec.hpp>
#include <codec/nvjpeg/decoder.hpp>
#include <memory>

namespace framewire::codec {

/// Decodes and encodes from and to host memory. Nothing is allocated on a device before the first
/// call; each thread that calls at the same time then gets a stream, a decoder and an encoder on
/// its current device, which are kept.
///
/// decode() takes full scales only. It refuses what NvjpegDecoder::check() refuses, and `strict`,
/// since nvJPEG does not report damage. encode() takes what NvjpegEncoder::check() takes, and
/// max_bytes. transcode() is unsupported: nvJPEG does not resample, and folders below codec/ do not
/// use one another; the engine puts its decoder and encoder around another codec's resampler.
/// @param backend  of the decoder
[[nodiscard]] std::unique_ptr<Codec> make_nvjpeg_codec(
    nvjpeg::Backend backend = nvjpeg::Backend::kHybrid);

}  // namespace framewire::codec
