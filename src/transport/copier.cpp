#include <atomic>
#include <chrono>
#include <transport/copier.hpp>

namespace framewire::transport {
namespace {

// Asking the device costs microseconds.
constexpr unsigned kLooksACheck = 256;
constexpr unsigned kRest = 64;

std::uint64_t load_shared(std::uint64_t& word) {
  return std::atomic_ref(word).load(std::memory_order_acquire);
}
void store_shared(std::uint64_t& word, std::uint64_t value) {
  std::atomic_ref(word).store(value, std::memory_order_release);
}

}  // namespace

Copier::Copier(CopyKernel& kernel, const Mailbox& mailbox, const LingerPolicy& policy)
    : kernel_(kernel), box_(mailbox), policy_(policy) {}

Result<std::uint64_t> Copier::copy(const CopyCommand& wanted) {
  if (auto free = make_room(); !free) return fail(free.error());
  if (auto looked = look(); !looked) return fail(looked.error());
  CopyCommand command = wanted;
  command.number = box_.number + 1;
  const bool narrow = command.bytes <= policy_.narrow_bytes;
  const Stay stay = stay_for(narrow);
  if (dismissed_ || (stay_ == Stay::kNarrow && !narrow)) {
    if (auto settled = settle(); !settled) return fail(settled.error());
  }
  if (stay_ != Stay::kNo) {
    post(command);
  } else if (auto launched = launch(command, stay); !launched) {
    return fail(launched.error());
  }
  return ++box_.number;
}

Result<bool> Copier::done(std::uint64_t number) {
  if (known_done(number)) return true;
  if (auto looked = look(); !looked) return fail(looked.error());
  return false;
}

void Copier::dismiss() {
  if (stay_ == Stay::kNo || dismissed_) return;
  dismissed_ = true;
  CopyCommand leave{};
  leave.number = box_.number + 1;
  post(leave);
}

Result<void> Copier::settle() {
  dismiss();
  for (unsigned looks = 1;; ++looks) {
    if (auto looked = look(); !looked || stay_ == Stay::kNo) return looked;
    if (looks % kLooksACheck != 0) continue;
    if (auto works = kernel_.check(); !works) return works;
  }
}

Result<void> Copier::rest() {
  resting_ = kRest;
  return settle();
}

// Also where the slot has a later number: its copy has waited for this one.
bool Copier::known_done(std::uint64_t number) const {
  return load_shared(box_.h_done[number % kMailboxSlots]) >= done_word(number, true);
}

bool Copier::made(std::uint64_t number) const {
  return load_shared(box_.h_done[number % kMailboxSlots]) == done_word(number, true);
}

Stay Copier::stay_for(bool narrow) {
  if (policy_.linger_us == 0) return Stay::kNo;
  const auto now = base::Clock::now();
  const bool soon = now - last_ < std::chrono::microseconds(policy_.linger_us);
  last_ = now;
  if (resting_ > 0) {
    --resting_;
    return Stay::kNo;
  }
  if (!soon) return Stay::kNo;
  return narrow ? Stay::kNarrow : Stay::kWide;
}

void Copier::post(const CopyCommand& command) const {
  CopyCommand& into = slot(command.number);
  store_shared(into.to, command.to);
  store_shared(into.from, command.from);
  store_shared(into.bytes, command.bytes);
  store_shared(into.tell, command.tell);
  store_shared(into.arrivals, command.arrivals);
  store_shared(into.expected, command.expected);
  store_shared(into.number, command.number);
  store_shared(into.seal, seal_of(command, command.number));
}

Result<void> Copier::launch(const CopyCommand& command, Stay stay) {
  if (auto launched = kernel_.launch(command, stay); !launched) {
    lost_ = launched.error();
    return launched;
  }
  stay_ = stay;
  first_ = command.number;
  dismissed_ = false;
  return {};
}

// Room is two slots: dismiss() writes to the one behind the copy's, at any time.
Result<void> Copier::make_room() {
  if (box_.number + 2 <= kMailboxSlots) return {};
  const std::uint64_t before = box_.number + 2 - kMailboxSlots;
  for (unsigned looks = 1;; ++looks) {
    const auto over = done(before);
    if (!over) return fail(over.error());
    if (*over) return {};
    if (looks % kLooksACheck != 0) continue;
    if (auto works = kernel_.check(); !works) return works;
  }
}

// Finds out whether the kernel has left; what it has not taken is launched for. Where it was told
// to leave, nobody wants another that stays.
Result<void> Copier::look() {
  if (lost_) return fail(*lost_);
  if (stay_ == Stay::kNo) return {};
  const std::uint64_t left = load_shared(*box_.h_left);
  if (left <= first_) return {};
  const Stay stay = dismissed_ ? Stay::kNo : stay_;
  stay_ = Stay::kNo;
  for (std::uint64_t number = left; number <= box_.number && stay_ == Stay::kNo; ++number) {
    if (auto launched = launch(slot(number), stay); !launched) return launched;
  }
  return {};
}

}  // namespace framewire::transport
