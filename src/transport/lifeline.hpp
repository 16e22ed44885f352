// How a link that does not carry data on the control connection learns that its peer has gone.
#pragma once

#include <framewire/status.hpp>

namespace framewire::transport {

/// Watches the authenticated control connection, whose end is the peer's end.
class Lifeline {
 public:
  virtual ~Lifeline() = default;
  /// @return peer_lost once it has broken
  [[nodiscard]] virtual Result<void> check() = 0;
};

}  // namespace framewire::transport
