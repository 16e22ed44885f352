#include <boost/asio/error.hpp>
#include <service/http/guarded.hpp>
#include <service/http/http1_connection.hpp>
#include <service/http/io_thread.hpp>
#include <utility>

namespace framewire::service::http {
namespace {

namespace asio = boost::asio;

using Milliseconds = std::chrono::milliseconds;

// While a request is worked on, so much of what follows is read ahead.
constexpr std::size_t kReadAheadBytes = InputBuffer::kFirstBytes;

// How often the socket is looked at where that is full.
constexpr Milliseconds kLook{500};

}  // namespace

Http1Connection::Http1Connection(IoThread& io, SocketStream stream, Peer peer)
    : Connection(io, std::move(peer)), stream_(std::move(stream)) {}

void Http1Connection::start() {
  // A new connection is expected to send, not to be idle.
  deadline_ = Clock::now() + Milliseconds(io_.settings().read_timeout_ms);
  if (stream_.is_tls()) {
    begin_handshake();
  } else {
    read_more();
  }
}

void Http1Connection::expect_first_request() {
  deadline_ = Clock::now() + Milliseconds(io_.settings().read_timeout_ms);
  if (io_.shared().draining.load()) drain();
  if (state_ == State::kHead) read_more();
}

bool Http1Connection::is_working() const noexcept {
  return state_ == State::kRequest && request_->state() == HttpRequest::State::kWorking;
}

bool Http1Connection::expects_body() const noexcept {
  return state_ == State::kRequest && request_->state() == HttpRequest::State::kBody;
}

void Http1Connection::on_exception() noexcept {
  try {
    if (state_ == State::kRequest) {
      request_->respond_busy();
      return;
    }
  } catch (...) {  // not even for an answer: closed below
  }
  close();
}

void Http1Connection::read_more() {
  if (reading_ || input_ended_ || state_ == State::kClosed) return;
  const bool ahead = is_working() || state_ == State::kWriting;
  const auto room = input_.prepare(ahead ? kReadAheadBytes : io_.settings().max_header_bytes);
  if (room.empty()) {
    if (is_working()) next_look_ = Clock::now() + kLook;
    return;
  }
  stream_.async_read_some(room, guarded([this](const boost::system::error_code& error,
                                               std::size_t bytes) { on_read(error, bytes); }));
  reading_ = true;
}

void Http1Connection::on_read(const boost::system::error_code& error, std::size_t bytes) {
  reading_ = false;
  if (state_ == State::kClosed) return;
  if (error) {
    on_input_end(error);
    return;
  }
  input_.commit(bytes);
  if (state_ == State::kHead) {
    look_for_head();
  } else if (expects_body()) {
    feed_body();
  } else if (is_working()) {
    read_more();
  } else if (state_ == State::kLingering) {
    input_.clear();
    read_more();
  }
}

void Http1Connection::look_for_end(Clock::time_point now) {
  if (now < next_look_) return;
  next_look_ = is_working() ? now + kLook : Clock::time_point::max();
  if (is_working() && stream_.input_has_ended()) on_input_end(asio::error::eof);
}

void Http1Connection::on_input_end(const boost::system::error_code& error) {
  input_ended_ = true;
  const bool orderly = error == asio::error::eof;
  if (state_ == State::kWriting) return;  // the answer may still be read; on_written() closes
  if (state_ == State::kRequest) {
    // Whoever has only stopped sending may still read why nothing came of it.
    if (expects_body() && orderly) {
      request_->refuse_body("the body ended early");
      return;
    }
    request_->give_up(Code::kClientGone);
  }
  close();
}

void Http1Connection::look_for_head() {
  // RFC 9112 2.2: empty lines before a request line are passed over.
  while (!head_begun_ && input_.view().starts_with("\r\n")) input_.consume(2);
  const std::string_view text = input_.view();
  if (text.empty() || text == "\r") {
    read_more();
    return;
  }
  if (!head_begun_) {
    head_begun_ = true;
    seen_bytes_ = 0;
    deadline_ = Clock::now() + Milliseconds(io_.settings().read_timeout_ms);
  }
  const auto end = find_head_end(text, seen_bytes_, head_bounds(io_.settings()));
  if (!end) {
    make_request().refuse(end.error());
  } else if (*end == 0) {
    read_more();
  } else {
    begin_request(*end);
  }
}

HttpRequest& Http1Connection::make_request() {
  request_.emplace(io_, peer_, static_cast<Carrier&>(*this), weak_from_this());
  next_look_ = Clock::time_point::max();
  head_begun_ = false;
  state_ = State::kRequest;
  return *request_;
}

void Http1Connection::begin_request(std::size_t head_bytes) {
  HttpRequest& request = make_request();
  std::string head_text(input_.view().substr(0, head_bytes));
  input_.consume(head_bytes);
  request.begin(std::move(head_text));
}

void Http1Connection::tick(Clock::time_point now) {
  if (now < deadline()) return;
  switch (state_) {
    case State::kHandshake:
      io_.shared().metrics.handshakes_failed.add();
      close();
      return;
    case State::kHead:
      // An idle connection ends without a word.
      if (head_begun_) {
        make_request().refuse(Code::kRequestTimeout, "the request's head did not come in time");
      } else {
        close();
      }
      return;
    case State::kRequest:
      look_for_end(now);
      if (state_ != State::kRequest) return;
      // Memory may have run out before anything was begun.
      if (request_->state() == HttpRequest::State::kHead) {
        close();
      } else {
        request_->tick(now);
      }
      return;
    case State::kWriting:
      if (!is_unread(now)) return;
      request_->log(Code::kClientGone, 0, "the answer was not read");
      close();
      return;
    case State::kLingering:
    case State::kClosed:
      close();
      return;
  }
}

std::uint64_t Http1Connection::moved_bytes() noexcept {
  const std::uint64_t of_body = request_ ? request_->body().filled_bytes : 0;
  return stream_.delivered_bytes() + earlier_body_bytes_ + of_body;
}

void Http1Connection::displace() noexcept {
  if (state_ == State::kClosed) return;
  try {
    if (request_) request_->give_up(Code::kClientGone, kDisplaced);
  } catch (...) {  // a line of the log less
  }
  close();
}

void Http1Connection::close() noexcept {
  if (state_ == State::kClosed) return;
  if (request_) request_->abandon();
  state_ = State::kClosed;
  stream_.close();
  io_.forget(*this);
}

}  // namespace framewire::service::http
