// Waiting for answers of an engine, as Python threads do.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <extension/engine.hpp>
#include <framewire/completion_queue.hpp>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <vector>

namespace framewire::python {

/// The tag of no request: what carries it ends a wait.
inline constexpr std::uint64_t kWakeTag = std::numeric_limits<std::uint64_t>::max();
/// A timeout for waits that end by an answer.
inline constexpr std::chrono::microseconds kForever = std::chrono::hours(24);

/// What ends a wait without being an answer: to be put into a queue.
[[nodiscard]] std::list<Completion> wake_up();

/// Tells a queue that the engine has room again: for Engine::try_submit(). Takes its memory here,
/// since the engine ignores what the function throws, and a wake-up that is lost would be waited
/// for without end.
[[nodiscard]] std::function<void()> tell_of_room(std::shared_ptr<CompletionQueue> queue);

/// The oldest answers and wake-ups of a queue, at most `max`. Waits for the first one without the
/// GIL, which the caller holds.
/// @param interruptible  look for signals meanwhile, 20 times a second: on the main thread Ctrl-C
///                       raises KeyboardInterrupt. No answer is lost then
/// @return empty where none came in time. Raises EngineClosed in a child of the engine's process
[[nodiscard]] std::vector<Completion> await_completions(EngineHandle& engine,
                                                        CompletionQueue& queue, std::size_t max,
                                                        std::chrono::microseconds timeout,
                                                        bool interruptible);

}  // namespace framewire::python
