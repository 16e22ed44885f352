// What a client of HTTP/2 sends besides requests and bodies, and how much of it is borne.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace framewire::service::http {

/// Reads the headers of frames (RFC 9113 4.1) as they come, before anybody acts on the frames.
///
/// PING, SETTINGS, PRIORITY, RST_STREAM, CONTINUATION, unknown kinds, and DATA with next to nothing
/// in it bring no request nearer, nor do heads and ends of bodies to streams that have ended, and
/// each costs work. So each takes from a store that fills slowly; who empties it has only that in
/// mind. WINDOW_UPDATE is free as long as there are not many more of them than frames of answers.
class FrameMeter {
 public:
  using Clock = std::chrono::steady_clock;

  /// What may come at once, as when a browser leaves a page of a hundred pictures.
  static constexpr double kBurst = 512;
  /// And each second from then on.
  static constexpr double kPerSecond = 64;
  /// Packed fields that are no request's count as one frame more for each so many bytes: they are
  /// unpacked, and nobody looks how many they are.
  static constexpr std::uint32_t kFieldBytesOfAFrame = 1024;
  /// DATA of fewer bytes counts, unless it is a body's last.
  static constexpr std::uint32_t kMinDataBytes = 16;
  /// WINDOW_UPDATEs for each frame of an answer: one for the stream, one for the connection, and
  /// one for those who count otherwise.
  static constexpr std::uint64_t kUpdatesForData = 3;

  explicit FrameMeter(Clock::time_point now) : filled_at_(now) {}

  /// Looks at what has come. @return false where it is too much
  [[nodiscard]] bool feed(std::string_view bytes, Clock::time_point now) noexcept;
  /// Something else that costs us and not the client: a stream that had to be reset.
  /// @param frames  how many frames it counts as
  [[nodiscard]] bool spend(Clock::time_point now, double frames = 1) noexcept;
  /// A frame of an answer goes out.
  void data_sent() noexcept { free_updates_ += kUpdatesForData; }

  /// How many heads have come whole.
  [[nodiscard]] std::uint64_t heads() const noexcept { return heads_; }
  /// Whether a request's head has begun, and its rest has not come.
  [[nodiscard]] bool in_head() const noexcept { return in_head_; }

 private:
  [[nodiscard]] bool begin_frame(Clock::time_point now) noexcept;
  [[nodiscard]] bool is_free(std::uint8_t type, bool ends) noexcept;
  [[nodiscard]] bool take_end() noexcept;
  void end_frame() noexcept;

  std::size_t to_skip_ = 24;  ///< of a frame's payload; at first, of the client's preface
  std::array<std::uint8_t, 9> header_{};
  std::size_t header_bytes_ = 0;
  std::uint32_t length_ = 0;
  std::uint64_t heads_ = 0;
  std::uint32_t newest_stream_ = 0;  ///< that a head has come for
  /// Streams that began with a head and have not been ended: so many frames may still end one.
  std::uint64_t unended_ = 0;
  bool head_is_extra_ = false;  ///< the last one began no request, and ended none
  bool in_head_ = false;
  bool head_ends_ = false;  ///< with this frame
  double store_ = kBurst;
  std::uint64_t free_updates_ = 0;
  Clock::time_point filled_at_;
};

}  // namespace framewire::service::http
