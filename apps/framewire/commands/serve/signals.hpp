// The signals that a server waits for.
#pragma once

#include <signal.h>
#include <chrono>
#include <optional>

namespace framewire::app {

/// SIGTERM, SIGINT and SIGHUP, held back in every thread and taken here.
class ServeSignals {
 public:
  /// Before any thread is started.
  ServeSignals();
  /// Waits for one of them. @return its number; nothing once the time has passed
  [[nodiscard]] std::optional<int> wait(std::chrono::milliseconds time) const;
  /// Whether one that ends the server has come since. One that asks for a reload is dropped.
  [[nodiscard]] bool ending_again() const;

 private:
  sigset_t all_{};
};

}  // namespace framewire::app
