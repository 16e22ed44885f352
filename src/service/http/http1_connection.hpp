// A client's connection that speaks HTTP/1.1: reads requests one after the other, answers in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <service/http/connection.hpp>
#include <service/http/input_buffer.hpp>
#include <service/http/request.hpp>
#include <service/http/stream.hpp>
#include <string>
#include <string_view>

namespace framewire::service::http {

/// One request is under way at a time; what a client sends meanwhile waits in a buffer of bounded
/// size, then in the socket. While a request is worked on a read is under way, so that a client
/// that vanishes is noticed; with the buffer full the socket is looked at now and then.
class Http1Connection final : public Connection, private Carrier {
 public:
  Http1Connection(IoThread& io, SocketStream stream, Peer peer);

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

  [[nodiscard]] bool between_requests() const noexcept override {
    return state_ == State::kHead || state_ == State::kHandshake;
  }
  [[nodiscard]] Clock::time_point deadline() const noexcept override {
    if (state_ == State::kRequest) return std::min(request_->deadline(), next_look_);
    return state_ == State::kWriting ? request_->deadline() : deadline_;
  }

 private:
  enum class State : std::uint8_t {
    kHandshake,  ///< shakes hands, where TLS is spoken
    kHead,       ///< waits for a head, or for the rest of one
    kRequest,    ///< a request is under way: its body comes, or somebody works on it
    kWriting,    ///< writes an answer
    kLingering,  ///< has written its last answer; reads what the client still sends, so that the
                 ///< answer is not lost (RFC 9112 9.6)
    kClosed
  };

  // TLS: http1_handshake.cpp.
  void begin_handshake();
  void on_handshake(const boost::system::error_code& error);
  void become_http2();
  // Reading: http1_connection.cpp.
  void expect_first_request();
  void read_more();
  void on_read(const boost::system::error_code& error, std::size_t bytes);
  void look_for_end(Clock::time_point now);
  void on_input_end(const boost::system::error_code& error);
  void look_for_head();
  void begin_request(std::size_t head_bytes);
  [[nodiscard]] HttpRequest& make_request();
  [[nodiscard]] bool is_working() const noexcept;
  [[nodiscard]] bool expects_body() const noexcept;
  void on_exception() noexcept override;
  [[nodiscard]] std::uint64_t moved_bytes() noexcept override;
  [[nodiscard]] bool is_in_work() const noexcept override { return is_working(); }
  // Bodies: http1_body.cpp.
  void expect_body() override;
  void expect_move() override;
  void continue_client();
  void feed_body();
  void feed_length();
  void feed_chunks();
  void read_body();
  void on_body_read(const boost::system::error_code& error, std::size_t bytes);
  // Answering: http1_answer.cpp.
  void expect_answer() override { read_more(); }
  void send_answer() override;
  [[nodiscard]] bool is_unread(Clock::time_point now) noexcept;
  void on_written(const boost::system::error_code& error);
  void next_request();
  void linger();

  SocketStream stream_;
  State state_ = State::kHead;
  InputBuffer input_;
  std::size_t seen_bytes_ = 0;    ///< of the input, in search of a head's end
  bool reading_ = false;          ///< a read is under way
  bool input_ended_ = false;      ///< the client sends nothing more
  bool head_begun_ = false;       ///< the deadline is that of a head, not of an idle connection
  bool relocating_ = false;       ///< the read under way was cancelled to change the body's memory
  Clock::time_point deadline_{};  ///< while no request is under way
  Clock::time_point next_look_ = Clock::time_point::max();  ///< for a client that has gone
  std::optional<HttpRequest> request_;
  std::uint64_t earlier_body_bytes_ = 0;  ///< of requests before this one
  std::string response_head_;
  std::uint64_t delivered_before_ = 0;  ///< when the answer began
  std::uint64_t delivered_bytes_ = 0;   ///< as the stream said when the answer's time was looked at
};

}  // namespace framewire::service::http
