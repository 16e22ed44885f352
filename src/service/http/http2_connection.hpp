// A client's connection that speaks HTTP/2, over TLS alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <service/http/connection.hpp>
#include <service/http/http2_memory.hpp>
#include <service/http/http2_meter.hpp>
#include <service/http/http2_stream.hpp>
#include <service/http/stream.hpp>
#include <span>
#include <string>
#include <string_view>

namespace framewire::service::http {

/// Many requests are under way at a time, each on a stream of its own; nghttp2 reads and writes the
/// frames. A read is always under way, and a write while there is something to send.
///
/// What one connection can hold is bounded: kMaxStreams requests, whose heads together have
/// kMaxHeads times the bytes that one may have; bodies that were admitted; kMaxUnsentBytes of
/// answers that wait to be read, and those to what was under way by then; Http2Memory::kMaxBytes
/// for all the rest. How many streams' windows are open says what a client may send.
class Http2Connection final : public Connection {
 public:
  static constexpr std::uint32_t kMaxStreams = 100;
  static constexpr std::size_t kMaxHeads = 4;
  static constexpr std::uint64_t kMaxUnsentBytes = 64u << 20;

  /// Takes the place of one whose client chose HTTP/2 when it shook hands. Throws std::bad_alloc.
  Http2Connection(Connection& before, SocketStream stream);
  ~Http2Connection() override;

  void start() override;
  void tick(Clock::time_point now) override;
  void answer(Exchange& exchange, Response response) override;
  void fail(Exchange& exchange) noexcept override;
  void drain() override;
  [[nodiscard]] std::optional<double> slowest(ClientAdmission::GivesWay of,
                                              Clock::time_point now) noexcept override;
  void give_way(ClientAdmission::GivesWay of, Clock::time_point now) override;
  void close() noexcept override;
  void displace() noexcept override;
  [[nodiscard]] bool between_requests() const noexcept override;
  [[nodiscard]] Clock::time_point deadline() const noexcept override;

  // For its streams.
  [[nodiscard]] nghttp2_session* session() noexcept { return session_; }
  [[nodiscard]] IoThread& io() noexcept { return io_; }
  [[nodiscard]] const Peer& peer() const noexcept { return peer_; }
  /// Counts a head, until its stream ends. @return false where there is too much already
  [[nodiscard]] bool take_head(std::size_t bytes) noexcept;
  void add_unsent(std::size_t bytes) noexcept { unsent_bytes_ += bytes; }
  /// Bytes of all streams that the client has taken.
  [[nodiscard]] std::uint64_t delivered_bytes() noexcept { return stream_.delivered_bytes(); }
  void take_unsent(std::size_t bytes) noexcept { unsent_bytes_ -= bytes; }
  void add_body_bytes(std::size_t bytes) noexcept { body_bytes_ += bytes; }
  /// Bytes of all requests' bodies that have come so far.
  [[nodiscard]] std::uint64_t body_bytes() const noexcept { return body_bytes_; }
  [[nodiscard]] bool is_draining() const noexcept { return draining_; }

 private:
  friend struct Http2Callbacks;
  enum class State : std::uint8_t { kOpen, kLingering, kClosed };

  void begin_session();
  void read_more();
  void on_read(const boost::system::error_code& error, std::size_t bytes);
  void feed(std::string_view bytes);
  void on_exception() noexcept override { close(); }
  /// Ends it all: whoever floods is told so (RFC 9113 10.5).
  void end_flood() noexcept;
  void end_session(std::uint32_t error_code) noexcept;
  [[nodiscard]] std::uint64_t moved_bytes() noexcept override {
    return stream_.delivered_bytes() + body_bytes_;
  }
  [[nodiscard]] bool is_in_work() const noexcept override;
  void give_up_streams(std::string_view message = {}) noexcept;
  void linger();
  void end_drain() noexcept;
  // nghttp2's callbacks call these: http2_callbacks.cpp.
  void begin_stream(std::int32_t id);
  [[nodiscard]] bool take_field_bytes(std::size_t bytes) noexcept;
  void count_reset() noexcept;
  void end_stream(Http2Stream& stream) noexcept;
  void notice_sent() noexcept;
  void ping_answered(std::span<const std::uint8_t, 8> data) noexcept;
  // Sending: http2_output.cpp.
  void pump() noexcept;
  void collect();
  void write();
  void on_written(const boost::system::error_code& error);
  [[nodiscard]] std::size_t frame_bytes(std::size_t window_bytes,
                                        std::size_t max_frame_bytes) const noexcept;
  /// What has become of a frame of an answer.
  enum class DataSent : std::uint8_t {
    kNothing,    ///< this turn has no room for it
    kFrame,      ///< it is part of this turn
    kEndOfTurn,  ///< it is, and what is left of it in `direct_` has to be the turn's end
  };
  [[nodiscard]] DataSent send_data(Http2Stream& stream, std::string_view header, std::size_t bytes);

  SocketStream stream_;
  State state_ = State::kOpen;
  Http2Memory memory_;
  FrameMeter meter_;
  nghttp2_session* session_ = nullptr;  ///< in `memory_`, and gone with it
  std::list<Http2Stream> streams_;      ///< that nghttp2 has not closed
  std::list<Http2Stream> sent_;         ///< closed ones whose answers are being written
  std::size_t head_bytes_ = 0;
  std::uint64_t unsent_bytes_ = 0;
  std::uint64_t body_bytes_ = 0;
  std::size_t field_bytes_ = 0;  ///< of the block of fields that is being read, unpacked
  std::unique_ptr<char[]> input_;
  std::size_t input_bytes_ = 0;
  bool draining_ = false;
  bool notice_was_read_ = false;       ///< the client has answered what followed the notice
  bool ended_ = false;                 ///< but for the word that it is
  Clock::time_point idle_deadline_{};  ///< while no request is under way
  Clock::time_point head_deadline_{};  ///< while a head is coming
  Clock::time_point drain_deadline_ = Clock::time_point::max();
  Clock::time_point write_deadline_{};  ///< while something is being written
  bool writing_ = false;
  std::uint64_t written_bytes_ = 0;   ///< of all writes, the one under way included
  std::string output_;                ///< frames of one turn
  std::string_view direct_;           ///< what follows them, where it is
  std::shared_ptr<const void> kept_;  ///< of `direct_`
};

}  // namespace framewire::service::http
