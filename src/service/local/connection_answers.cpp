// What the engine's threads do for a client: memory for streams, and answers.
#include <algorithm>
#include <ipc/answer.hpp>
#include <ipc/wakeup.hpp>
#include <new>
#include <service/local/connection.hpp>
#include <utility>

namespace framewire::service::local {
namespace {

constexpr std::uint64_t kMinExpectedBytes = 1024;

}  // namespace

/// Room in the client's area. Where there is none now, memory of our own, as much as the area has;
/// beyond that the answer is `busy`. A stream that no area of the client's could hold is too_large:
/// the sink says so, since it is given less than it asked for.
std::span<std::uint8_t> LocalConnection::allocate(std::uint32_t index, std::size_t bytes) {
  const std::span<std::uint8_t> area = pages_.output();
  if (bytes > area.size()) return area;
  Slot& slot = slots_[index];
  {
    const std::lock_guard lock(mutex_);
    if (const auto offset = outputs_.take(bytes)) {
      slot.has_output = true;
      slot.offset = *offset;
      return area.subspan(*offset, bytes);
    }
    if (bytes > area.size() - kept_bytes_) throw std::bad_alloc();
    kept_bytes_ += bytes;
    slot.is_kept = true;
    slot.kept_bytes = bytes;
  }
  slot.kept.resize(bytes);
  return slot.kept;
}

void LocalConnection::answered(std::uint32_t slot, Result<Resized> result) noexcept {
  share_.left();
  put_answer(slot, result);
  // Told with the lock held, and last: who waits for this may take the connection down.
  const std::lock_guard lock(mutex_);
  if (wants_answers_) event_->notify();
  if (--in_work_ == 0) idle_.notify_all();
}

void LocalConnection::refuse(std::uint32_t slot, const Status& why) noexcept {
  put_answer(slot, fail(why));
}

void LocalConnection::put_answer(std::uint32_t index, const Result<Resized>& result) noexcept {
  Slot& slot = slots_[index];
  const std::span<std::byte> report = pages_.report(index);
  slot.report_bytes = static_cast<std::uint32_t>(result ? ipc::write_report(result->report, report)
                                                        : ipc::write_error(result.error(), report));
  const std::lock_guard lock(mutex_);
  if (result) {
    const std::uint64_t bytes = result->written.size();
    expected_bytes_ = std::max({bytes, expected_bytes_ - expected_bytes_ / 16, kMinExpectedBytes});
  }
  if (result && slot.is_kept) {
    kept_.push_back(index);
    event_->notify();
    return;
  }
  if (!result) {
    if (slot.has_output) outputs_.give_back(slot.offset);
    slot.has_output = false;
    if (slot.is_kept) {
      kept_bytes_ -= slot.kept_bytes;
      slot.kept = {};
      slot.is_kept = false;
    }
  }
  complete(index, result ? ipc::AnswerKind::kResized : ipc::AnswerKind::kFailed,
           result ? result->written.size() : 0);
}

/// Called with the lock held. There is room: enter() has seen to that.
void LocalConnection::complete(std::uint32_t index, ipc::AnswerKind outcome,
                               std::uint64_t bytes) noexcept {
  Slot& slot = slots_[index];
  ipc::CompletionEntry entry;
  entry.slot = index;
  entry.outcome = static_cast<std::uint32_t>(outcome);
  entry.report_bytes = slot.report_bytes;
  if (std::exchange(slot.has_output, false)) {
    entry.offset = slot.offset;
    entry.bytes = bytes;
    outputs_.hand_over(slot.offset);
  }
  slot.busy = false;
  --busy_;
  (void)completions_.push(entry);
  completions_.publish();
  ipc::wake(peer_.fd(), pages_.control().client_sleeps);
}

void LocalConnection::place_kept() {
  const std::lock_guard lock(mutex_);
  std::size_t placed = 0;
  for (; placed < kept_.size(); ++placed) {
    Slot& slot = slots_[kept_[placed]];
    const auto offset = outputs_.take(slot.kept.size());
    if (!offset) break;
    std::ranges::copy(slot.kept, pages_.output().begin() + static_cast<std::ptrdiff_t>(*offset));
    slot.has_output = true;
    slot.offset = *offset;
    const std::uint64_t bytes = slot.kept.size();
    kept_bytes_ -= bytes;
    slot.kept = {};
    slot.is_kept = false;
    complete(kept_[placed], ipc::AnswerKind::kResized, bytes);
  }
  kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(placed));
}

}  // namespace framewire::service::local
