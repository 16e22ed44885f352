// How a connection reads bodies: straight into memory that the engine reads from.
#include <fmt/format.h>
#include <boost/asio/buffer.hpp>
#include <cstring>
#include <service/http/actions.hpp>
#include <service/http/connection.hpp>
#include <service/http/frame_size.hpp>
#include <service/http/guarded.hpp>
#include <service/http/io_thread.hpp>

namespace framewire::service::http {
namespace {

namespace asio = boost::asio;

using Milliseconds = std::chrono::milliseconds;

// Whoever sends more slowly than this for long is cut off.
constexpr std::uint64_t kMinBytesPerSecond = 128u << 10;
// Engine memory comes in blocks that many bodies share, and one slow body keeps a whole block.
// What has not come by then goes on in memory of its own.
constexpr Milliseconds kEngineMemoryTime{500};
constexpr std::size_t kFirstChunkedBytes = 64u << 10;
// Four pixels a byte are common for photographs; the frame header tells the truth later.
constexpr std::uint64_t kPixelsPerByte = 4;

// Memory of the connection's own.
void take_memory(Body& body, std::size_t bytes) {
  const std::shared_ptr<std::uint8_t[]> memory(new std::uint8_t[bytes]);
  if (body.filled_bytes != 0) std::memcpy(memory.get(), body.room.data(), body.filled_bytes);
  body.room = {memory.get(), bytes};
  body.keeper = memory;
  body.engine_memory = false;
}

}  // namespace

void Connection::begin_body() {
  const Settings& settings = io_.shared().settings;
  if (auto refused = check_upload(*exchange_, settings.defaults)) {
    respond(std::move(*refused));
    return;
  }
  if (!reserve_body()) return;
  state_ = State::kBody;
  const std::uint64_t length = exchange_->head.content_length.value_or(0);
  const auto now = Clock::now();
  body_deadline_ =
      now + Milliseconds(settings.read_timeout_ms + length * 1000 / kMinBytesPerSecond);
  deadline_ = exchange_->body.engine_memory ? std::min(body_deadline_, now + kEngineMemoryTime)
                                            : body_deadline_;
  continue_client();
  feed_body();
}

// Admits the request and takes memory for its body. @return false where it has been answered
bool Connection::reserve_body() {
  Exchange& exchange = *exchange_;
  SharedState& shared = io_.shared();
  const bool chunked = exchange.head.chunked;
  const std::size_t bytes =
      chunked ? kFirstChunkedBytes : static_cast<std::size_t>(*exchange.head.content_length);
  const auto verdict =
      shared.admission.admit(peer_.client, bytes, bytes * kPixelsPerByte, exchange.ticket);
  if (verdict != Admission::Verdict::kAdmitted) {
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

// Nothing is being written now, so that these bytes find room; a client that does not get them
// sends its body after a while.
void Connection::continue_client() {
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  if (!exchange_->head.expects_continue || input_.size() != 0) return;
  (void)::send(socket_.native_handle(), kContinue.data(), kContinue.size(),
               MSG_DONTWAIT | MSG_NOSIGNAL);
}

void Connection::feed_body() {
  if (exchange_->head.chunked) {
    feed_chunks();
  } else {
    feed_length();
  }
}

void Connection::feed_length() {
  Body& body = exchange_->body;
  const std::string_view text = input_.view();
  const std::size_t take = std::min(text.size(), body.room.size() - body.filled_bytes);
  if (take != 0) std::memcpy(body.room.data() + body.filled_bytes, text.data(), take);
  input_.consume(take);
  body.filled_bytes += take;
  if (body.filled_bytes == body.room.size()) {
    on_body();
  } else if (!reading_) {
    read_body();
  }
}

void Connection::read_body() {
  Body& body = exchange_->body;
  const auto room = body.room.subspan(body.filled_bytes);
  // The handler keeps the memory, whatever becomes of the request meanwhile.
  socket_.async_read_some(
      asio::buffer(room.data(), room.size()),
      guarded([this, exchange = exchange_](const boost::system::error_code& error,
                                           std::size_t bytes) { on_body_read(error, bytes); }));
  reading_ = true;
}

void Connection::on_body_read(const boost::system::error_code& error, std::size_t bytes) {
  if (state_ != State::kBody) {  // answered meanwhile; the rest of the body is of no interest
    reading_ = false;
    if (state_ == State::kLingering) read_more();
    return;
  }
  reading_ = false;
  Body& body = exchange_->body;
  body.filled_bytes += bytes;
  const bool cancelled_by_us = relocating_ && error == asio::error::operation_aborted;
  if (error && !cancelled_by_us) {
    on_input_end(error);
    return;
  }
  if (body.filled_bytes == body.room.size()) {
    relocating_ = false;
    on_body();
    return;
  }
  if (relocating_) {
    relocating_ = false;
    take_memory(body, body.room.size());
  }
  read_body();
}

// The body has been slow to come. @see kEngineMemoryTime
void Connection::leave_engine_memory() {
  deadline_ = body_deadline_;
  if (reading_) {
    relocating_ = true;
    boost::system::error_code ignored;
    socket_.cancel(ignored);
  }
}

// Makes room for more of a chunked body. @return false where it has been answered
bool Connection::grow_body(std::size_t bytes) {
  Exchange& exchange = *exchange_;
  Body& body = exchange.body;
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
  const auto verdict =
      io_.shared().admission.change(exchange.ticket, larger, larger * kPixelsPerByte);
  if (verdict != Admission::Verdict::kAdmitted) {
    Response response = refuse_admission(exchange.error_form, verdict);
    response.close = true;
    respond(std::move(response));
    return false;
  }
  take_memory(body, larger);
  // More has come than was known of; so more time is due.
  body_deadline_ = exchange.begun + Milliseconds(io_.shared().settings.read_timeout_ms +
                                                 needed * 1000 / kMinBytesPerSecond);
  deadline_ = body_deadline_;
  return true;
}

void Connection::feed_chunks() {
  Body& body = exchange_->body;
  while (true) {
    const auto step = body.chunks.step(input_.view());
    if (!step) {
      Response response =
          error_response(exchange_->error_form, Code::kBadRequest, "invalid_input", step.error());
      response.close = true;
      respond(std::move(response));
      return;
    }
    if (!step->data.empty()) {
      if (!grow_body(step->data.size())) return;
      std::memcpy(body.room.data() + body.filled_bytes, step->data.data(), step->data.size());
      body.filled_bytes += step->data.size();
    }
    input_.consume(step->consumed);
    if (step->ended) {
      on_body();
      return;
    }
    if (step->consumed == 0) break;
  }
  read_more();
}

// The body has come whole.
void Connection::on_body() {
  Exchange& exchange = *exchange_;
  exchange.received = Clock::now();
  state_ = State::kWorking;
  deadline_ = exchange.received + Milliseconds(io_.shared().settings.request_timeout_ms);
  if (auto refused = read_upload(exchange)) {
    respond(std::move(*refused));
    return;
  }
  if (exchange.action == Action::kInspect) {
    const bool taken = io_.shared().run_aside([exchange = exchange_, &io = io_] {
      Response response = inspect_picture(*exchange);
      const auto shared = std::make_shared<Response>(std::move(response));
      (void)io.post([exchange, shared] {
        if (const auto connection = exchange->connection.lock()) {
          connection->answer(*exchange, std::move(*shared));
        }
      });
    });
    if (!taken) throw std::bad_alloc();
  } else {
    const std::uint64_t pixels = count_frame_pixels(exchange.jpeg);
    const auto verdict =
        io_.shared().admission.change(exchange.ticket, exchange.body.room.size(), pixels);
    if (verdict != Admission::Verdict::kAdmitted) {
      respond(refuse_admission(exchange.error_form, verdict));
      return;
    }
    io_.submit(
        {exchange.jpeg, exchange.options, exchange.stop.get_token(),
         [kept = exchange_](Result<Resized> result) { answer_picture(*kept, std::move(result)); }});
  }
  // From now on a read waits for the client to vanish, or for its next request.
  read_more();
}

}  // namespace framewire::service::http
