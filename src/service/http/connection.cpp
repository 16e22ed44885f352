#include <boost/asio/buffer.hpp>
#include <service/http/actions.hpp>
#include <service/http/connection.hpp>
#include <service/http/guarded.hpp>
#include <service/http/images.hpp>
#include <service/http/io_thread.hpp>
#include <utility>

namespace framewire::service::http {
namespace {

namespace asio = boost::asio;

using Milliseconds = std::chrono::milliseconds;

// While a request is worked on, so much of what follows is read ahead.
constexpr std::size_t kReadAheadBytes = InputBuffer::kFirstBytes;
constexpr std::size_t kMaxIdBytes = 64;

HeadBounds head_bounds(const Settings& settings) {
  return {settings.max_header_bytes, settings.max_target_bytes, settings.max_header_lines};
}

bool is_request_id(std::string_view text) {
  return !text.empty() && text.size() <= kMaxIdBytes &&
         text.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") ==
             std::string_view::npos;
}

Code code_of(HeadFault fault) {
  switch (fault) {
    case HeadFault::kMalformed:
      return Code::kBadRequest;
    case HeadFault::kHeadTooLong:
      return Code::kHeadTooLarge;
    case HeadFault::kTargetTooLong:
      return Code::kUriTooLong;
    case HeadFault::kVersion:
      return Code::kVersionNotSupported;
    case HeadFault::kTransferEncoding:
      return Code::kNotImplemented;
    case HeadFault::kExpectation:
      return Code::kExpectationFailed;
  }
  return Code::kBadRequest;
}

}  // namespace

Connection::Connection(IoThread& io, Socket socket, Peer peer)
    : io_(io), socket_(std::move(socket)), peer_(std::move(peer)) {
  io_.shared().connections.fetch_add(1);
  if (peer_.metrics_listener) io_.shared().metrics_connections.fetch_add(1);
}

Connection::~Connection() {
  if (peer_.metrics_listener) io_.shared().metrics_connections.fetch_sub(1);
  io_.shared().connections.fetch_sub(1);
}

void Connection::start() {
  // A new connection is expected to send, not to be idle.
  deadline_ = Clock::now() + Milliseconds(io_.shared().settings.read_timeout_ms);
  read_more();
}

void Connection::on_exception() noexcept {
  try {
    if (exchange_ != nullptr && state_ != State::kWriting && state_ != State::kLingering) {
      Response response = refuse_admission(exchange_->error_form, Admission::Verdict::kOverBudget);
      response.close = true;
      respond(std::move(response));
      return;
    }
  } catch (...) {  // not even for an answer: closed below
  }
  close();
}

void Connection::read_more() {
  if (reading_ || input_ended_ || state_ == State::kClosed) return;
  const std::size_t bound = state_ == State::kWorking || state_ == State::kWriting
                                ? kReadAheadBytes
                                : io_.shared().settings.max_header_bytes;
  const auto room = input_.prepare(bound);
  if (room.empty()) return;
  socket_.async_read_some(asio::buffer(room.data(), room.size()),
                          guarded([this](const boost::system::error_code& error,
                                         std::size_t bytes) { on_read(error, bytes); }));
  reading_ = true;
}

void Connection::on_read(const boost::system::error_code& error, std::size_t bytes) {
  reading_ = false;
  if (state_ == State::kClosed) return;
  if (error) {
    on_input_end(error);
    return;
  }
  input_.commit(bytes);
  switch (state_) {
    case State::kHead:
      look_for_head();
      break;
    case State::kBody:
      feed_body();
      break;
    case State::kWorking:
      read_more();
      break;
    case State::kLingering:
      input_.clear();
      read_more();
      break;
    case State::kWriting:
    case State::kClosed:
      break;
  }
}

void Connection::on_input_end(const boost::system::error_code& error) {
  input_ended_ = true;
  const bool orderly = error == asio::error::eof;
  switch (state_) {
    case State::kBody:
      // Whoever has only stopped sending may still read why nothing came of it.
      if (orderly) {
        Response response = error_response(exchange_->error_form, Code::kBadRequest,
                                           "invalid_input", "the body ended early");
        response.close = true;
        respond(std::move(response));
        return;
      }
      give_up_request(Code::kClientGone);
      return;
    case State::kWorking:
      give_up_request(Code::kClientGone);
      return;
    case State::kWriting:
      return;  // the answer may still be read; on_written() closes
    case State::kHead:
    case State::kLingering:
    case State::kClosed:
      close();
      return;
  }
}

void Connection::look_for_head() {
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
    deadline_ = Clock::now() + Milliseconds(io_.shared().settings.read_timeout_ms);
  }
  const auto end = find_head_end(text, seen_bytes_, head_bounds(io_.shared().settings));
  if (!end) {
    refuse_head(code_of(end.error().fault), end.error().message);
  } else if (*end == 0) {
    read_more();
  } else {
    begin_request(*end);
  }
}

// There is no request to tell of: only that it was none.
void Connection::refuse_head(Code code, std::string_view message) {
  if (exchange_ == nullptr) {
    exchange_ = std::make_shared<Exchange>();
    exchange_->id = io_.new_id();
    exchange_->begun = exchange_->received = Clock::now();
  }
  head_begun_ = false;
  count_request();
  Response response = error_response(ErrorForm::kText, code, "invalid_input", message);
  // Where one message ends and the next begins is no longer known.
  response.close = true;
  respond(std::move(response));
}

void Connection::begin_request(std::size_t head_bytes) {
  head_begun_ = false;
  exchange_ = std::make_shared<Exchange>();
  Exchange& exchange = *exchange_;
  exchange.connection = weak_from_this();
  exchange.id = io_.new_id();
  exchange.begun = exchange.received = Clock::now();
  exchange.head_text.assign(input_.view().substr(0, head_bytes));
  input_.consume(head_bytes);
  auto head = parse_head(exchange.head_text, head_bounds(io_.shared().settings));
  if (!head) {
    refuse_head(code_of(head.error().fault), head.error().message);
    return;
  }
  exchange.head = std::move(*head);
  exchange.target = split_target(exchange.head.target);
  if (const auto id = exchange.head.get("x-request-id"); is_request_id(id)) exchange.id = id;
  exchange.local_peer = peer_.is_local;
  exchange.metrics_listener = peer_.metrics_listener;
  auto refused = route(exchange, io_.shared());
  count_request();
  if (refused) {
    respond(std::move(*refused));
    return;
  }
  if (exchange.action == Action::kResize || exchange.action == Action::kInspect) {
    begin_body();
  } else if (exchange.action == Action::kImage) {
    begin_image();
  } else if (exchange.action == Action::kMetrics) {
    begin_scrape();
  } else {
    respond(answer_at_once(exchange, io_.shared()));
  }
}

void Connection::begin_image() {
  state_ = State::kWorking;
  deadline_ = exchange_->received + Milliseconds(io_.shared().settings.request_timeout_ms);
  if (auto answered = io_.shared().images->begin(exchange_, io_, peer_.client)) {
    respond(std::move(*answered));
    return;
  }
  read_more();
}

// Figures are put together on a thread of their own; this one goes on with its sockets.
void Connection::begin_scrape() {
  state_ = State::kWorking;
  deadline_ = exchange_->received + Milliseconds(io_.shared().settings.request_timeout_ms);
  const bool taken = io_.shared().run_scrape([exchange = exchange_, &io = io_] {
    const auto response = std::make_shared<Response>();
    response->content_type = "text/plain; version=0.0.4; charset=utf-8";
    response->add_field("Cache-Control", "no-cache");
    response->text = metrics_text(io.shared());
    (void)io.post([exchange, response] {
      if (const auto connection = exchange->connection.lock()) {
        connection->answer(*exchange, std::move(*response));
      }
    });
  });
  if (!taken) throw std::bad_alloc();
  read_more();
}

// What asks how the service is would drown what it is for.
void Connection::count_request() noexcept {
  Exchange& exchange = *exchange_;
  const bool probe = exchange.action == Action::kLive || exchange.action == Action::kReady ||
                     exchange.action == Action::kMetrics;
  if (exchange.counted || probe || peer_.metrics_listener) return;
  exchange.counted = true;
  io_.shared().metrics.requests_begun.add();
}

}  // namespace framewire::service::http
