#include <nghttp2/nghttp2.h>
#include <algorithm>
#include <cstring>
#include <new>
#include <service/http/http2_connection.hpp>
#include <service/http/http2_stream.hpp>
#include <service/http/io_thread.hpp>
#include <utility>
#include <vector>

namespace framewire::service::http {
namespace {

using Milliseconds = std::chrono::milliseconds;

// Windows have 31 bits. Bodies that are longer get the rest as they come.
constexpr std::uint64_t kMaxWindowBytes = 1u << 30;
constexpr std::uint64_t kMinGrantBytes = 1u << 20;
// A body that nobody reads is dropped as it comes, up to this many bytes and for this long. It
// takes no memory, and no more work than a body that is read and turns out to be no picture.
constexpr std::uint32_t kMaxDroppedBytes = 256u << 20;
constexpr Milliseconds kDroppingTime{60'000};

nghttp2_nv field_of(std::string_view name, std::string_view value, bool changes) {
  // nghttp2 copies both, and writes to neither.
  const auto bytes = [](std::string_view text) {
    return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
  };
  const auto flags =
      static_cast<std::uint8_t>(changes ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE);
  return {bytes(name), bytes(value), name.size(), value.size(), flags};
}

// Looks at the result of a call that fails for want of memory, or since the stream has ended.
void check(int result) {
  if (result == NGHTTP2_ERR_NOMEM) throw std::bad_alloc();
}

// Frames are written by Http2Connection::send_data(): nothing is copied here.
ssize_t read_answer(nghttp2_session*, std::int32_t, std::uint8_t*, std::size_t length,
                    std::uint32_t* flags, nghttp2_data_source* source, void*) {
  const auto unsent = static_cast<const Http2Stream*>(source->ptr)->unsent();
  const std::size_t bytes = std::min(length, unsent.size());
  *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
  if (bytes == unsent.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return static_cast<ssize_t>(bytes);
}

}  // namespace

Http2Stream::Http2Stream(Http2Connection& connection, std::int32_t id)
    : connection_(connection), id_(id), head_(head_bounds(connection.io().settings())) {}

template <typename Function>
void Http2Stream::guarded(Function function) noexcept {
  try {
    function();
    return;
  } catch (...) {  // memory ran out
  }
  try {
    if (request_ && !submitted_) {
      request_->respond_busy();
      return;
    }
  } catch (...) {  // not even for an answer
  }
  reset(NGHTTP2_INTERNAL_ERROR);
}

void Http2Stream::add_field(std::string_view name, std::string_view value) {
  if (head_) head_->add(name, value);
}

void Http2Stream::begin(bool ended) noexcept {
  body_ended_ = ended;
  guarded([&] {
    auto text = head_->text(ended);
    head_.reset();
    request_.emplace(connection_.io(), connection_.peer(), static_cast<Carrier&>(*this),
                     connection_.weak_from_this());
    request_->shared_exchange()->stream_id = id_;
    connection_.io().shared().metrics.http2_requests.add();
    if (!text) {
      request_->refuse(text.error());
    } else {
      const bool has_room = connection_.take_head(text->size());
      if (has_room) head_bytes_ = text->size();
      request_->begin(std::move(*text), has_room);
    }
    if (ended && in_state(HttpRequest::State::kBody)) request_->end_body();
  });
}

void Http2Stream::expect_body() {
  continue_client();
  grant_window();
}

void Http2Stream::continue_client() {
  if (!request_->exchange().head.expects_continue) return;
  const nghttp2_nv status = field_of(":status", "100", false);
  check(nghttp2_submit_headers(connection_.session(), NGHTTP2_FLAG_NONE, id_, nullptr, &status, 1,
                               nullptr));
}

// Beyond the initial window it is what memory has been taken for, and of a body without a length
// one byte more: that one tells that there is more.
void Http2Stream::grant_window() {
  const RequestBody& body = request_->body();
  const std::uint64_t wanted = body.room.size() + (request_->exchange().head.chunked ? 1 : 0);
  if (body_ended_ || granted_bytes_ >= wanted) return;
  const std::uint64_t open =
      granted_bytes_ - std::min<std::uint64_t>(granted_bytes_, body.filled_bytes);
  const std::uint64_t grant = std::min(wanted - granted_bytes_, kMaxWindowBytes - open);
  if (grant < wanted - granted_bytes_ && grant < kMinGrantBytes) return;
  check(nghttp2_submit_window_update(connection_.session(), NGHTTP2_FLAG_NONE, id_,
                                     static_cast<std::int32_t>(grant)));
  granted_bytes_ += grant;
}

void Http2Stream::take_body(std::string_view bytes) noexcept {
  if (is_dropping()) drop(bytes.size());
  if (!in_state(HttpRequest::State::kBody)) return;  // answered already
  connection_.add_body_bytes(bytes.size());
  guarded([&] {
    if (request_->exchange().head.chunked) {
      if (!request_->append(bytes)) return;
    } else {
      RequestBody& body = request_->body();
      if (bytes.size() > body.room.size() - body.filled_bytes) {
        request_->refuse_body("the body is longer than its Content-Length");
        return;
      }
      std::memcpy(body.room.data() + body.filled_bytes, bytes.data(), bytes.size());
      body.filled_bytes += bytes.size();
    }
    grant_window();
  });
}

std::uint64_t Http2Stream::shared_body_bytes() const noexcept { return connection_.body_bytes(); }

void Http2Stream::take_padding(std::size_t bytes) noexcept {
  if (!in_state(HttpRequest::State::kBody)) return;
  guarded([&] {
    check(nghttp2_submit_window_update(connection_.session(), NGHTTP2_FLAG_NONE, id_,
                                       static_cast<std::int32_t>(bytes)));
  });
}

void Http2Stream::end_body() noexcept {
  body_ended_ = true;
  if (!in_state(HttpRequest::State::kBody)) return;
  guarded([&] {
    const RequestBody& body = request_->body();
    if (!request_->exchange().head.chunked && body.filled_bytes != body.room.size()) {
      request_->refuse_body("the body ended early");
    } else {
      request_->end_body();
    }
  });
}

void Http2Stream::answer(Exchange& exchange, Response response) noexcept {
  if (exchange.answered || !in_state(HttpRequest::State::kWorking) ||
      &exchange != &request_->exchange()) {
    return;
  }
  guarded([&] { request_->respond(std::move(response)); });
}

void Http2Stream::send_answer() {
  if (submitted_) return;
  const Exchange& exchange = request_->exchange();
  const Http2AnswerHead head(
      make_head(request_->response(), {connection_.io().date(), exchange.id}));
  std::vector<nghttp2_nv> fields;
  fields.reserve(head.lines().size());
  for (const auto& line : head.lines()) {
    fields.push_back(field_of(line.name, line.value, line.changes));
  }
  const auto body = request_->body_to_send();
  nghttp2_data_provider provider{};
  provider.source.ptr = this;
  provider.read_callback = read_answer;
  check(nghttp2_submit_response(connection_.session(), id_, fields.data(), fields.size(),
                                body.empty() ? nullptr : &provider));
  submitted_ = true;
  unsent_ = body;
  connection_.add_unsent(body.size());
  progress_.begin(body.size(), connection_.delivered_bytes());
  pace_.begin(Clock::now(), Milliseconds(connection_.io().settings().write_timeout_ms));
}

void Http2Stream::sent(std::size_t bytes, std::uint64_t end) noexcept {
  progress_.frame_ends_at(end);
  unsent_ = unsent_.subspan(bytes);
  connection_.take_unsent(bytes);
}

void Http2Stream::sent_whole() noexcept {
  sent_whole_ = true;
  if (!body_ended_) begin_dropping();
}

// RFC 9113 8.1 allows a reset with NO_ERROR at once. But there are clients that lose the answer if
// the reset comes right behind it, and others that read no answer before their body has gone out.
void Http2Stream::begin_dropping() noexcept {
  const auto now = Clock::now();
  pace_.begin(now, Milliseconds(connection_.io().settings().read_timeout_ms));
  paced_bytes_ = connection_.body_bytes();
  dropping_ends_ = now + kDroppingTime;
  if (connection_.is_draining()) hurry();
  open_for_dropping();
}

// By steps: a client that has read its answer meanwhile sends no more than one.
void Http2Stream::open_for_dropping() noexcept {
  if (dropping_window_ >= kMinGrantBytes / 2) return;
  const int result = nghttp2_submit_window_update(connection_.session(), NGHTTP2_FLAG_NONE, id_,
                                                  static_cast<std::int32_t>(kMinGrantBytes));
  if (result == NGHTTP2_ERR_NOMEM) connection_.close();
  dropping_window_ += kMinGrantBytes;
}

void Http2Stream::drop(std::size_t bytes) noexcept {
  connection_.add_body_bytes(bytes);
  dropped_bytes_ += bytes;
  dropping_window_ -= std::min<std::uint64_t>(dropping_window_, bytes);
  if (dropped_bytes_ >= kMaxDroppedBytes) {
    end_dropping();
  } else {
    open_for_dropping();
  }
}

void Http2Stream::end_dropping() noexcept {
  if (dropping_ends_ == Clock::time_point::max()) return;  // the reset is on its way
  dropping_ends_ = Clock::time_point::max();
  reset(NGHTTP2_NO_ERROR);
}

void Http2Stream::hurry() noexcept {
  if (!is_dropping() || dropping_ends_ == Clock::time_point::max()) return;
  dropping_ends_ = std::min(dropping_ends_, Clock::now() + kLinger);
}

void Http2Stream::reset(std::uint32_t error_code) noexcept {
  const int result =
      nghttp2_submit_rst_stream(connection_.session(), NGHTTP2_FLAG_NONE, id_, error_code);
  if (result == NGHTTP2_ERR_NOMEM) connection_.close();
}

void Http2Stream::tick(Clock::time_point now) noexcept {
  if (now < deadline()) return;
  if (is_dropping()) {
    // Bodies come one behind the other: what comes of another is time for this one.
    const std::uint64_t bytes = connection_.body_bytes();
    const bool late = pace_.is_late(bytes - std::exchange(paced_bytes_, bytes), now);
    if (late || now >= dropping_ends_) end_dropping();
  } else if (!submitted_) {
    guarded([&] { request_->tick(now); });
  } else if (!sent_whole_ && is_unread(now)) {
    was_unread_ = true;
    reset(NGHTTP2_CANCEL);
  }
}

std::optional<double> Http2Stream::pace(ClientAdmission::GivesWay of,
                                        Clock::time_point now) const noexcept {
  if (!request_ || sent_whole_ || was_unread_) return std::nullopt;
  if (submitted_ ? !of.answers : !of.bodies) return std::nullopt;
  if (!submitted_) return request_->body_pace(now);
  if (!of.uncharged && !request_->answer_holds_room()) return std::nullopt;
  return bytes_per_second(request_->body_to_send().size() - unsent_.size(),
                          request_->exchange().responded, now);
}

void Http2Stream::give_way() noexcept {
  if (!submitted_) {
    guarded([&] { request_->give_way(); });
  } else {
    was_unread_ = true;
    reset(NGHTTP2_CANCEL);
  }
}

bool Http2Stream::is_unread(Clock::time_point now) noexcept {
  const bool is_open =
      nghttp2_session_get_stream_remote_window_size(connection_.session(), id_) > 0;
  return pace_.is_late(progress_.take(unsent_.size(), connection_.delivered_bytes(), is_open), now);
}

Http2Stream::Clock::time_point Http2Stream::deadline() const noexcept {
  if (is_dropping() && dropping_ends_ != Clock::time_point::max()) {
    return std::min(dropping_ends_, pace_.deadline());
  }
  if (!request_ || sent_whole_ || was_unread_) return Clock::time_point::max();
  return submitted_ ? pace_.deadline() : request_->deadline();
}

void Http2Stream::give_up(std::string_view message) noexcept {
  if (!request_ || sent_whole_) return;  // the write that ends tells of its answer
  try {
    request_->give_up(Code::kClientGone, was_unread_ ? "the answer was not read" : message);
  } catch (...) {  // a line of the log less
  }
}

void Http2Stream::abandon() noexcept {
  if (request_) request_->abandon();
}

void Http2Stream::log_answer(bool failed) noexcept {
  const Response& response = request_->response();
  try {
    request_->log(failed ? Code::kClientGone : response.code,
                  failed ? 0 : request_->body_to_send().size(), response.message);
  } catch (...) {  // a line of the log less
  }
}

std::size_t Http2Stream::forget_request() noexcept {
  unsent_ = {};
  request_.reset();
  return std::exchange(head_bytes_, 0);
}

}  // namespace framewire::service::http
