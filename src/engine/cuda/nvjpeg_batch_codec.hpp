// nvJPEG around the CUDA codec's resampler: its decoder before, its encoder behind.
#pragma once

#include <codec/batch_codec.hpp>
#include <framewire/status.hpp>
#include <memory>

namespace framewire::engine {

/// On the calling thread's current device. Decodes on the chip's JPEG engines where it has them,
/// otherwise on CUDA cores. What nvJPEG's encoder does not write (restart intervals before 13.3,
/// CMYK, a bound on bytes) ours does.
/// @return unsupported; busy; device_lost
[[nodiscard]] Result<std::unique_ptr<codec::BatchCodec>> make_nvjpeg_batch_codec(
    std::uint64_t max_device_bytes);

}  // namespace framewire::engine
