// Writes frames to files while more of them come in.
#pragma once

#include <batch/atomic_file.hpp>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <framewire/frames.hpp>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace framewire::app {

/// Writes received frames on a thread of its own, from the slots where they lie: a frame must not
/// be released before it has come back. There are never more of them than slots.
class FrameWriter {
 public:
  using Write =
      std::function<batch::WriteResult(const std::string& path, std::span<const std::uint8_t>)>;

  /// @param memory  the receiver's
  /// @param stem    what the files' paths begin with; the frame's number and its kind follow
  /// @param write   for tests
  FrameWriter(transport::Region memory, std::string stem, Write write = write_file);
  /// Waits for the frames that have been added.
  ~FrameWriter();
  FrameWriter(const FrameWriter&) = delete;
  FrameWriter& operator=(const FrameWriter&) = delete;

  void add(const frames::ReceivedFrame& frame);

  struct Written {
    frames::ReceivedFrame frame;
    batch::WriteResult result;
  };
  /// The next frame whose writing has ended, well or not. Waits at most that long.
  [[nodiscard]] std::optional<Written> take(std::chrono::milliseconds most);
  /// Frames added and not taken.
  [[nodiscard]] std::size_t pending() const noexcept { return pending_; }

  /// Writes a file, making its folder. A file that is there is never replaced: it is a frame of
  /// another run.
  static batch::WriteResult write_file(const std::string& path,
                                       std::span<const std::uint8_t> bytes);

 private:
  void work();
  [[nodiscard]] batch::WriteResult keep(const frames::ReceivedFrame& frame) const;

  transport::Region memory_;
  std::string stem_;
  Write write_;
  std::size_t pending_ = 0;  ///< of the thread that adds and takes
  std::mutex mutex_;
  std::condition_variable added_;
  std::condition_variable done_;
  std::deque<frames::ReceivedFrame> waiting_;
  std::deque<Written> written_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace framewire::app
