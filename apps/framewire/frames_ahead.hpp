// Frames made ahead of their being sent.
#pragma once

#include <batch/source.hpp>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <framewire/frames.hpp>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace framewire::app {

/// Makes frames of inputs on threads of its own, so many ahead of their being taken and no more,
/// and hands them out in the inputs' order. One thread takes.
class FramesAhead {
 public:
  /// The next input, or nothing at the end; called by one thread at a time.
  using Next = std::function<Result<std::optional<batch::Input>>()>;
  /// Called by several threads at once.
  using Make = std::function<Result<frames::OutgoingFrame>(const std::string& path)>;

  /// @param ahead  frames that are ready or in the making, 1 or more
  FramesAhead(Next next, Make make, unsigned threads, std::size_t ahead);
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
    std::promise<Made> made;
  };

  void work();
  [[nodiscard]] std::optional<Job> begin();

  Next next_;
  Make make_;
  const std::size_t ahead_;
  std::mutex inputs_;  ///< held before mutex_: inputs are listed, and lined up, by one at a time
  std::mutex mutex_;
  std::condition_variable room_;    ///< in the line, or no more use for any
  std::condition_variable filled_;  ///< there is a first, or there will be none
  std::deque<std::future<Made>> line_;
  bool ended_ = false;
  std::optional<Status> error_;
  std::vector<std::thread> threads_;
};

}  // namespace framewire::app
