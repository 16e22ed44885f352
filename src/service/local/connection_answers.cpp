// What the engine's threads do for a client: memory for streams, and answers.
#include <algorithm>
#include <base/queue_deadline.hpp>
#include <chrono>
#include <ipc/answer.hpp>
#include <ipc/wakeup.hpp>
#include <new>
#include <service/local/connection.hpp>
#include <utility>
#include <vector>

namespace framewire::service::local {
/// Room in the client's area. Where there is none now, memory of our own, as much as the area has;
/// beyond that the answer is `busy`. A stream that no area of the client's could hold is too_large:
/// the sink says so, since it is given less than it asked for.
std::span<std::uint8_t> LocalClientConnection::allocate(std::uint32_t index, std::size_t bytes) {
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

/// Takes all answers that are there, and those that come meanwhile: who puts them into a queue that
/// is not empty tells nobody.
void LocalClientConnection::take_answers(LocalClientConnection& connection, Inbox& inbox) noexcept {
  constexpr std::size_t kTakenAtOnce = 256;
  for (;;) {
    std::vector<Completion> answers;
    try {
      answers = inbox.answers->take(kTakenAtOnce, std::chrono::microseconds(0));
    } catch (const std::bad_alloc&) {
      inbox.untaken = true;
      inbox.event->notify();
      return;
    }
    if (answers.empty()) return;
    connection.answered(answers);
  }
}

/// Several answers cost one look at whether the client sleeps.
void LocalClientConnection::answered(std::span<const Completion> answers) noexcept {
  share_.left(answers.size());
  for (const Completion& answer : answers) {
    write_text(static_cast<std::uint32_t>(answer.tag), answer.result);
  }
  {
    const std::lock_guard lock(mutex_);
    for (const Completion& answer : answers) {
      leave_work(static_cast<std::uint32_t>(answer.tag));
      put_answer(static_cast<std::uint32_t>(answer.tag), answer.result);
    }
    completions_.publish();
  }
  // A system call, for which nobody has to wait.
  wake_client();
  // With the lock, and last: who waits for this may take the connection down.
  const std::lock_guard lock(mutex_);
  if (wants_answers_) event_->notify();
  if ((in_work_ -= answers.size()) == 0) idle_.notify_all();
}

void LocalClientConnection::refuse(std::uint32_t slot, const Status& why) noexcept {
  const Result<Resized> result = fail(why);
  write_text(slot, result);
  {
    const std::lock_guard lock(mutex_);
    put_answer(slot, result);
    completions_.publish();
  }
  wake_client();
}

/// Writes the report or the error. Until it is published a slot is its request's alone.
void LocalClientConnection::write_text(std::uint32_t index,
                                       const Result<Resized>& result) noexcept {
  Slot& slot = slots_[index];
  slot.copy = {};
  const std::span<std::byte> text = pages_.report(index);
  slot.report_bytes = static_cast<std::uint32_t>(result ? ipc::write_report(result->report, text)
                                                        : ipc::write_error(result.error(), text));
}

/// With the lock; seen after the next publish().
void LocalClientConnection::put_answer(std::uint32_t index,
                                       const Result<Resized>& result) noexcept {
  Slot& slot = slots_[index];
  counters_.count_answer(result, result ? result->written.size() : 0);
  if (result) {
    const std::uint64_t bytes = result->written.size();
    expected_bytes_ =
        std::max({OutputAllocator::rounded(bytes), expected_bytes_ - expected_bytes_ / 16,
                  OutputAllocator::kUnitBytes});
    if (slot.is_kept) {
      kept_.push_back(index);
      event_->notify();
      return;
    }
    return complete(index, ipc::AnswerKind::kResized, bytes);
  }
  if (slot.has_output) outputs_.give_back(slot.offset);
  slot.has_output = false;
  if (slot.is_kept) {
    kept_bytes_ -= slot.kept_bytes;
    slot.kept = {};
    slot.is_kept = false;
  }
  complete(index, ipc::AnswerKind::kFailed, 0);
}

/// Called with the lock held. There is room: enter() has seen to that.
void LocalClientConnection::complete(std::uint32_t index, ipc::AnswerKind outcome,
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
}

void LocalClientConnection::wake_client() noexcept {
  if (ipc::wake(peer_.fd(), pages_.control().client_sleeps)) ClientCounters::add(counters_.wakeups);
}

void LocalClientConnection::place_kept() {
  std::unique_lock lock(mutex_);
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
  if (placed == 0) return;
  kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(placed));
  completions_.publish();
  lock.unlock();
  wake_client();
}

}  // namespace framewire::service::local
