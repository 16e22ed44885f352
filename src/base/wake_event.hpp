// Wakes the one thread that waits for it.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>
#include <atomic>
#include <base/file_descriptor.hpp>
#include <cstdint>

namespace framewire::base {

/// An eventfd of this process' own. notify() may be called from any thread, and is cheap where the
/// waiting thread has been woken already.
class WakeEvent {
 public:
  WakeEvent() noexcept : file_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  [[nodiscard]] bool valid() const noexcept { return file_.valid(); }
  /// The descriptor to poll for reading.
  [[nodiscard]] int fd() const noexcept { return file_.get(); }

  void notify() noexcept {
    if (rung_.exchange(true)) return;
    const std::uint64_t one = 1;
    (void)!::write(file_.get(), &one, sizeof one);
  }
  /// Called by the waiting thread, which then looks at everything that it is woken for.
  void clear() noexcept {
    std::uint64_t count = 0;
    (void)!::read(file_.get(), &count, sizeof count);
    rung_ = false;
  }

 private:
  FileDescriptor file_;
  std::atomic<bool> rung_{false};
};

}  // namespace framewire::base
