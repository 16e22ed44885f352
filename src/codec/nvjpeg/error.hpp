// nvJPEG's return codes as Status values.
#pragma once

#include <nvjpeg.h>
#include <framewire/status.hpp>

namespace framewire::codec::nvjpeg {

/// Nothing for success; unsupported and invalid_input for what a file is, busy where memory ran
/// out, device_lost where work on the device failed, internal for misuse of the library.
/// @param doing  what was tried, for the message: "decoding a batch of 64"
[[nodiscard]] Result<void> check(nvjpegStatus_t status, const char* doing);

}  // namespace framewire::codec::nvjpeg
