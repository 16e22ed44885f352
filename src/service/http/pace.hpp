// How slowly a client may read and write, and how long it is waited for at a connection's end.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

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

/// How long a client may go on sending after its last answer, or once it has been told that its
/// connection ends.
inline constexpr std::chrono::milliseconds kLinger{2000};

/// How long requests that are on their way are waited for once the server is ending. A client may
/// have sent one just before it hears of the end, and could not tell whether that has been worked
/// on.
inline constexpr std::chrono::milliseconds kDrainGrace{1000};

}  // namespace framewire::service::http
