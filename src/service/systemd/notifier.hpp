// Tells the service manager how the service is: sd_notify(3), without libsystemd.
#pragma once

#include <base/file_descriptor.hpp>
#include <chrono>
#include <framewire/status.hpp>
#include <string>
#include <string_view>

namespace framewire::service::systemd {

/// Sends datagrams to the socket that NOTIFY_SOCKET names. Where there is none, every member does
/// nothing. What cannot be sent within a second is lost: nobody waits longer for a manager.
///
/// Thread safety: one thread at a time.
class Notifier {
 public:
  /// Tells nobody.
  Notifier() = default;
  /// @param path         a path, or "@name" in the abstract namespace; empty: tells nobody
  /// @param watchdog_us  how often word must come, as WATCHDOG_USEC has it; 0: never
  /// @return invalid_input for a socket that cannot be; busy where no descriptor is left
  [[nodiscard]] static Result<Notifier> open(std::string_view path, std::uint64_t watchdog_us);
  /// Made from NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, which are deleted from the
  /// environment: no process that this one starts speaks for it. Before any other thread is
  /// started.
  [[nodiscard]] static Result<Notifier> from_environment();

  [[nodiscard]] bool enabled() const noexcept { return socket_.valid(); }
  /// How often the manager wants word; zero: never.
  [[nodiscard]] std::chrono::microseconds watchdog() const noexcept { return watchdog_; }

  /// The service answers; also the end of a reload.
  void ready(std::string_view status) const noexcept;
  void reloading() const noexcept;
  /// @param max_wait  how long the end may take
  void stopping(std::string_view status, std::chrono::milliseconds max_wait) const noexcept;
  /// One line for people. Line breaks become blanks; what is beyond 512 bytes is cut.
  void status(std::string_view text) const noexcept;
  void alive() const noexcept;

 private:
  void send(std::string_view message) const noexcept;

  base::FileDescriptor socket_;
  std::string address_;  ///< as in sockaddr_un::sun_path
  std::chrono::microseconds watchdog_{0};
};

}  // namespace framewire::service::systemd
