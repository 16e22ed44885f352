#include <service/http/actions.hpp>
#include <service/http/images.hpp>
#include <service/http/io_thread.hpp>
#include <service/http/request.hpp>
#include <utility>

namespace framewire::service::http {
namespace {

using Milliseconds = std::chrono::milliseconds;

constexpr std::size_t kMaxIdBytes = 64;

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

HeadBounds head_bounds(const ServiceSettings& settings) {
  return {settings.max_header_bytes, settings.max_target_bytes, settings.max_header_lines};
}

HttpRequest::HttpRequest(IoThread& io, const Peer& peer, Carrier& carrier,
                         std::weak_ptr<Connection> connection)
    : io_(io), peer_(peer), carrier_(carrier), exchange_(std::make_shared<Exchange>()) {
  exchange_->snapshot = io_.take_snapshot();
  exchange_->connection = std::move(connection);
  exchange_->id = io_.new_id();
  exchange_->begun = exchange_->received = Clock::now();
}

void HttpRequest::begin(std::string head_text, bool has_room) {
  Exchange& exchange = *exchange_;
  exchange.head_text = std::move(head_text);
  auto head = parse_head(exchange.head_text, head_bounds(io_.settings()));
  if (!head) {
    refuse(head.error());
    return;
  }
  exchange.head = std::move(*head);
  exchange.target = split_target(exchange.head.target);
  if (const auto id = exchange.head.get("x-request-id"); is_request_id(id)) exchange.id = id;
  exchange.local_peer = peer_.is_local;
  exchange.metrics_listener = peer_.metrics_listener;
  auto refused = route(exchange, io_.shared());
  if (!refused && !has_room) {
    refused = refuse_admission(exchange.error_form, ClientAdmission::Verdict::kQueueFull);
  }
  count();
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

void HttpRequest::refuse(const HeadError& error) { refuse(code_of(error.fault), error.message); }

void HttpRequest::refuse(Code code, std::string_view message) {
  count();
  Response response = error_response(ErrorForm::kText, code, "invalid_input", message);
  // Where one message ends and the next begins is no longer known.
  response.close = true;
  respond(std::move(response));
}

void HttpRequest::begin_image() {
  state_ = State::kWorking;
  deadline_ = exchange_->received + Milliseconds(io_.settings().request_timeout_ms);
  if (auto answered = io_.shared().images->begin(exchange_, io_, peer_.client)) {
    respond(std::move(*answered));
    return;
  }
  carrier_.expect_answer();
}

// Figures are put together on a thread of their own; this one goes on with its sockets.
void HttpRequest::begin_scrape() {
  state_ = State::kWorking;
  deadline_ = exchange_->received + Milliseconds(io_.settings().request_timeout_ms);
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
  carrier_.expect_answer();
}

// What asks how the service is would drown what it is for.
void HttpRequest::count() noexcept {
  Exchange& exchange = *exchange_;
  const bool probe = exchange.action == Action::kLive || exchange.action == Action::kReady ||
                     exchange.action == Action::kMetrics;
  if (exchange.counted || probe || peer_.metrics_listener) return;
  exchange.counted = true;
  io_.shared().metrics.requests_begun.add();
}

std::span<const std::uint8_t> HttpRequest::body_to_send() const noexcept {
  const bool none = exchange_->head.method == "HEAD" || response_.code == Code::kNotModified;
  return none ? std::span<const std::uint8_t>() : response_.body();
}

void HttpRequest::respond(Response response) {
  Exchange& exchange = *exchange_;
  exchange.answered = true;
  exchange.responded = Clock::now();
  const bool body_unread = state_ != State::kWorking && exchange.head.has_body();
  response.close = response.close || body_unread || io_.shared().draining.load();
  response_ = std::move(response);
  charge_answer();
  // Figures are not for pages from elsewhere.
  const std::string& origin = exchange.snapshot->settings.allow_origin;
  if (!origin.empty() && exchange.action != Action::kMetrics) {
    response_.add_field("Access-Control-Allow-Origin", origin);
  }
  carrier_.send_answer();
  state_ = State::kAnswered;
  pace_.begin(Clock::now(), Milliseconds(io_.settings().write_timeout_ms));
  deadline_ = pace_.deadline();
}

// Until the answer has been read its bytes count, whether or not its request was admitted. Where
// there is no room for them it is refused instead, with a body that takes none. The listener for
// metrics has few connections, and is heard when there is room for nothing else.
void HttpRequest::charge_answer() {
  Exchange& exchange = *exchange_;
  if (exchange.body_in_use) return;
  ClientAdmission& admission = io_.shared().admission;
  const std::size_t bytes = response_.charge == Charge::kAnswer ? body_to_send().size() : 0;
  if (exchange.ticket.held()) {
    admission.answered(exchange.ticket, bytes);
    return;
  }
  if (bytes == 0 || peer_.metrics_listener) return;
  const auto verdict = admission.admit_answer(peer_.client, bytes, exchange.ticket);
  if (verdict == ClientAdmission::Verdict::kAdmitted) return;
  const bool close = response_.close;
  response_ = refuse_admission(exchange.error_form, verdict);
  response_.close = close;
}

void HttpRequest::respond_busy() {
  Response response =
      refuse_admission(exchange_->error_form, ClientAdmission::Verdict::kOverBudget);
  response.close = true;
  respond(std::move(response));
}

void HttpRequest::tick(Clock::time_point now) {
  if (now < deadline_) return;
  if (state_ == State::kBody) {
    if (now < pace_.deadline() && exchange_->body.engine_memory) {
      // The body has been slow to come.
      deadline_ = pace_.deadline();
      carrier_.expect_move();
      return;
    }
    const bool late = pace_.is_late(take_progress(now), now);
    deadline_ = pace_.deadline();
    if (!late) return;
    Response response = error_response(exchange_->error_form, Code::kRequestTimeout, "deadline",
                                       "the request's body did not come in time");
    response.close = true;
    respond(std::move(response));
  } else if (state_ == State::kWorking) {
    if (awaits_room_ && now < work_deadline()) {
      resize_body();
      return;
    }
    exchange_->stop.request_stop();
    respond(error_response(exchange_->error_form, Code::kUnavailable, "deadline",
                           "the time for this request ran out"));
  }
}

std::optional<double> HttpRequest::body_pace(Clock::time_point now) const noexcept {
  if (state_ != State::kBody) return std::nullopt;
  return bytes_per_second(exchange_->body.filled_bytes, exchange_->begun, now);
}

void HttpRequest::give_way() {
  Response response =
      refuse_admission(exchange_->error_form, ClientAdmission::Verdict::kClientShare);
  response.close = true;
  respond(std::move(response));
}

bool HttpRequest::is_unread(std::uint64_t read_bytes, Clock::time_point now) noexcept {
  const bool late = pace_.is_late(read_bytes, now);
  deadline_ = pace_.deadline();
  return late;
}

void HttpRequest::give_up(Code logged, std::string_view message) {
  exchange_->answered = true;
  exchange_->stop.request_stop();
  log(logged, 0, message);
}

void HttpRequest::sent() noexcept {
  if (!exchange_->body_in_use) exchange_->ticket.give_back();
}

void HttpRequest::abandon() noexcept {
  end(Code::kClientGone);
  exchange_->answered = true;
  exchange_->stop.request_stop();
}

// Once a request, however it ends.
void HttpRequest::end(Code code) noexcept {
  if (!exchange_->counted || std::exchange(exchange_->ended, true)) return;
  const auto now = Clock::now();
  const auto seconds = [&](Clock::time_point since) {
    return std::chrono::duration<double>(now - since).count();
  };
  Metrics& metrics = io_.shared().metrics;
  const bool whole = exchange_->answered && code == response_.code;
  if (whole) metrics.spent(RequestSpan::kSend, seconds(exchange_->responded));
  metrics.request_ended(code, whole ? response_.error : ErrorType::kNone,
                        seconds(exchange_->begun));
}

void HttpRequest::log(Code code, std::uint64_t bytes_out, std::string_view message) {
  end(code);
  const Exchange& exchange = *exchange_;
  const LogLevel level = io_.settings().log;
  if (level == LogLevel::kNone) return;
  if (level == LogLevel::kErrors && static_cast<int>(code) < 500) return;
  const bool turned_away = code == response_.code && response_.error == ErrorType::kQueue;
  if (turned_away && !io_.logs_refusal()) return;
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
  io_.shared().log.write(line);
}

}  // namespace framewire::service::http
