// One request inside an engine, from submit() to its answer.
#pragma once

#include <base/clock.hpp>
#include <codec/coefficients.hpp>
#include <cstdint>
#include <engine/request.hpp>
#include <framewire/engine.hpp>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace framewire::engine {

struct Work {
  std::span<const std::uint8_t> bytes;
  ResizeOptions options;
  Engine::Callback done;
  OutputSink sink;
  std::shared_ptr<CompletionQueue> completions;  ///< takes the answer; null: `done` does
  std::list<Completion> completion;              ///< one, made in advance for that queue
  std::stop_token stop;
  base::Clock::time_point arrived;
  base::Clock::time_point deadline = base::Clock::time_point::max();

  Request request;                                  ///< points into this; a Work never moves
  std::vector<std::uint8_t> head;                   ///< of the output
  std::optional<codec::Coefficients> coefficients;  ///< decoded on the host for the device
  std::vector<std::uint8_t> copy;                   ///< of what is read of changing bytes
  bool pinned = false;                              ///< as codec::BatchItem::pinned
  bool changes = false;     ///< `bytes` may change at any time; no longer once they are the copy's
  bool parsed = false;      ///< `request` has its file
  bool planned = false;     ///< `request` is ready for a device, `head` too
  bool for_device = false;  ///< a host thread prepares it, a device finishes it
  std::string reason;       ///< why this codec; of a fallback, why not the device
  bool fallback = false;    ///< a device was asked for and does not take it
  /// Tells the engine's QueueWatch of a cancellation; last, so that it ends first.
  std::optional<std::stop_callback<std::function<void()>>> on_stop;
};
/// Why a request that nobody works on yet need not be worked on any more; nothing where it must.
[[nodiscard]] inline std::optional<Status> why_over(const Work& work, base::Clock::time_point now) {
  if (work.stop.stop_requested())
    return Status(StatusCode::kCancelled, "cancelled before work on it had begun");
  if (work.deadline <= now)
    return Status(StatusCode::kDeadline, "its time was over before work on it had begun");
  return std::nullopt;
}

using WorkPtr = std::unique_ptr<Work>;

}  // namespace framewire::engine
