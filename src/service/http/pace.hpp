// How slowly a client may read and write, and how long it is waited for at a connection's end.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace framewire::service::http {

/// Whoever reads or writes more slowly than this for long is cut off.
inline constexpr std::uint64_t kMinBytesPerSecond = 128u << 10;

/// How fast bytes have moved. @return nothing in the first second: by then nobody can tell
[[nodiscard]] inline std::optional<double> bytes_per_second(
    std::uint64_t moved_bytes, std::chrono::steady_clock::time_point begun,
    std::chrono::steady_clock::time_point now) noexcept {
  const std::chrono::duration<double> time = now - begun;
  if (time < std::chrono::seconds(1)) return std::nullopt;
  return static_cast<double>(moved_bytes) / time.count();
}

/// The time that is left for a body to come, or for an answer to be read. Bytes that move bring
/// more of it, and bytes that are only announced bring none: whoever stops is given up after the
/// time in which nothing has to move, however long the body is.
class Pace {
 public:
  using Clock = std::chrono::steady_clock;

  /// @param allowance  in which nothing has to move; what moves never brings more than this
  void begin(Clock::time_point now, std::chrono::milliseconds allowance) noexcept {
    allowance_ = allowance;
    deadline_ = now + allowance;
  }
  [[nodiscard]] Clock::time_point deadline() const noexcept { return deadline_; }
  /// Looks at what has moved. Cheap enough to be asked only when the deadline has come.
  /// @param moved_bytes  since the last call
  [[nodiscard]] bool is_late(std::uint64_t moved_bytes, Clock::time_point now) noexcept {
    const std::chrono::duration<double> earned(static_cast<double>(moved_bytes) /
                                               static_cast<double>(kMinBytesPerSecond));
    const auto most = now + allowance_;
    // Compared first, so that no sum overflows.
    deadline_ = earned >= most - deadline_
                    ? most
                    : deadline_ + std::chrono::duration_cast<Clock::duration>(earned);
    return now >= deadline_;
  }

 private:
  Clock::duration allowance_{};
  Clock::time_point deadline_{};
};

/// What counts as progress of an answer that shares its connection with others. Bytes of the others
/// that go out while this one waits behind them are time for it, and so is what is on its way in
/// front of its own last frame: a client with a small window can open it again only then. What goes
/// out behind that frame while the window stays closed is none.
class SharedProgress {
 public:
  /// @param unsent_bytes  of the answer
  /// @param delivered     bytes of the connection that the client has taken so far
  void begin(std::uint64_t unsent_bytes, std::uint64_t delivered) noexcept {
    unsent_bytes_ = unsent_bytes;
    delivered_ = last_frame_end_ = delivered;
  }
  /// A frame of the answer ends at this byte of the connection.
  void frame_ends_at(std::uint64_t position) noexcept { last_frame_end_ = position; }
  /// How many bytes count since the last call. @param window_is_open  the client would take more
  [[nodiscard]] std::uint64_t take(std::uint64_t unsent_bytes, std::uint64_t delivered,
                                   bool window_is_open) noexcept {
    const std::uint64_t before = std::exchange(delivered_, delivered);
    const std::uint64_t own = std::exchange(unsent_bytes_, unsent_bytes) - unsent_bytes;
    const std::uint64_t counts = window_is_open ? delivered : std::min(delivered, last_frame_end_);
    return std::max(own, counts - std::min(counts, before));
  }

 private:
  std::uint64_t unsent_bytes_ = 0;
  std::uint64_t delivered_ = 0;
  std::uint64_t last_frame_end_ = 0;
};

/// What a connection has got done lately: looked at while others want its place, several times a
/// second.
class RecentProgress {
 public:
  using Clock = std::chrono::steady_clock;

  struct Lately {
    double bytes_per_second = 0;
    bool answered = false;  ///< an answer has gone out whole
  };

  /// It is without a request: what comes next is judged anew.
  void forget() noexcept { first_ = second_ = {}; }
  /// @param moved_bytes  so far, both ways
  /// @param answers      so far
  /// @return what became of the last one or two seconds; nothing before it has been looked at for
  ///         as long
  [[nodiscard]] std::optional<Lately> look(std::uint64_t moved_bytes, std::uint64_t answers,
                                           Clock::time_point now) noexcept {
    if (now - seen_ > kSpan) forget();
    seen_ = now;
    const Mark mark{now, moved_bytes, answers};
    if (!second_) second_ = mark;
    if (now - second_->when >= kSpan) first_ = std::exchange(second_, mark);
    if (!first_) return std::nullopt;
    const std::chrono::duration<double> time = now - first_->when;
    const std::uint64_t moved = moved_bytes - std::min(moved_bytes, first_->moved_bytes);
    return Lately{static_cast<double>(moved) / time.count(), answers != first_->answers};
  }

 private:
  static constexpr std::chrono::seconds kSpan{1};

  struct Mark {
    Clock::time_point when{};
    std::uint64_t moved_bytes = 0;
    std::uint64_t answers = 0;
  };
  // At least kSpan apart. What is told of has happened since the first.
  std::optional<Mark> first_;
  std::optional<Mark> second_;
  Clock::time_point seen_{};
};

/// How long a client may go on sending after its last answer, or once it has been told that its
/// connection ends.
inline constexpr std::chrono::milliseconds kLinger{2000};

/// How long requests that are on their way are waited for once the server is ending. A client may
/// have sent one just before it hears of the end, and could not tell whether that has been worked
/// on.
inline constexpr std::chrono::milliseconds kDrainGrace{1000};

}  // namespace framewire::service::http
