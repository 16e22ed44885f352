// Engine.map(): an iterable of JPEGs in, an iterator over answers out.
#pragma once

#include <nanobind/nanobind.h>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <extension/buffer.hpp>
#include <extension/engine.hpp>
#include <extension/options.hpp>
#include <framewire/completion_queue.hpp>
#include <memory>
#include <optional>
#include <stop_token>
#include <variant>
#include <vector>

namespace framewire::python {

/// The iterator that Engine.map() returns. Reads its source in groups, hands each group in with one
/// call, and takes all answers that are there at once. It is C++ throughout, since the thread that
/// iterates is to keep up with GPUs: per image it costs what the source's own next() costs, a
/// buffer, and the Resized.
///
/// Thread safety: as a Python generator. Any thread may iterate, with the GIL, which is released
/// while requests are handed in and waited for; a call beside another raises ValueError.
class MapIterator {
 public:
  struct Settings {
    std::size_t window;         ///< inputs read whose answers were not given, at most
    std::uint64_t input_bytes;  ///< no more are read while so many are held for the engine
    bool ordered;               ///< answers come in the order of the inputs
    bool raises;                ///< the first error is raised and ends the iteration
  };

  /// @param owner    the framewire.Engine, kept so that it is not collected under way
  /// @param source   an iterator over JPEGs and tuples of a JPEG and a dict
  /// @param options  of all inputs
  /// @param parse    called with a dict and `options`: the Options of one input
  MapIterator(std::shared_ptr<EngineHandle> engine, nanobind::object owner, nanobind::object source,
              nanobind::object options, nanobind::object parse, Settings settings);
  /// As close(), whoever iterates.
  ~MapIterator();
  MapIterator(const MapIterator&) = delete;
  MapIterator& operator=(const MapIterator&) = delete;

  /// The next answer, a Resized or an Error. Raises the first Error where Settings::raises says so;
  /// behind the answers of all inputs that were read before: what the source raises, TypeError for
  /// objects that are no buffers; behind those of all that were handed in: EngineClosed. Each of
  /// them ends the iteration.
  /// @return an invalid object behind the last one
  [[nodiscard]] nanobind::object next();
  /// Cancels what is queued, waits for what is being worked on and drops the answers; there are no
  /// more then.
  void close();

  /// For the garbage collector: calls `visit` with each object that this holds.
  [[nodiscard]] int traverse(visitproc visit, void* arg) const;
  /// For the garbage collector: lets go of the source and of the engine.
  void clear() noexcept;

 private:
  /// An input from its reading to its answer. Its place in slots_ is the tag of its request.
  struct Slot {
    std::optional<InputBuffer> input;
    nanobind::object own_options;  ///< keeps `options`; invalid where those of all inputs are meant
    const Options* options = nullptr;
    std::uint64_t index = 0;
  };
  /// What stands for an answer that is still missing, an answer of the engine, an Error.
  using Answered = std::variant<std::monostate, Result<Resized>, nanobind::object>;
  struct Ready {
    std::uint64_t index = 0;
    Answered answer{};
  };

  [[nodiscard]] nanobind::object advance();
  [[nodiscard]] nanobind::object give();
  void read_group();
  void read_one();
  void enter(std::uint64_t index, nanobind::handle jpeg, nanobind::object own_options);
  void hand_in();
  void take();
  /// Reads no more, and raises the exception once all else was given. Call in its handler: throws
  /// it again where it cannot wait.
  void end_with(nanobind::python_error& raised);
  /// Gives up inputs that were not handed in.
  void drop_unsent();
  /// Answers and wake-ups of the engine; waits no longer than `timeout` for the first.
  [[nodiscard]] std::vector<Completion> collect(std::chrono::microseconds timeout);
  void put_ready(std::vector<Completion> taken);
  void put_ready(std::uint64_t index, Answered answer);
  /// An Error that Python has raised about one input becomes its answer; others go on.
  void put_error(std::uint64_t index, nanobind::python_error& raised);
  [[nodiscard]] std::size_t take_slot();
  void free_slot(std::size_t slot);
  /// Waits a little for more answers than those that were just waited for, where they come fast.
  void linger(std::vector<Completion>& taken);
  /// Whether reading the source takes so long that others are not to wait for it.
  [[nodiscard]] bool is_slow() const;
  /// How long to wait for an answer before a slow source is asked again.
  [[nodiscard]] std::chrono::microseconds patience() const;
  /// Whether the window has room for so many more inputs.
  [[nodiscard]] bool has_room_for(std::size_t inputs) const;
  [[nodiscard]] bool servable() const;
  void stop_and_drain();

  const std::shared_ptr<EngineHandle> engine_;
  nanobind::object owner_;
  nanobind::object source_;
  const nanobind::object options_object_;
  const Options& options_;  ///< in options_object_
  const nanobind::object parse_;
  const Settings settings_;
  const std::size_t group_;  ///< inputs that are read and handed in together
  const std::shared_ptr<CompletionQueue> completions_ = std::make_shared<CompletionQueue>();
  const std::stop_source stop_;
  std::atomic<bool> busy_ = false;
  bool exhausted_ = false;   ///< no more of the source is read
  nanobind::object end_;     ///< the exception behind the last answer; invalid: none
  bool ended_ = false;       ///< no more answers are given
  std::uint64_t read_ = 0;   ///< inputs that the source has given
  std::uint64_t given_ = 0;  ///< answers
  std::size_t under_way_ = 0;
  std::uint64_t input_bytes_ = 0;                      ///< of slots_
  std::chrono::steady_clock::duration source_time_{};  ///< of the last groups read, the longest
  std::chrono::steady_clock::time_point last_wait_{};
  std::uint64_t answered_at_last_wait_ = 0;
  std::deque<Slot> slots_;  ///< never shrinks; buffers must not move
  std::vector<std::size_t> free_;
  std::vector<std::size_t> unsent_;  ///< slots that were read and not handed in, oldest first
  std::deque<Ready> ready_;          ///< with `ordered` from answer given_ on
};

/// Adds MapIterator to the module.
void bind_map_iterator(nanobind::module_& module);

}  // namespace framewire::python
