// Requests that Python has under way with one engine, and their answers, taken in groups.
#pragma once

#include <nanobind/nanobind.h>
#include <chrono>
#include <cstdint>
#include <extension/buffer.hpp>
#include <extension/engine.hpp>
#include <extension/options.hpp>
#include <extension/resized.hpp>
#include <framewire/completion_queue.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <unordered_map>
#include <vector>

namespace framewire::python {

/// Hands requests to an engine and takes their answers. Keeps the buffer of each request until its
/// answer is taken. The engine's threads see only the CompletionQueue: none of them ever needs the
/// GIL.
///
/// Thread safety: all members but close() may be called from any number of threads at once; all of
/// them with the GIL, which is released wherever they wait.
class RequestQueue {
 public:
  explicit RequestQueue(std::shared_ptr<EngineHandle> engine);
  /// As close().
  ~RequestQueue();
  RequestQueue(const RequestQueue&) = delete;
  RequestQueue& operator=(const RequestQueue&) = delete;

  /// Hands in as many requests, from the first on, as the engine has room for. Does not wait.
  /// @param tags     numbers that the answers carry; no two under way are the same, none is
  /// kWakeTag
  /// @param options  of all of them, or a list with those of each
  /// @param room     where fewer were handed in: take() of this queue returns, perhaps with no
  ///                 answers, once there is room again; null: nobody is told
  /// @return how many were handed in. Raises what InputBuffer does and EngineClosed: none then
  std::size_t submit(nanobind::list tags, nanobind::list jpegs, nanobind::object options,
                     RequestQueue* room);
  /// Hands in one request, tag 0; waits for room.
  void submit_one(nanobind::handle jpeg, const Options& options);

  /// The oldest answers, (tag, Resized or Error) each, at most `max`. Waits for the first one.
  /// @param timeout_s      none: for as long as it takes
  /// @param interruptible  look for signals meanwhile, 20 times a second: on the main thread
  ///                       Ctrl-C raises KeyboardInterrupt. No answer is lost then
  /// @return empty behind wake(), where there is room again, and where none came in time
  nanobind::list take(std::size_t max, std::optional<double> timeout_s, bool interruptible);
  /// Waits for the answer of submit_one(); raises it where it is an error.
  /// @param poll  how long to poll before sleeping
  std::unique_ptr<Answer> take_one(std::chrono::microseconds poll);
  /// Makes one take() return, now or when next called.
  void wake();

  /// Cancels a request that is still queued; one that is being worked on is answered as ever.
  void cancel(std::uint64_t tag);
  void cancel_all();
  /// Cancels what is under way, waits for the answers and drops them. The GIL is released
  /// meanwhile.
  void close();
  /// Requests whose answers were not taken.
  [[nodiscard]] std::size_t under_way();

 private:
  struct Pending {
    explicit Pending(nanobind::handle jpeg) : input(jpeg) {}
    InputBuffer input;
    std::stop_source stop;
  };
  nanobind::tuple answer_of(Completion& completion);
  std::unique_ptr<Pending> remove(std::uint64_t tag);
  EngineRequest request(std::uint64_t tag, nanobind::handle jpeg, const Options& options);

  const std::shared_ptr<EngineHandle> engine_;
  std::shared_ptr<CompletionQueue> completions_ = std::make_shared<CompletionQueue>();
  std::mutex mutex_;  // of pending_. The GIL is never asked for, nor Python called, under it
  std::unordered_map<std::uint64_t, std::unique_ptr<Pending>> pending_;
};

/// Adds RequestQueue to the module.
void bind_request_queue(nanobind::module_& module);

}  // namespace framewire::python
