// One request under way, whatever it came by: routed, admitted, its body taken in, answered, told
// of.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <service/http/connection.hpp>
#include <service/http/exchange.hpp>
#include <service/http/head.hpp>
#include <service/http/pace.hpp>
#include <service/http/response.hpp>
#include <string>
#include <string_view>

namespace framewire::service::http {

/// What brings a request and takes its answer away: a connection of HTTP/1.1, a stream of HTTP/2.
/// An HttpRequest calls these from within its own members, on the connection's thread.
class Carrier {
 public:
  /// The request is admitted and its body has room: the client may send it.
  virtual void expect_body() = 0;
  /// The body is to move to other memory, by HttpRequest::move_body(), as soon as nothing is being
  /// read into where it is.
  virtual void expect_move() = 0;
  /// Somebody works on the request. Whether the client vanishes is to be watched.
  virtual void expect_answer() = 0;
  /// Bytes of bodies that have come so far by the same connection, where it carries several at a
  /// time; else 0.
  [[nodiscard]] virtual std::uint64_t shared_body_bytes() const noexcept { return 0; }
  /// Sends HttpRequest::response(), later: the request is still there afterwards. May throw as long
  /// as nothing of it has gone out; respond() may then be called again.
  virtual void send_answer() = 0;

 protected:
  ~Carrier() = default;
};

/// The bounds of heads that settings say.
[[nodiscard]] HeadBounds head_bounds(const ServiceSettings& settings);

/// Belongs to its carrier, whose thread calls all members. What works on the request holds its
/// Exchange alone, and gives the answer to Connection::answer().
class HttpRequest {
 public:
  using Clock = Exchange::Clock;

  enum class State : std::uint8_t {
    kHead,      ///< has just been made
    kBody,      ///< its body is coming
    kWorking,   ///< somebody works on it, or it waits for room for its pixels
    kAnswered,  ///< its answer is there: what remains is the carrier's
  };

  /// @param io          outlives this, as carrier and peer do
  /// @param connection  that is told of the answer
  HttpRequest(IoThread& io, const Peer& peer, Carrier& carrier,
              std::weak_ptr<Connection> connection);
  HttpRequest(const HttpRequest&) = delete;
  HttpRequest& operator=(const HttpRequest&) = delete;

  /// Reads the head, and begins what it asks for, or answers what it finds wrong.
  /// @param head_text  exactly one head in HTTP/1.1's form, as find_head_end() found it
  /// @param has_room   otherwise it is answered 429
  void begin(std::string head_text, bool has_room = true);
  /// Answers what is no request: there is only that to tell of.
  void refuse(Code code, std::string_view message);
  /// As above, with the status of a head's fault.
  void refuse(const HeadError& error);

  // Bodies, in kBody: request_body.cpp.
  [[nodiscard]] RequestBody& body() noexcept { return exchange_->body; }
  /// Copies bytes of a body whose length was not told behind those that have come, into as much
  /// memory as they need. @return false where the request has been answered: 413, 429, 503
  [[nodiscard]] bool append(std::string_view bytes);
  /// The body has come whole.
  void end_body();
  /// The body ended, or went wrong, before it was whole.
  void refuse_body(std::string_view message);
  /// Moves the body into memory of its own. @see Carrier::expect_move()
  void move_body();

  /// Gives the answer. @see Carrier::send_answer()
  void respond(Response response);
  /// Answers 503: memory ran out.
  void respond_busy();
  /// Looks at the time of a body or of the work. @see deadline()
  void tick(Clock::time_point now);
  /// How fast the body comes, in kBody. @see bytes_per_second()
  [[nodiscard]] std::optional<double> body_pace(Clock::time_point now) const noexcept;
  /// Answers 429: others need the room more.
  void give_way();
  /// Looks at the time of an answer that is being sent.
  /// @param read_bytes  by the client, since the last call
  [[nodiscard]] bool is_unread(std::uint64_t read_bytes, Clock::time_point now) noexcept;
  /// The client is gone: nobody waits for an answer any more. Logs that.
  void give_up(Code logged, std::string_view message = {});
  /// The answer has gone out. What still holds the exchange, as a read of its body that was under
  /// way does, keeps no room from others.
  void sent() noexcept;
  /// What it came by is closed. Logs nothing.
  void abandon() noexcept;
  /// Writes the line of the log. @param bytes_out  of the answer's body
  void log(Code code, std::uint64_t bytes_out, std::string_view message);

  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] const Exchange& exchange() const noexcept { return *exchange_; }
  [[nodiscard]] const std::shared_ptr<Exchange>& shared_exchange() const noexcept {
    return exchange_;
  }
  [[nodiscard]] Response& response() noexcept { return response_; }
  /// Whether others have more room once the answer has gone.
  [[nodiscard]] bool answer_holds_room() const noexcept {
    return response_.charge != Charge::kNothing;
  }
  /// What is sent of the answer's body: nothing after HEAD and with 304.
  [[nodiscard]] std::span<const std::uint8_t> body_to_send() const noexcept;
  /// When tick(), or is_unread() in kAnswered, has something to look at.
  [[nodiscard]] Clock::time_point deadline() const noexcept { return deadline_; }

 private:
  void begin_image();
  void begin_scrape();
  void count() noexcept;
  void charge_answer();
  void end(Code code) noexcept;
  void begin_body();
  [[nodiscard]] bool reserve_body();
  [[nodiscard]] bool grow_body(std::size_t bytes);
  void inspect_body();
  void resize_body();
  [[nodiscard]] Clock::time_point work_deadline() const noexcept;
  [[nodiscard]] std::uint64_t take_progress(Clock::time_point now) noexcept;

  IoThread& io_;
  const Peer& peer_;
  Carrier& carrier_;
  State state_ = State::kHead;
  Clock::time_point deadline_{};
  Pace pace_;                       ///< of the body, later of the answer
  std::uint64_t paced_bytes_ = 0;   ///< of the body, which pace_ knows of
  std::uint64_t paced_shared_ = 0;  ///< of Carrier::shared_body_bytes(), which pace_ knows of
  std::uint64_t pixels_ = 0;        ///< of the picture in the body, once that has come whole
  bool awaits_room_ = false;        ///< for the pixels, in kWorking
  std::shared_ptr<Exchange> exchange_;
  Response response_;
};

}  // namespace framewire::service::http
