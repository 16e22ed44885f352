#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <new>
#include <service/http/guarded.hpp>
#include <service/http/http2_connection.hpp>
#include <service/http/io_thread.hpp>
#include <service/http/pace.hpp>
#include <utility>

namespace framewire::service::http {
namespace {

using Milliseconds = std::chrono::milliseconds;

// Grows where a read fills it.
constexpr std::size_t kFirstInputBytes = 4096;
// As much as a record of TLS brings.
constexpr std::size_t kMaxInputBytes = 16u << 10;
// A block of fields may become so much longer than a head may be, and is still answered: 431.
constexpr std::size_t kFloodFactor = 4;
constexpr std::array<std::uint8_t, 8> kDrainPing = {'f', 'w', ' ', 'd', 'r', 'a', 'i', 'n'};
// RFC 9113 6.5.2: what a field counts besides its bytes.
constexpr std::size_t kFieldBytes = 32;

}  // namespace

Http2Connection::Http2Connection(Connection& before, SocketStream stream)
    : Connection(InPlaceOf{before}), stream_(std::move(stream)), meter_(Clock::now()) {}

Http2Connection::~Http2Connection() = default;

void Http2Connection::start() {
  idle_deadline_ = Clock::now() + Milliseconds(io_.settings().read_timeout_ms);
  begin_session();
  if (io_.shared().draining.load()) drain();
  pump();
  read_more();
}

void Http2Connection::read_more() {
  if (state_ == State::kClosed) return;
  if (input_ == nullptr) {
    input_bytes_ = kFirstInputBytes;
    input_ = std::make_unique_for_overwrite<char[]>(input_bytes_);
  }
  stream_.async_read_some({input_.get(), input_bytes_},
                          guarded([this](const boost::system::error_code& error,
                                         std::size_t bytes) { on_read(error, bytes); }));
}

void Http2Connection::on_read(const boost::system::error_code& error, std::size_t bytes) {
  if (state_ == State::kClosed) return;
  if (error) {
    give_up_streams();
    close();
    return;
  }
  if (state_ == State::kOpen) {
    feed({input_.get(), bytes});
    pump();
  }
  if (bytes == input_bytes_ && input_bytes_ < kMaxInputBytes) {
    input_bytes_ = kMaxInputBytes;
    input_ = std::make_unique_for_overwrite<char[]>(input_bytes_);
  }
  read_more();
}

void Http2Connection::feed(std::string_view bytes) {
  if (ended_) return;
  const auto now = Clock::now();
  const bool was_in_head = meter_.in_head();
  const std::uint64_t heads = meter_.heads();
  if (!meter_.feed(bytes, now)) {
    end_flood();
    return;
  }
  if (!was_in_head || meter_.heads() != heads) {
    head_deadline_ = now + Milliseconds(io_.settings().read_timeout_ms);
  }
  const auto done = nghttp2_session_mem_recv(
      session(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (done >= 0) return;
  // No HTTP/2 at all, or memory ran out: nothing more can be said.
  if (done == NGHTTP2_ERR_FLOODED) io_.shared().metrics.http2_floods.add();
  give_up_streams();
  close();
}

void Http2Connection::end_flood() noexcept {
  if (ended_) return;
  io_.shared().metrics.http2_floods.add();
  end_session(NGHTTP2_ENHANCE_YOUR_CALM);
}

// Nothing that comes is read any more, and nothing is answered.
void Http2Connection::end_session(std::uint32_t error_code) noexcept {
  if (std::exchange(ended_, true)) return;
  idle_deadline_ = Clock::now() + kLinger;
  if (nghttp2_session_terminate_session(session(), error_code) != 0) close();
}

bool Http2Connection::take_head(std::size_t bytes) noexcept {
  const std::uint64_t bound = kMaxHeads * io_.settings().max_header_bytes;
  if (head_bytes_ + bytes > bound || unsent_bytes_ > kMaxUnsentBytes) return false;
  head_bytes_ += bytes;
  return true;
}

void Http2Connection::begin_stream(std::int32_t id) {
  Http2Stream& stream = streams_.emplace_back(*this, id);
  stream.place = std::prev(streams_.end());
  field_bytes_ = 0;
  (void)nghttp2_session_set_stream_user_data(session(), id, &stream);
}

// @return false where a few bytes have become so many that the connection ends
bool Http2Connection::take_field_bytes(std::size_t bytes) noexcept {
  field_bytes_ += bytes + kFieldBytes;
  if (field_bytes_ <= kFloodFactor * io_.settings().max_header_bytes) return true;
  end_flood();
  return false;
}

// The client has had a stream reset, which costs as much as when it does so itself.
void Http2Connection::count_reset() noexcept {
  if (!meter_.spend(Clock::now())) end_flood();
}

// A stream without a request has only been dropping its body.
bool Http2Connection::between_requests() const noexcept {
  return std::none_of(streams_.begin(), streams_.end(),
                      [](const Http2Stream& stream) { return stream.has_request(); });
}

// Where the answer has gone out whole, on_written() tells of it.
void Http2Connection::end_stream(Http2Stream& stream) noexcept {
  head_bytes_ -= stream.head_bytes();
  unsent_bytes_ -= stream.unsent().size();
  if (stream.is_sent_whole() && stream.has_request()) {
    sent_.splice(sent_.end(), streams_, stream.place);
  } else {
    stream.give_up();
    streams_.erase(stream.place);
  }
  if (streams_.empty()) {
    idle_deadline_ = Clock::now() + Milliseconds(io_.settings().keep_alive_timeout_ms);
  }
}

void Http2Connection::answer(Exchange& exchange, Response response) {
  if (state_ != State::kOpen) return;
  auto* const stream = static_cast<Http2Stream*>(
      nghttp2_session_get_stream_user_data(session(), exchange.stream_id));
  if (stream == nullptr) return;
  stream->answer(exchange, std::move(response));
  pump();
}

void Http2Connection::fail(Exchange& exchange) noexcept {
  if (state_ != State::kOpen) return;
  auto* const stream = static_cast<Http2Stream*>(
      nghttp2_session_get_stream_user_data(session(), exchange.stream_id));
  if (stream == nullptr || exchange.answered) return;
  stream->reset(NGHTTP2_INTERNAL_ERROR);
  pump();
}

Http2Connection::Clock::time_point Http2Connection::deadline() const noexcept {
  if (state_ != State::kOpen || ended_) return idle_deadline_;
  auto first =
      std::min(drain_deadline_, streams_.empty() ? idle_deadline_ : Clock::time_point::max());
  if (writing_) first = std::min(first, write_deadline_);
  if (meter_.in_head()) first = std::min(first, head_deadline_);
  for (const Http2Stream& stream : streams_) first = std::min(first, stream.deadline());
  return first;
}

void Http2Connection::tick(Clock::time_point now) {
  if (now < deadline()) return;
  if (state_ != State::kOpen || ended_ || (writing_ && now >= write_deadline_)) {
    give_up_streams();
    close();
    return;
  }
  for (Http2Stream& stream : streams_) stream.tick(now);
  if (state_ != State::kOpen) return;
  if (now >= drain_deadline_) end_drain();
  if (meter_.in_head() && now >= head_deadline_) {
    end_session(NGHTTP2_ENHANCE_YOUR_CALM);
  } else if (streams_.empty() && now >= idle_deadline_) {
    end_session(NGHTTP2_NO_ERROR);
  }
  pump();
}

std::optional<double> Http2Connection::slowest(ClientAdmission::GivesWay of,
                                               Clock::time_point now) noexcept {
  std::optional<double> least;
  for (const Http2Stream& stream : streams_) {
    const auto pace = stream.pace(of, now);
    if (pace && (!least || *pace < *least)) least = pace;
  }
  return state_ == State::kOpen ? least : std::nullopt;
}

void Http2Connection::give_way(ClientAdmission::GivesWay of, Clock::time_point now) {
  const auto least = slowest(of, now);
  if (!least) return;
  const auto found = std::find_if(streams_.begin(), streams_.end(), [&](const Http2Stream& stream) {
    return stream.pace(of, now) == least;
  });
  if (found != streams_.end()) found->give_way();
  pump();
}

void Http2Connection::drain() {
  if (state_ != State::kOpen || std::exchange(draining_, true)) return;
  drain_deadline_ = Clock::now() + kDrainGrace;
  for (Http2Stream& stream : streams_) stream.hurry();
  // RFC 9113 6.8: what is on its way is answered; only then a last number is named.
  // A client answers the ping behind the notice once it has read both: until then, or for
  // kDrainGrace, more may come.
  (void)nghttp2_submit_shutdown_notice(session());
  pump();
}

// Not before the notice has gone out: nghttp2 sends pings before all that waits.
void Http2Connection::notice_sent() noexcept {
  (void)nghttp2_submit_ping(session(), NGHTTP2_FLAG_NONE, kDrainPing.data());
}

void Http2Connection::ping_answered(std::span<const std::uint8_t, 8> data) noexcept {
  if (draining_ && std::ranges::equal(data, kDrainPing)) notice_was_read_ = true;
}

// From now on requests are ignored, and the client has been told so; those under way are answered.
void Http2Connection::end_drain() noexcept {
  drain_deadline_ = Clock::time_point::max();
  const int result = nghttp2_submit_goaway(session(), NGHTTP2_FLAG_NONE,
                                           nghttp2_session_get_last_proc_stream_id(session()),
                                           NGHTTP2_NO_ERROR, nullptr, 0);
  if (result != 0) close();
}

void Http2Connection::give_up_streams(std::string_view message) noexcept {
  for (Http2Stream& stream : streams_) stream.give_up(message);
}

bool Http2Connection::is_in_work() const noexcept {
  return !writing_ && std::any_of(streams_.begin(), streams_.end(),
                                  [](const Http2Stream& stream) { return stream.is_in_work(); });
}

void Http2Connection::displace() noexcept {
  if (state_ == State::kClosed) return;
  give_up_streams(kDisplaced);
  close();
}

void Http2Connection::linger() {
  give_up_streams();
  streams_.clear();
  if (!stream_.end_sending()) {
    close();
    return;
  }
  state_ = State::kLingering;
  idle_deadline_ = Clock::now() + kLinger;
}

void Http2Connection::close() noexcept {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  for (Http2Stream& stream : streams_) stream.abandon();
  stream_.close();
  io_.forget(*this);
}

}  // namespace framewire::service::http
