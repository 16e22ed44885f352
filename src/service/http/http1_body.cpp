// How a connection of HTTP/1.1 reads bodies.
#include <boost/asio/error.hpp>
#include <cstring>
#include <service/http/guarded.hpp>
#include <service/http/http1_connection.hpp>

namespace framewire::service::http {

namespace asio = boost::asio;

void Http1Connection::expect_body() {
  continue_client();
  if (expects_body()) feed_body();
}

// Nothing is being written now, so that these bytes find room; a client that does not get them
// sends its body after a while.
void Http1Connection::continue_client() {
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  if (!request_->exchange().head.expects_continue || input_.size() != 0) return;
  if (!stream_.write_now(kContinue)) close();
}

void Http1Connection::feed_body() {
  if (request_->exchange().head.chunked) {
    feed_chunks();
  } else {
    feed_length();
  }
}

void Http1Connection::feed_length() {
  RequestBody& body = request_->body();
  const std::string_view text = input_.view();
  const std::size_t take = std::min(text.size(), body.room.size() - body.filled_bytes);
  if (take != 0) std::memcpy(body.room.data() + body.filled_bytes, text.data(), take);
  input_.consume(take);
  body.filled_bytes += take;
  if (body.filled_bytes == body.room.size()) {
    request_->end_body();
  } else if (!reading_) {
    read_body();
  }
}

void Http1Connection::read_body() {
  RequestBody& body = request_->body();
  const auto room = body.room.subspan(body.filled_bytes);
  // The handler keeps the memory, whatever becomes of the request meanwhile.
  stream_.async_read_some({reinterpret_cast<char*>(room.data()), room.size()},
                          guarded([this, exchange = request_->shared_exchange()](
                                      const boost::system::error_code& error, std::size_t bytes) {
                            on_body_read(error, bytes);
                          }));
  reading_ = true;
}

void Http1Connection::on_body_read(const boost::system::error_code& error, std::size_t bytes) {
  reading_ = false;
  if (!expects_body()) {  // answered meanwhile; the rest of the body is of no interest
    if (state_ == State::kLingering) read_more();
    return;
  }
  RequestBody& body = request_->body();
  body.filled_bytes += bytes;
  const bool cancelled_by_us = relocating_ && error == asio::error::operation_aborted;
  if (error && !cancelled_by_us) {
    on_input_end(error);
    return;
  }
  if (body.filled_bytes == body.room.size()) {
    relocating_ = false;
    request_->end_body();
    return;
  }
  if (relocating_) {
    relocating_ = false;
    request_->move_body();
  }
  read_body();
}

void Http1Connection::expect_move() {
  if (!reading_) return;
  relocating_ = true;
  stream_.cancel_read();
}

void Http1Connection::feed_chunks() {
  while (true) {
    const auto step = request_->body().chunks.step(input_.view());
    if (!step) {
      request_->refuse_body(step.error());
      return;
    }
    if (!request_->append(step->data)) return;
    input_.consume(step->consumed);
    if (step->ended) {
      request_->end_body();
      return;
    }
    if (step->consumed == 0) break;
  }
  read_more();
}

}  // namespace framewire::service::http
