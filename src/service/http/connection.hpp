// One client's connection: reads requests one after the other, and answers them in order.
#pragma once

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <service/http/exchange.hpp>
#include <service/http/input_buffer.hpp>
#include <string>
#include <string_view>

namespace framewire::service::http {

class IoThread;

/// The other end of a connection.
struct Peer {
  Client client;
  std::string name;               ///< for the log
  bool is_local = false;          ///< loopback, or a unix socket
  bool metrics_listener = false;  ///< came to the listener for metrics, and may do nothing else
};

using Socket = boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol,
                                                boost::asio::io_context::executor_type>;

/// Lives on one I/O thread, which calls all its members.
///
/// One request is under way at a time; what a client sends meanwhile waits in a buffer of bounded
/// size, then in the socket. A read is always under way while a request is worked on, so that a
/// client that vanishes is noticed.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Clock = std::chrono::steady_clock;

  Connection(IoThread& io, Socket socket, Peer peer);
  ~Connection();

  void start();
  /// Looks at the deadline of what it is doing. Called some times a second.
  void tick(Clock::time_point now);
  /// Gives the answer to the request under way; what comes for any other is dropped.
  void answer(Exchange& exchange, Response response);
  /// The server is ending: closes if idle, otherwise with the next answer.
  void drain();
  /// Closes at once.
  void close() noexcept;

  /// Whether it could be closed without a loss: no request has come whole.
  [[nodiscard]] bool between_requests() const noexcept { return state_ == State::kHead; }
  [[nodiscard]] bool metrics_listener() const noexcept { return peer_.metrics_listener; }
  [[nodiscard]] Clock::time_point deadline() const noexcept { return deadline_; }

 private:
  enum class State : std::uint8_t {
    kHead,       ///< waits for a head, or for the rest of one
    kBody,       ///< reads a body
    kWorking,    ///< somebody works on the request
    kWriting,    ///< writes an answer
    kLingering,  ///< has written its last answer; reads what the client still sends, so that the
                 ///< answer is not lost (RFC 9112 9.6)
    kClosed
  };

  // Reading: connection.cpp.
  void read_more();
  void on_read(const boost::system::error_code& error, std::size_t bytes);
  void on_input_end(const boost::system::error_code& error);
  void look_for_head();
  void begin_request(std::size_t head_bytes);
  void begin_image();
  void begin_scrape();
  void count_request() noexcept;
  void refuse_head(Code code, std::string_view message);
  // Bodies: connection_body.cpp.
  void begin_body();
  bool reserve_body();
  void continue_client();
  void feed_body();
  void feed_length();
  void feed_chunks();
  bool grow_body(std::size_t bytes);
  void read_body();
  void on_body_read(const boost::system::error_code& error, std::size_t bytes);
  void leave_engine_memory();
  void on_body();
  // Answering: connection_answer.cpp.
  void respond(Response response);
  void on_written(const boost::system::error_code& error);
  void next_request();
  void linger();
  void give_up_request(Code logged);
  void end_request(Code code) noexcept;
  void log_exchange(Code code, std::uint64_t bytes_out, std::string_view message);

  /// A handler that holds this connection, and answers what it throws.
  template <typename Function>
  auto guarded(Function function);
  void on_exception() noexcept;

  IoThread& io_;
  Socket socket_;
  const Peer peer_;
  State state_ = State::kHead;
  InputBuffer input_;
  std::size_t seen_bytes_ = 0;  ///< of the input, in search of a head's end
  bool reading_ = false;        ///< a read is under way
  bool input_ended_ = false;    ///< the client sends nothing more
  bool head_begun_ = false;     ///< the deadline is that of a head, not of an idle connection
  bool served_ = false;         ///< a request has been answered
  bool relocating_ = false;     ///< the read under way was cancelled to change the body's memory
  Clock::time_point deadline_{};
  Clock::time_point body_deadline_{};
  std::shared_ptr<Exchange> exchange_;
  Response response_;
  std::string response_head_;
};

}  // namespace framewire::service::http
