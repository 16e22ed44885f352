// How a connection answers, and what comes after.
#include <sys/ioctl.h>
#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <service/http/actions.hpp>
#include <service/http/connection.hpp>
#include <service/http/guarded.hpp>
#include <service/http/io_thread.hpp>
#include <utility>

namespace framewire::service::http {
namespace {

namespace asio = boost::asio;

using Milliseconds = std::chrono::milliseconds;

constexpr std::uint64_t kMinBytesPerSecond = 128u << 10;
// How long a client may go on sending after its last answer.
constexpr Milliseconds kLinger{2000};
// How long a new connection's first request is waited for once the server is ending.
constexpr Milliseconds kDrainGrace{1000};

}  // namespace

void Connection::answer(Exchange& exchange, Response response) {
  if (exchange.answered || &exchange != exchange_.get() || state_ != State::kWorking) return;
  respond(std::move(response));
}

void Connection::respond(Response response) {
  Exchange& exchange = *exchange_;
  exchange.answered = true;
  exchange.responded = Clock::now();
  const bool body_unread = state_ != State::kWorking && exchange.head.has_body();
  response.close = response.close || body_unread || input_ended_ || io_.shared().draining.load();
  response_ = std::move(response);
  const Envelope envelope{io_.date(), exchange.id, exchange.head.keep_alive,
                          exchange.head.minor_version};
  response_.close = response_.close || !exchange.head.keep_alive;
  // Figures are not for pages from elsewhere.
  const std::string& origin = io_.shared().settings.allow_origin;
  if (!origin.empty() && exchange.action != Action::kMetrics) {
    response_.add_field("Access-Control-Allow-Origin", origin);
    response_.add_field("Access-Control-Allow-Methods", "GET, OPTIONS");
  }
  response_head_ = make_head(response_, envelope);
  auto body = response_.body();
  if (exchange.head.method == "HEAD" || response_.code == Code::kNotModified) body = {};
  io_.shared().admission.answered(exchange.ticket, body.size());
  state_ = State::kWriting;
  deadline_ = Clock::now() + Milliseconds(io_.shared().settings.write_timeout_ms +
                                          body.size() * 1000 / kMinBytesPerSecond);
  const std::array<asio::const_buffer, 2> buffers = {asio::buffer(response_head_),
                                                     asio::buffer(body.data(), body.size())};
  asio::async_write(
      socket_, buffers,
      guarded([this](const boost::system::error_code& error, std::size_t) { on_written(error); }));
}

void Connection::on_written(const boost::system::error_code& error) {
  if (state_ == State::kClosed) return;
  const auto body_bytes = response_.body().size();
  log_exchange(error ? Code::kClientGone : response_.code, error ? 0 : body_bytes,
               response_.message);
  const bool ends = response_.close || input_ended_;
  exchange_.reset();
  served_ = true;
  response_ = {};
  response_head_ = {};
  if (error) {
    close();
  } else if (ends) {
    linger();
  } else {
    next_request();
  }
}

void Connection::next_request() {
  state_ = State::kHead;
  deadline_ = Clock::now() + Milliseconds(io_.shared().settings.keep_alive_timeout_ms);
  if (io_.shared().draining.load() && input_.size() == 0) {
    linger();
    return;
  }
  if (input_.size() != 0) {
    look_for_head();
  } else {
    read_more();
  }
}

void Connection::linger() {
  if (input_ended_) {
    close();
    return;
  }
  boost::system::error_code error;
  socket_.shutdown(Socket::shutdown_send, error);
  if (error) {
    close();
    return;
  }
  state_ = State::kLingering;
  deadline_ = Clock::now() + kLinger;
  input_.clear();
  read_more();
}

// The client is gone: nobody waits for an answer any more.
void Connection::give_up_request(Code logged) {
  if (exchange_ != nullptr) {
    exchange_->answered = true;
    exchange_->stop.request_stop();
    log_exchange(logged, 0, {});
  }
  close();
}

void Connection::tick(Clock::time_point now) {
  if (now < deadline_) return;
  switch (state_) {
    case State::kHead:
      // An idle connection ends without a word.
      if (head_begun_) {
        refuse_head(Code::kRequestTimeout, "the request's head did not come in time");
      } else {
        close();
      }
      return;
    case State::kBody:
      if (now < body_deadline_ && exchange_->body.engine_memory) {
        leave_engine_memory();
      } else {
        Response response = error_response(exchange_->error_form, Code::kRequestTimeout, "deadline",
                                           "the request's body did not come in time");
        response.close = true;
        respond(std::move(response));
      }
      return;
    case State::kWorking:
      exchange_->stop.request_stop();
      respond(error_response(exchange_->error_form, Code::kUnavailable, "deadline",
                             "the time for this request ran out"));
      return;
    case State::kWriting:
      if (exchange_ != nullptr) log_exchange(Code::kClientGone, 0, "the answer was not read");
      close();
      return;
    case State::kLingering:
    case State::kClosed:
      close();
      return;
  }
}

void Connection::drain() {
  if (state_ != State::kHead || head_begun_ || input_.size() != 0) return;
  int unread = 0;
  const bool comes = ::ioctl(socket_.native_handle(), FIONREAD, &unread) == 0 && unread > 0;
  if (served_ && !comes) {
    linger();
    return;
  }
  // A request may be on its way: of a new connection it is expected.
  deadline_ = std::min(deadline_, Clock::now() + kDrainGrace);
}

void Connection::close() noexcept {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  end_request(Code::kClientGone);
  if (exchange_ != nullptr) {
    exchange_->answered = true;
    exchange_->stop.request_stop();
  }
  boost::system::error_code ignored;
  socket_.close(ignored);
  io_.forget(*this);
}

// Once a request, however it ends.
void Connection::end_request(Code code) noexcept {
  if (exchange_ == nullptr || !exchange_->counted || std::exchange(exchange_->ended, true)) return;
  const auto now = Clock::now();
  const auto seconds = [&](Clock::time_point since) {
    return std::chrono::duration<double>(now - since).count();
  };
  Metrics& metrics = io_.shared().metrics;
  const bool whole = exchange_->answered && code == response_.code;
  if (whole) metrics.spent(Span::kSend, seconds(exchange_->responded));
  metrics.request_ended(code, whole ? response_.error : ErrorType::kNone,
                        seconds(exchange_->begun));
}

void Connection::log_exchange(Code code, std::uint64_t bytes_out, std::string_view message) {
  end_request(code);
  SharedState& shared = io_.shared();
  const Exchange& exchange = *exchange_;
  if (shared.settings.log == LogLevel::kNone) return;
  if (shared.settings.log == LogLevel::kErrors && static_cast<int>(code) < 500) return;
  RequestLine line;
  line.request_id = exchange.id;
  line.client = peer_.name;
  line.method = exchange.head.method;
  line.target = exchange.head.target;
  line.status = static_cast<int>(code);
  line.bytes_in = exchange.body.filled_bytes;
  line.bytes_out = bytes_out;
  line.ms = std::chrono::duration<double, std::milli>(Clock::now() - exchange.begun).count();
  line.codec = exchange.codec;
  line.message = message;
  shared.log.write(line);
}

}  // namespace framewire::service::http
