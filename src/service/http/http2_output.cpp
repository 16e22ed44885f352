// How a connection of HTTP/2 sends: frames of all streams together, a record of TLS at a time.
#include <algorithm>
#include <service/http/guarded.hpp>
#include <service/http/http2_connection.hpp>
#include <service/http/io_thread.hpp>
#include <service/http/pace.hpp>
#include <service/http/tls_session.hpp>
#include <utility>

namespace framewire::service::http {
namespace {

using Milliseconds = std::chrono::milliseconds;

constexpr std::size_t kHeaderBytes = 9;
// A frame of answers is not made shorter than this to fill a record.
constexpr std::size_t kMinFrameBytes = 1024;
// Where the client takes frames longer than a record. With them each stream has so much in turn.
constexpr std::size_t kMaxFrameBytes = 64u << 10;

}  // namespace

void Http2Connection::pump() noexcept {
  if (state_ != State::kOpen || writing_) return;
  try {
    collect();
    if (state_ != State::kOpen) return;
    if (notice_was_read_ && streams_.empty() && drain_deadline_ != Clock::time_point::max()) {
      end_drain();
      collect();
    }
    if (!output_.empty()) {
      write();
    } else if (nghttp2_session_want_read(session()) == 0 &&
               nghttp2_session_want_write(session()) == 0) {
      linger();
    }
  } catch (...) {  // memory ran out with half a frame in hand
    close();
  }
}

// Takes frames until there are enough for a turn, or a picture is to be sent from where it lies.
void Http2Connection::collect() {
  while (state_ == State::kOpen && output_.size() < kTlsTurnBytes && direct_.empty()) {
    const std::uint8_t* bytes = nullptr;
    const auto count = nghttp2_session_mem_send(session(), &bytes);
    if (count < 0) close();
    if (count <= 0) return;
    output_.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count));
  }
}

void Http2Connection::write() {
  write_deadline_ =
      Clock::now() + Milliseconds(io_.settings().write_timeout_ms +
                                  (output_.size() + direct_.size()) * 1000 / kMinBytesPerSecond);
  writing_ = true;
  written_bytes_ += output_.size() + direct_.size();
  stream_.async_write_tls(
      std::exchange(output_, {}), direct_,
      guarded([this](const boost::system::error_code& error, std::size_t) { on_written(error); }));
}

void Http2Connection::on_written(const boost::system::error_code& error) {
  writing_ = false;
  direct_ = {};
  kept_.reset();
  for (Http2Stream& stream : sent_) {
    stream.log_answer(error.failed());
    if (!error) count_answer();
  }
  sent_.clear();
  for (Http2Stream& stream : streams_) {
    if (!stream.is_sent_whole() || !stream.has_request()) continue;
    stream.log_answer(error.failed());
    if (!error) count_answer();
    head_bytes_ -= stream.forget_request();
  }
  if (state_ == State::kClosed) return;
  if (error) {
    give_up_streams();
    close();
    return;
  }
  pump();
}

// How much of an answer the next frame holds: what is left of a record.
std::size_t Http2Connection::frame_bytes(std::size_t window_bytes,
                                         std::size_t max_frame_bytes) const noexcept {
  std::size_t left = kTlsRecordBytes - (output_.size() + kHeaderBytes) % kTlsRecordBytes;
  if (left < kMinFrameBytes) left += kTlsRecordBytes;
  if (max_frame_bytes >= kMaxFrameBytes) left += kMaxFrameBytes - kTlsRecordBytes;
  return std::min({left, window_bytes, max_frame_bytes});
}

// The only copy of an answer: header and bytes have to lie together to become one record. What goes
// beyond a record is encrypted from where it lies.
// Nothing may follow it in `output_` then: nghttp2 is told to pause, and collect() takes no more.
Http2Connection::DataSent Http2Connection::send_data(Http2Stream& stream, std::string_view header,
                                                     std::size_t bytes) {
  const auto unsent = stream.unsent();
  const std::string_view data(reinterpret_cast<const char*>(unsent.data()), bytes);
  const std::size_t of_record = kTlsRecordBytes - (output_.size() + kHeaderBytes) % kTlsRecordBytes;
  const bool stays = stream.keeper() != nullptr && bytes > kTlsRecordBytes;
  const std::size_t copied = stays ? std::min(bytes, of_record) : bytes;
  const bool has_room = output_.empty() || output_.size() + kHeaderBytes + copied <= kTlsTurnBytes;
  if (!direct_.empty() || !has_room) return DataSent::kNothing;
  // Reserved first, so that no half of a frame stays where memory runs out. Where more frames of it
  // follow there is one allocation for the turn.
  const std::size_t needed = output_.size() + kHeaderBytes + copied;
  output_.reserve(!stays && unsent.size() > bytes ? std::max(needed, kTlsTurnBytes) : needed);
  output_.append(header);
  output_.append(data.substr(0, copied));
  if (copied < bytes) {
    direct_ = data.substr(copied);
    kept_ = stream.keeper();
  }
  stream.sent(bytes, written_bytes_ + output_.size() + direct_.size());
  meter_.data_sent();
  return direct_.empty() ? DataSent::kFrame : DataSent::kEndOfTurn;
}

}  // namespace framewire::service::http
