// Frames made ahead of their being sent.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <framewire/batch/source.hpp>
#include <framewire/frames.hpp>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace framewire::app {

/// Has frames made of inputs, so many ahead of their being taken and no more, and hands them out in
/// the inputs' order. Whoever makes them may take many before the first is made, as GPUs need. One
/// thread takes.
class FramesAhead {
 public:
  /// The next input, or nothing at the end; called by one thread at a time.
  using Next = std::function<Result<std::optional<batch::Input>>()>;
  /// What became of an input, and the bytes that it held meanwhile.
  using Done = std::function<void(Result<frames::OutgoingFrame> frame, std::uint64_t held_bytes)>;
  /// Calls `done` once, on any thread, at once or later. Called by several threads at once.
  using Make = std::function<void(const std::string& path, Done done)>;

  /// How far ahead.
  struct Bounds {
    unsigned threads = 1;                          ///< that call Make
    std::size_t frames = 1;                        ///< ready or in the making, 1 or more
    std::uint64_t bytes = std::uint64_t{1} << 30;  ///< of those, if all are like the largest
  };
  FramesAhead(Next next, Make make, const Bounds& bounds);
  /// Waits for the frames in the making.
  ~FramesAhead();
  FramesAhead(const FramesAhead&) = delete;
  FramesAhead& operator=(const FramesAhead&) = delete;

  enum class State : std::uint8_t { kReady, kNotYet, kEnd };
  /// Waits for the next frame, at most that long.
  [[nodiscard]] State wait(std::chrono::microseconds most);
  /// After kReady: the frame, or what kept its input from becoming one.
  [[nodiscard]] Result<frames::OutgoingFrame> take();
  /// After kEnd: why the inputs ended before their end.
  [[nodiscard]] const std::optional<Status>& error() const noexcept { return error_; }

 private:
  using Made = Result<frames::OutgoingFrame>;
  struct Job {
    std::string path;
    std::optional<Status> error;  ///< the input cannot even be tried
    std::shared_ptr<std::promise<Made>> made;
  };

  void work();
  [[nodiscard]] std::optional<Job> begin();
  [[nodiscard]] std::size_t most() const;
  void end(std::uint64_t bytes);

  Next next_;
  Make make_;
  const Bounds bounds_;
  std::mutex inputs_;  ///< held before mutex_: inputs are listed, and lined up, by one at a time
  std::mutex mutex_;
  std::condition_variable room_;    ///< in the line, or no more use for any
  std::condition_variable filled_;  ///< there is a first, or there will be none
  std::condition_variable idle_;    ///< nothing is in the making
  std::deque<std::future<Made>> line_;
  std::size_t making_ = 0;
  std::uint64_t largest_bytes_ = 0;  ///< of any made so far; 0: none has been
  bool ended_ = false;
  std::optional<Status> error_;
  std::vector<std::thread> threads_;
};

}  // namespace framewire::app
