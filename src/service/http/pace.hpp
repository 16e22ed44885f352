// How slowly a client may read and write, and how long it is waited for at a connection's end.
#pragma once

#include <chrono>
#include <cstdint>

namespace framewire::service::http {

/// Whoever reads or writes more slowly than this for long is cut off.
inline constexpr std::uint64_t kMinBytesPerSecond = 128u << 10;

/// How long a client may go on sending after its last answer, or once it has been told that its
/// connection ends.
inline constexpr std::chrono::milliseconds kLinger{2000};

/// How long requests that are on their way are waited for once the server is ending. A client may
/// have sent one just before it hears of the end, and could not tell whether that has been worked
/// on.
inline constexpr std::chrono::milliseconds kDrainGrace{1000};

}  // namespace framewire::service::http
