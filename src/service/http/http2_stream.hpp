// One stream of HTTP/2: a request and its answer.
#pragma once

#include <nghttp2/nghttp2.h>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <service/http/http2_head.hpp>
#include <service/http/pace.hpp>
#include <service/http/request.hpp>
#include <span>
#include <string_view>

namespace framewire::service::http {

class Http2Connection;

/// Belongs to its connection, whose thread calls all members. What a request throws ends in an
/// answer, or in the end of this stream.
class Http2Stream final : private Carrier {
 public:
  using Clock = std::chrono::steady_clock;

  Http2Stream(Http2Connection& connection, std::int32_t id);
  Http2Stream(const Http2Stream&) = delete;
  Http2Stream& operator=(const Http2Stream&) = delete;

  /// A field of the head. Throws std::bad_alloc.
  void add_field(std::string_view name, std::string_view value);
  /// The head has come whole. @param ended  whether there is no body
  void begin(bool ended) noexcept;
  /// Bytes of the body.
  void take_body(std::string_view bytes) noexcept;
  /// Padding, which has used up as much of the window as bytes of the body would have.
  void take_padding(std::size_t bytes) noexcept;
  void end_body() noexcept;

  void answer(Exchange& exchange, Response response) noexcept;
  void tick(Clock::time_point now) noexcept;
  [[nodiscard]] Clock::time_point deadline() const noexcept;
  /// How fast its body comes, or its answer goes. @see bytes_per_second()
  [[nodiscard]] std::optional<double> pace(ClientAdmission::GivesWay of,
                                           Clock::time_point now) const noexcept;
  void give_way() noexcept;
  /// There is no answer: the client is told so.
  void reset(std::uint32_t error_code) noexcept;
  /// The client is gone, or hears no answer.
  /// @param message  for the log, where there is none of the stream's own
  void give_up(std::string_view message = {}) noexcept;
  void abandon() noexcept;

  // While the answer is sent.
  /// What has not been handed to the connection yet.
  [[nodiscard]] std::span<const std::uint8_t> unsent() const noexcept { return unsent_; }
  /// @param end  of the frame, in bytes of the connection
  void sent(std::size_t bytes, std::uint64_t end) noexcept;
  /// Keeps unsent()'s memory where it stays in one place; null where only this stream does.
  [[nodiscard]] const std::shared_ptr<const void>& keeper() noexcept {
    return request_->response().keeper;
  }
  /// The answer's last frame is on its way.
  void sent_whole() noexcept;
  [[nodiscard]] bool is_sent_whole() const noexcept { return sent_whole_; }
  /// The client has it, as far as the socket tells.
  void log_answer(bool failed) noexcept;
  /// Gives back what request and answer hold, once the answer has been written and logged. A body
  /// that is still coming goes on being dropped. @return bytes of the head
  std::size_t forget_request() noexcept;
  [[nodiscard]] bool has_request() const noexcept { return request_.has_value(); }

  /// Somebody works on the request.
  [[nodiscard]] bool is_in_work() const noexcept { return in_state(HttpRequest::State::kWorking); }

  // While a body that nobody reads is dropped.
  /// The server is ending: the client has kLinger for the rest.
  void hurry() noexcept;

  [[nodiscard]] std::size_t head_bytes() const noexcept { return head_bytes_; }

  std::list<Http2Stream>::iterator place;  ///< the connection's, in its list

 private:
  template <typename Function>
  void guarded(Function function) noexcept;
  void expect_body() override;
  void expect_move() override { request_->move_body(); }
  void expect_answer() override {}
  [[nodiscard]] std::uint64_t shared_body_bytes() const noexcept override;
  void send_answer() override;
  void grant_window();
  void continue_client();
  void begin_dropping() noexcept;
  void drop(std::size_t bytes) noexcept;
  void open_for_dropping() noexcept;
  void end_dropping() noexcept;
  [[nodiscard]] bool is_dropping() const noexcept { return sent_whole_ && !body_ended_; }
  [[nodiscard]] bool is_unread(Clock::time_point now) noexcept;
  [[nodiscard]] bool in_state(HttpRequest::State state) const noexcept {
    return request_ && request_->state() == state;
  }

  Http2Connection& connection_;
  const std::int32_t id_;
  std::optional<Http2Head> head_;  ///< until it has come whole
  std::optional<HttpRequest> request_;
  std::size_t head_bytes_ = 0;
  /// How much of the body the client may send. It begins with what clients send that have not
  /// read our SETTINGS yet.
  std::uint64_t granted_bytes_ = NGHTTP2_INITIAL_WINDOW_SIZE;
  bool body_ended_ = false;
  bool submitted_ = false;  ///< nghttp2 has the answer
  bool sent_whole_ = false;
  bool was_unread_ = false;            ///< for so long that it was given up
  std::uint64_t dropped_bytes_ = 0;    ///< of a body that came after its answer
  std::uint64_t dropping_window_ = 0;  ///< that was granted for it, and has not come
  std::uint64_t paced_bytes_ = 0;      ///< of all bodies, that pace_ knows of while it is dropped
  Clock::time_point dropping_ends_{};  ///< at the latest
  std::span<const std::uint8_t> unsent_;
  Pace pace_;                ///< of the answer, later of a body that is dropped
  SharedProgress progress_;  ///< of it, for pace_
};

}  // namespace framewire::service::http
