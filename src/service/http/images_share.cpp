// Originals on their way, in the share of the address that they are for.
#include <service/http/images.hpp>
#include <service/http/io_thread.hpp>
#include <service/http/pace.hpp>

namespace framewire::service::http {

// On a thread of the sources'. @return whether the original may go on coming
bool Images::may_hold(const Computation& computation, std::size_t held_bytes,
                      std::size_t arrived_bytes) noexcept try {
  computation->arrived_bytes.store(arrived_bytes, std::memory_order_relaxed);
  const std::lock_guard lock(computation->charging);
  if (computation->refused) return false;
  if (held_bytes <= computation->held_bytes) return true;
  {
    const std::lock_guard waiting(mutex_);
    if (computation->answered) return false;
  }
  const auto verdict = charge(computation, held_bytes, 0);
  if (verdict == ClientAdmission::Verdict::kAdmitted) {
    computation->held_bytes = held_bytes;
    return true;
  }
  computation->refused = verdict;
  return false;
} catch (...) {  // memory ran out
  return false;
}

// Counts the original. Where the address that began has its share, others that wait for the same
// picture are not refused for it: one of them is charged in its place.
ClientAdmission::Verdict Images::charge(const Computation& computation, std::uint64_t bytes,
                                        std::uint64_t pixels) {
  ClientAdmission& admission = computation->io->shared().admission;
  const auto verdict = admission.change(computation->ticket, bytes, pixels);
  return verdict == ClientAdmission::Verdict::kClientShare
             ? charge_another(computation, bytes, pixels)
             : verdict;
}

// @return kClientShare where nobody else waits
ClientAdmission::Verdict Images::charge_another(const Computation& computation, std::uint64_t bytes,
                                                std::uint64_t pixels) {
  ClientAdmission& admission = computation->io->shared().admission;
  auto verdict = ClientAdmission::Verdict::kClientShare;
  while (verdict == ClientAdmission::Verdict::kClientShare) {
    const auto next = refuse_share(computation);
    if (!next) break;
    computation->ticket.give_back();
    verdict = admission.admit(*next, bytes, pixels, computation->ticket);
  }
  return verdict;
}

std::optional<Images::SlowFetch> Images::slowest_fetch(IoThread& io,
                                                       std::chrono::steady_clock::time_point now) {
  const ClientAdmission& admission = io.shared().admission;
  std::optional<SlowFetch> slowest;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, computation] : computations_) {
    if (computation->io != &io || !computation->fetching) continue;
    const auto pace = bytes_per_second(computation->arrived_bytes.load(std::memory_order_relaxed),
                                       computation->begun, now);
    if (!pace || (slowest && *pace >= slowest->bytes_per_second)) continue;
    if (!admission.gives_way(computation->charged, now).bodies) continue;
    slowest = SlowFetch{computation, computation->charged, *pace};
  }
  return slowest;
}

void Images::give_way(const SlowFetch& fetch) noexcept try {
  const Computation& computation = fetch.computation;
  {
    const std::lock_guard lock(computation->charging);
    const auto verdict = charge_another(computation, computation->held_bytes, 0);
    if (verdict == ClientAdmission::Verdict::kAdmitted) return;
    computation->refused = verdict;
  }
  computation->stop.request_stop();
} catch (...) {
  // Memory ran out: the next tick tries again.
}

}  // namespace framewire::service::http
