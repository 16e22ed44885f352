// Whether there is anybody left to make pictures.
#pragma once

#include <framewire/status.hpp>

namespace framewire::batch {

/// Whether what a picture failed of will meet every other one: the server is gone, or the engine
/// ends. Where a device fails, others and the CPU go on.
[[nodiscard]] inline bool is_engine_gone(const Status& error) noexcept {
  return error.code() == StatusCode::kPeerLost || error.code() == StatusCode::kCancelled;
}

}  // namespace framewire::batch
