// The two ways from entropy-coded data to coefficients.
#pragma once

#include <cstdint>

namespace framewire::codec::turbo {

/// Who decodes the entropy-coded data.
enum class EntropyDecoder : std::uint8_t {
  kOwn,      ///< ours, for files that OwnEntropySource accepts; clean data only
  kLibjpeg,  ///< libjpeg, which also salvages what it can of damaged files
};

}  // namespace framewire::codec::turbo
