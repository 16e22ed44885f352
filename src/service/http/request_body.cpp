// How a request's body comes in: straight into memory that the engine reads from.
#include <fmt/format.h>
#include <algorithm>
#include <cstring>
#include <service/http/actions.hpp>
#include <service/http/frame_size.hpp>
#include <service/http/io_thread.hpp>
#include <service/http/request.hpp>
#include <utility>

namespace framewire::service::http {
namespace {

using Milliseconds = std::chrono::milliseconds;

// Engine memory comes in blocks that many bodies share, and one slow body keeps a whole block.
// What has not come by then goes on in memory of its own.
constexpr Milliseconds kEngineMemoryTime{500};
constexpr std::size_t kFirstChunkedBytes = 64u << 10;
// How often a body that waits for room looks for it; a picture takes some milliseconds.
constexpr Milliseconds kRoomLook{50};
// Four pixels a byte are common for photographs; the frame header tells the truth later.
constexpr std::uint64_t kPixelsPerByte = 4;

// Memory of the request's own.
void take_memory(RequestBody& body, std::size_t bytes) {
  const std::shared_ptr<std::uint8_t[]> memory(new std::uint8_t[bytes]);
  if (body.filled_bytes != 0) std::memcpy(memory.get(), body.room.data(), body.filled_bytes);
  body.room = {memory.get(), bytes};
  body.keeper = memory;
  body.engine_memory = false;
}

}  // namespace

void HttpRequest::begin_body() {
  const ServiceSettings& settings = exchange_->snapshot->settings;
  if (auto refused = check_upload(*exchange_, settings.defaults)) {
    respond(std::move(*refused));
    return;
  }
  if (!reserve_body()) return;
  state_ = State::kBody;
  const auto now = Clock::now();
  pace_.begin(now, Milliseconds(settings.read_timeout_ms));
  paced_shared_ = carrier_.shared_body_bytes();
  deadline_ = exchange_->body.engine_memory ? std::min(pace_.deadline(), now + kEngineMemoryTime)
                                            : pace_.deadline();
  carrier_.expect_body();
}

// How many bytes count as the body's since the last call. A client may send several bodies one
// after the other: while those come this one is not late, for as long as the longest body may take.
std::uint64_t HttpRequest::take_progress(Clock::time_point now) noexcept {
  const std::uint64_t filled = exchange_->body.filled_bytes;
  const std::uint64_t shared = carrier_.shared_body_bytes();
  const std::uint64_t own = filled - std::exchange(paced_bytes_, filled);
  const std::uint64_t of_all = shared - std::exchange(paced_shared_, shared);
  const std::chrono::duration<double> longest(
      static_cast<double>(exchange_->options.limits.max_input_bytes) /
      static_cast<double>(kMinBytesPerSecond));
  const bool may_wait = now - exchange_->begun < longest;
  return may_wait ? std::max(own, of_all) : own;
}

// Admits the request and takes memory for its body. @return false where it has been answered
bool HttpRequest::reserve_body() {
  Exchange& exchange = *exchange_;
  SharedState& shared = io_.shared();
  const bool chunked = exchange.head.chunked;
  const std::size_t bytes =
      chunked ? kFirstChunkedBytes : static_cast<std::size_t>(*exchange.head.content_length);
  const auto verdict = shared.admission.admit_announced(peer_.client, bytes, bytes * kPixelsPerByte,
                                                        exchange.ticket);
  if (verdict != ClientAdmission::Verdict::kAdmitted) {
    respond(refuse_admission(exchange.error_form, verdict));
    return false;
  }
  if (chunked || bytes == 0) {
    take_memory(exchange.body, std::max<std::size_t>(bytes, 1));
    exchange.body.room = exchange.body.room.first(bytes);
    return true;
  }
  auto slice = shared.engine.input_slice(bytes);
  if (!slice) {
    respond(error_response(exchange.error_form, slice.error()));
    return false;
  }
  exchange.body.room = slice->bytes;
  exchange.body.keeper = std::move(slice->keeper);
  exchange.body.engine_memory = true;
  return true;
}

void HttpRequest::move_body() { take_memory(exchange_->body, exchange_->body.room.size()); }

bool HttpRequest::append(std::string_view bytes) {
  if (bytes.empty()) return true;
  if (!grow_body(bytes.size())) return false;
  RequestBody& body = exchange_->body;
  std::memcpy(body.room.data() + body.filled_bytes, bytes.data(), bytes.size());
  body.filled_bytes += bytes.size();
  return true;
}

// Makes room for more of a body without a length. @return false where it has been answered
bool HttpRequest::grow_body(std::size_t bytes) {
  Exchange& exchange = *exchange_;
  RequestBody& body = exchange.body;
  const std::size_t needed = body.filled_bytes + bytes;
  const std::uint64_t bound = exchange.options.limits.max_input_bytes;
  if (needed > bound) {
    Response response =
        error_response(exchange.error_form, Code::kPayloadTooLarge, "too_large",
                       fmt::format("found more than {} bytes; accepted: at most that", bound));
    response.close = true;
    respond(std::move(response));
    return false;
  }
  if (needed <= body.room.size()) return true;
  const auto larger = static_cast<std::size_t>(
      std::min<std::uint64_t>(bound, std::max(needed, body.room.size() * 2)));
  const auto verdict = io_.shared().admission.change(exchange.ticket, larger, 0);
  if (verdict != ClientAdmission::Verdict::kAdmitted) {
    Response response = refuse_admission(exchange.error_form, verdict);
    response.close = true;
    respond(std::move(response));
    return false;
  }
  take_memory(body, larger);
  return true;
}

void HttpRequest::refuse_body(std::string_view message) {
  Response response =
      error_response(exchange_->error_form, Code::kBadRequest, "invalid_input", message);
  response.close = true;
  respond(std::move(response));
}

void HttpRequest::end_body() {
  Exchange& exchange = *exchange_;
  exchange.received = Clock::now();
  state_ = State::kWorking;
  deadline_ = work_deadline();
  if (auto refused = read_upload(exchange)) {
    respond(std::move(*refused));
    return;
  }
  if (exchange.action == Action::kInspect) {
    inspect_body();
  } else {
    pixels_ = count_pixels_to_decode(exchange.jpeg, exchange.options.limits.max_input_pixels);
    resize_body();
  }
  carrier_.expect_answer();
}

void HttpRequest::inspect_body() {
  exchange_->body_in_use = true;
  const bool taken = io_.shared().run_aside([exchange = exchange_, &io = io_] {
    Response response;
    try {
      response = inspect_picture(*exchange);
    } catch (const std::bad_alloc&) {  // what it took has been freed
      response = error_response(exchange->error_form, Code::kUnavailable, "busy", "memory ran out");
    }
    const auto shared = std::make_shared<Response>(std::move(response));
    (void)io.post([exchange, shared] {
      exchange->body_in_use = false;
      if (const auto connection = exchange->connection.lock()) {
        connection->answer(*exchange, std::move(*shared));
      }
    });
  });
  if (taken) return;
  exchange_->body_in_use = false;
  throw std::bad_alloc();
}

// Hands the picture in. Where there is no room for its pixels it waits until tick() tries again: a
// body that has come whole is not thrown away.
void HttpRequest::resize_body() {
  Exchange& exchange = *exchange_;
  const auto verdict =
      io_.shared().admission.settle_or_wait(exchange.ticket, exchange.body.room.size(), pixels_);
  awaits_room_ = verdict != ClientAdmission::Verdict::kAdmitted;
  if (awaits_room_) {
    deadline_ = std::min(work_deadline(), Clock::now() + kRoomLook);
    return;
  }
  deadline_ = work_deadline();
  exchange.body_in_use = true;
  io_.submit(
      {exchange.jpeg, exchange.options, exchange.stop.get_token(), peer_.client, nullptr,
       [kept = exchange_](Result<Resized> result) { answer_picture(*kept, std::move(result)); }});
}

HttpRequest::Clock::time_point HttpRequest::work_deadline() const noexcept {
  return exchange_->received + Milliseconds(io_.settings().request_timeout_ms);
}

}  // namespace framewire::service::http
