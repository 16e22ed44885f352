// One request inside an engine, from submit() to its answer.
#pragma once

#include <atomic>
#include <base/clock.hpp>
#include <cassert>
#include <codec/coefficients.hpp>
#include <cstdint>
#include <engine/admission.hpp>
#include <engine/input_store.hpp>
#include <engine/request.hpp>
#include <framewire/engine.hpp>
#include <functional>
#include <list>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace framewire::engine {

/// Short enough for a std::string to hold without an allocation.
inline constexpr const char* kNoMemory = "memory ran out";

/// Who sees to a request next.
enum class WorkState : std::uint8_t {
  kNew,            ///< nobody yet: the codec that was asked for decides
  kForDevice,      ///< a lane, which may have planned it already and had no memory left for it
  kHostFirst,      ///< a host thread, which prepares it for a device
  kForHost,        ///< a host thread, which answers it: no device was asked for
  kFallback,       ///< the same, since the device that was asked for does not take it
  kForConversion,  ///< a thread that prepares its profile's conversion; then again who had it
                   ///< before
};

/// Whether a request may go from one state to the other. Those for the host end in their answer.
[[nodiscard]] constexpr bool may_follow(WorkState from, WorkState to) noexcept {
  if (to == WorkState::kForConversion) {
    return from != WorkState::kNew && from != WorkState::kForConversion;
  }
  switch (from) {
    case WorkState::kNew:
      return to == WorkState::kForDevice || to == WorkState::kForHost;
    case WorkState::kForConversion:
      return to != WorkState::kNew;
    case WorkState::kForDevice:
      return to == WorkState::kHostFirst || to == WorkState::kFallback;
    case WorkState::kHostFirst:
      return to == WorkState::kForDevice;
    case WorkState::kForHost:
    case WorkState::kFallback:
      return false;
  }
  return false;
}

/// How much of Work::request stands.
enum class Prepared : std::uint8_t {
  kNothing,
  kFile,  ///< its file has been parsed
  kAll,   ///< it is planned, and Work::head is written: ready for a device
};

struct Work;
class WorkFlow;

/// Frees a request. One that was admitted and that nobody has answered, because what held it was
/// left by std::bad_alloc, is answered with busy: nobody waits for ever for it.
struct DropWork {
  DropWork() noexcept = default;
  // NOLINTNEXTLINE(google-explicit-constructor): what std::make_unique() returns is a WorkPtr
  DropWork(std::default_delete<Work> /*other*/) noexcept {}
  void operator()(Work* work) const noexcept;
};
using WorkPtr = std::unique_ptr<Work, DropWork>;

struct Work {
  std::span<const std::uint8_t> bytes;
  InputStore::Traits traits;  ///< of `bytes`; ordinary once they are the copy's
  ResizeOptions options;
  Engine::Callback done;
  OutputSink sink;
  std::shared_ptr<CompletionQueue> completions;  ///< takes the answer; null: `done` does
  std::list<Completion> completion;              ///< one, made in advance for that queue
  std::stop_token stop;
  std::uint64_t client = 0;            ///< EngineRequest::client
  std::size_t account = 0;             ///< of that client, in a FairList
  std::chrono::milliseconds waited{};  ///< before it came here
  base::Clock::time_point arrived;
  base::Clock::time_point deadline = base::Clock::time_point::max();
  std::optional<base::Clock::time_point> begun;  ///< when somebody first worked on it
  std::shared_ptr<std::atomic<bool>> claim;      ///< EngineRequest::claim, until it is this one's

  WorkPtr next;                ///< in a WorkList
  WorkFlow* flow = nullptr;    ///< that counts this as unanswered; null before and after that
  Admission::Epoch epoch = 0;  ///< in which it was admitted

  WorkState state = WorkState::kNew;         ///< go_to() changes it
  WorkState state_before = WorkState::kNew;  ///< of kForConversion: where the request goes back to
  color::Side side = color::Side::kHost;     ///< of which its conversion is awaited
  Prepared prepared = Prepared::kNothing;
  /// In kHostFirst: a device can do what a host thread shall do first, in a batch of many.
  bool device_could_decode = false;
  /// In kHostFirst: a host thread plans it, and resizes its gain map, before anybody decodes it.
  bool has_gain_map_to_do = false;
  std::string reason;                               ///< of a fallback: why not the device
  Request request;                                  ///< points into this; a Work never moves
  std::vector<std::uint8_t> head;                   ///< of the output
  std::optional<codec::Coefficients> coefficients;  ///< decoded on the host for the device
  std::vector<std::uint8_t> copy;                   ///< of what is read of changing bytes
  /// Tells the engine's QueueWatch of a cancellation; last, so that it ends first.
  std::optional<std::stop_callback<std::function<void()>>> on_stop;

  /// From when the deadline counts.
  [[nodiscard]] base::Clock::time_point counted_from() const noexcept { return arrived - waited; }
  void begin() noexcept {
    if (!begun) begun = base::Clock::now();
  }
  /// Before a picture is made, and not before a look at the file that leads to another queue.
  /// @return false where another request with the same claim has come first: see superseded()
  [[nodiscard]] bool claim_turn() noexcept {
    const auto mine = std::exchange(claim, nullptr);
    return mine == nullptr || !mine->exchange(true);
  }
  void go_to(WorkState later) noexcept {
    assert(may_follow(state, later));
    state = later;
  }
};

/// Whether a request that nobody works on yet need not be worked on any more.
[[nodiscard]] inline bool is_over(const Work& work, base::Clock::time_point now) noexcept {
  return work.stop.stop_requested() || work.deadline <= now;
}

/// Whether more of a request's time has gone by in queues than was left for work on it.
[[nodiscard]] inline bool waited_too_long(const Work& work) noexcept {
  return !work.begun || *work.begun - work.counted_from() > work.deadline - *work.begun;
}

/// Why is_over() holds. Where memory has run out for that, a shorter message says so.
[[nodiscard]] inline Status why_over(const Work& work) noexcept try {
  if (work.stop.stop_requested()) {
    return {StatusCode::kCancelled, "cancelled before work on it had begun"};
  }
  return {StatusCode::kDeadline, "its time was over before work on it had begun"};
} catch (const std::bad_alloc&) {
  return {StatusCode::kBusy, kNoMemory};
}

/// The answer to what claim_turn() refuses.
[[nodiscard]] inline Status superseded() noexcept try {
  return {StatusCode::kCancelled, "another request with the same claim is worked on"};
} catch (const std::bad_alloc&) {
  return {StatusCode::kBusy, kNoMemory};
}

/// Replaces bytes that may change by a copy, which nobody writes to. Host threads read the copy.
inline void copy_changing_bytes(Work& work) {
  // What is too large is refused before a byte is read.
  if (!work.traits.changes || work.bytes.size() > work.options.limits.max_input_bytes) return;
  work.copy.assign(work.bytes.begin(), work.bytes.end());
  work.bytes = work.copy;
  work.traits = {};
  work.prepared = Prepared::kNothing;
}

}  // namespace framewire::engine
