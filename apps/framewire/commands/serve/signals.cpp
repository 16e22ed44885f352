#include <commands/serve/signals.hpp>

namespace framewire::app {

ServeSignals::ServeSignals() {
  sigemptyset(&all_);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&all_, number);
  (void)::pthread_sigmask(SIG_BLOCK, &all_, nullptr);
}

std::optional<int> ServeSignals::wait(std::chrono::milliseconds time) const {
  const timespec limit{time.count() / 1000, time.count() % 1000 * 1'000'000};
  const int number = ::sigtimedwait(&all_, nullptr, &limit);
  return number > 0 ? std::optional(number) : std::nullopt;
}

bool ServeSignals::ending_again() const {
  while (const auto number = wait(std::chrono::milliseconds(0))) {
    if (*number != SIGHUP) return true;
  }
  return false;
}

}  // namespace framewire::app
