// Originals on their way, and answers on theirs, in the share of the address that they are for.
#include <algorithm>
#include <iterator>
#include <service/http/actions.hpp>
#include <service/http/connection.hpp>
#include <service/http/images.hpp>
#include <service/http/io_thread.hpp>
#include <service/http/pace.hpp>
#include <utility>

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

// Refuses those who wait at the address that is charged, if others wait, too.
// @return whom to charge next
std::optional<ClientKey> Images::refuse_share(const Computation& computation) {
  std::vector<ImageComputation::Waiter> refused;
  std::optional<ClientKey> next;
  {
    const std::lock_guard lock(mutex_);
    if (computation->answered) return std::nullopt;
    auto& waiters = computation->waiters;
    const auto others =
        std::stable_partition(waiters.begin(), waiters.end(), [&](const auto& waiter) {
          return waiter.client == computation->charged || has_gone(waiter);
        });
    if (others == waiters.end()) return std::nullopt;
    next = computation->charged = others->client;
    refused.assign(std::make_move_iterator(waiters.begin()), std::make_move_iterator(others));
    waiters.erase(waiters.begin(), others);
    computation->first_waiting = 0;
  }
  for (ImageComputation::Waiter& waiter : refused) {
    const auto deliver = [this, exchange = std::move(waiter.exchange), computation] {
      // It has left already where it was told to stop.
      if (exchange->answered || exchange->stop.stop_requested()) return;
      exchange->on_stop.reset();
      leave(computation);
      const auto connection = exchange->connection.lock();
      if (connection == nullptr) return;
      try {
        connection->answer(*exchange, refuse_admission(exchange->error_form,
                                                       ClientAdmission::Verdict::kClientShare));
      } catch (...) {
        connection->fail(*exchange);
      }
    };
    // Where no word can be passed on, the request ends with its time.
    (void)waiter.io->post(deliver);
  }
  return next;
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

bool Images::is_charged(const ImageComputation& computation, ClientKey client) noexcept {
  const std::lock_guard lock(mutex_);
  return computation.charged == client;
}

void Images::give_way(const SlowFetch& fetch) noexcept try {
  const Computation& computation = fetch.computation;
  {
    const std::lock_guard lock(computation->charging);
    if (!is_charged(*computation, fetch.client)) return;
    const auto verdict = charge_another(computation, computation->held_bytes, 0);
    if (verdict == ClientAdmission::Verdict::kAdmitted) return;
    computation->refused = verdict;
  }
  computation->stop.request_stop();
} catch (...) {
  // Memory ran out: the next tick tries again.
}

// One of those who wait has gone; with the last of them the work ends.
void Images::leave(const std::weak_ptr<ImageComputation>& computation) noexcept {
  const Computation left = computation.lock();
  if (left == nullptr) return;
  {
    const std::lock_guard charging(left->charging);
    const std::lock_guard lock(mutex_);
    if (left->answered) return;
    if (--left->interested != 0) {
      charge_who_waits(*left);
      return;
    }
    const auto found = computations_.find(left->key);
    if (found != computations_.end() && found->second == left) computations_.erase(found);
  }
  stop(*left);
}

// With both locks. Where the first has gone, the first of those who still wait is charged: nobody
// has a share of what others alone wait for.
void Images::charge_who_waits(ImageComputation& computation) noexcept {
  const auto& waiters = computation.waiters;
  std::size_t& first = computation.first_waiting;
  while (first < waiters.size() && has_gone(waiters[first])) ++first;
  if (first == waiters.size() || waiters[first].client == computation.charged) return;
  computation.charged = waiters[first].client;
  computation.ticket.charge_to(computation.charged);
}

AnswerRecipient::AnswerRecipient(std::shared_ptr<ImageComputation> answered, ClientKey client)
    : computation_(std::move(answered)) {
  const std::lock_guard lock(computation_->charging);
  place_ = computation_->recipients.insert(computation_->recipients.end(), client);
  charge_first();
}

AnswerRecipient::~AnswerRecipient() {
  const std::lock_guard lock(computation_->charging);
  computation_->recipients.erase(place_);
  charge_first();
}

// With the lock. The last one's bytes count for it until their memory is free.
void AnswerRecipient::charge_first() noexcept {
  if (computation_->recipients.empty()) return;
  computation_->ticket.charge_to(computation_->recipients.front());
}

}  // namespace framewire::service::http
