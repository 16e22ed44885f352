// Why an image went to the CPU, in words.
#pragma once

#include <codec/cuda/status_bits.hpp>
#include <cstdint>
#include <string>

namespace framewire::codec::cuda {

/// What the bits of ImageResult::status mean, joined by "; ". Empty for 0.
[[nodiscard]] std::string describe(std::uint32_t status);

}  // namespace framewire::codec::cuda
