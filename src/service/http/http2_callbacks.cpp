// What nghttp2 tells a connection. No exception leaves these functions: C is between them and us.
#include <algorithm>
#include <iterator>
#include <new>
#include <service/http/http2_connection.hpp>
#include <service/http/io_thread.hpp>

namespace framewire::service::http {

/// One function for each event; the last argument is the connection.
struct Http2Callbacks {
  static Http2Connection& connection_of(void* user_data) noexcept {
    return *static_cast<Http2Connection*>(user_data);
  }
  /// @return null where it has ended
  static Http2Stream* stream_of(nghttp2_session* session, std::int32_t id) noexcept {
    return static_cast<Http2Stream*>(nghttp2_session_get_stream_user_data(session, id));
  }
  static bool is_request(const nghttp2_frame* frame) noexcept {
    return frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST;
  }
  static bool has_ended(const nghttp2_frame* frame) noexcept {
    return (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  }

  static int begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* user_data) {
    Http2Connection& connection = connection_of(user_data);
    if (connection.state_ != Http2Connection::State::kOpen) return NGHTTP2_ERR_CALLBACK_FAILURE;
    connection.field_bytes_ = 0;
    if (!is_request(frame)) return 0;
    try {
      connection.begin_stream(frame->hd.stream_id);
      return 0;
    } catch (const std::bad_alloc&) {
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
  }

  static int header(nghttp2_session* session, const nghttp2_frame* frame, const std::uint8_t* name,
                    std::size_t name_bytes, const std::uint8_t* value, std::size_t value_bytes,
                    std::uint8_t, void* user_data) {
    if (!connection_of(user_data).take_field_bytes(name_bytes + value_bytes)) {
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    Http2Stream* const stream = stream_of(session, frame->hd.stream_id);
    // Trailers say nothing that anybody here asks for.
    if (stream == nullptr || !is_request(frame)) return 0;
    try {
      stream->add_field({reinterpret_cast<const char*>(name), name_bytes},
                        {reinterpret_cast<const char*>(value), value_bytes});
      return 0;
    } catch (const std::bad_alloc&) {
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
  }

  // nghttp2 would leave such a field out. RFC 9113 8.2.1: the request is malformed.
  static int invalid_header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t*,
                            std::size_t, const std::uint8_t*, std::size_t, std::uint8_t, void*) {
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }

  static int frame_received(nghttp2_session* session, const nghttp2_frame* frame, void* user_data) {
    if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) {
      connection_of(user_data).ping_answered(std::span(frame->ping.opaque_data));
    }
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    Http2Stream* const stream = stream_of(session, frame->hd.stream_id);
    if (stream == nullptr) return 0;
    if (is_request(frame)) {
      stream->begin(has_ended(frame));
      return 0;
    }
    if (frame->hd.type == NGHTTP2_DATA && frame->data.padlen != 0) {
      stream->take_padding(frame->data.padlen);
    }
    if (has_ended(frame)) stream->end_body();
    return 0;
  }

  static int data_received(nghttp2_session* session, std::uint8_t, std::int32_t id,
                           const std::uint8_t* data, std::size_t bytes, void*) {
    // Whatever comes is taken in, or thrown away, at once: the connection's window is always open.
    const int result = nghttp2_session_consume_connection(session, bytes);
    if (nghttp2_is_fatal(result) != 0) return NGHTTP2_ERR_CALLBACK_FAILURE;
    Http2Stream* const stream = stream_of(session, id);
    if (stream != nullptr) stream->take_body({reinterpret_cast<const char*>(data), bytes});
    return 0;
  }

  static int frame_sent(nghttp2_session* session, const nghttp2_frame* frame, void* user_data) {
    if (frame->hd.type == NGHTTP2_RST_STREAM && frame->rst_stream.error_code != NGHTTP2_NO_ERROR) {
      connection_of(user_data).count_reset();
    }
    constexpr std::int32_t kNoLastStream = 0x7FFFFFFF;
    if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.last_stream_id == kNoLastStream) {
      connection_of(user_data).notice_sent();
    }
    const bool of_answer = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (!of_answer || !has_ended(frame)) return 0;
    Http2Stream* const stream = stream_of(session, frame->hd.stream_id);
    if (stream != nullptr) stream->sent_whole();
    return 0;
  }

  static int stream_closed(nghttp2_session* session, std::int32_t id, std::uint32_t,
                           void* user_data) {
    Http2Stream* const stream = stream_of(session, id);
    if (stream != nullptr) connection_of(user_data).end_stream(*stream);
    return 0;
  }

  static ssize_t read_length(nghttp2_session*, std::uint8_t, std::int32_t,
                             std::int32_t connection_window, std::int32_t stream_window,
                             std::uint32_t max_frame_bytes, void* user_data) {
    const auto window = static_cast<std::size_t>(std::min(connection_window, stream_window));
    return static_cast<ssize_t>(connection_of(user_data).frame_bytes(window, max_frame_bytes));
  }

  static int send_data(nghttp2_session*, nghttp2_frame*, const std::uint8_t* header,
                       std::size_t bytes, nghttp2_data_source* source, void* user_data) {
    try {
      switch (connection_of(user_data).send_data(*static_cast<Http2Stream*>(source->ptr),
                                                 {reinterpret_cast<const char*>(header), 9},
                                                 bytes)) {
        case Http2Connection::DataSent::kNothing:
          return NGHTTP2_ERR_WOULDBLOCK;
        case Http2Connection::DataSent::kFrame:
          return 0;
        case Http2Connection::DataSent::kEndOfTurn:
          return NGHTTP2_ERR_PAUSE;  // counts as sent; nghttp2_session_mem_send() returns
      }
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    } catch (const std::bad_alloc&) {
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
  }
};

namespace {

constexpr std::size_t kMaxSettingsOfAFrame = 32;
// Bodies are taken in at once. How fast one may come is this by the time of a round trip.
constexpr std::int32_t kConnectionWindowBytes = 16 << 20;

struct FreeHttp2 {
  void operator()(nghttp2_session_callbacks* made) const noexcept {
    nghttp2_session_callbacks_del(made);
  }
  void operator()(nghttp2_option* made) const noexcept { nghttp2_option_del(made); }
};
using Callbacks = std::unique_ptr<nghttp2_session_callbacks, FreeHttp2>;
using Http2Options = std::unique_ptr<nghttp2_option, FreeHttp2>;

// Sessions copy them. Throws std::bad_alloc.
const nghttp2_session_callbacks* callbacks() {
  static const Callbacks made = [] {
    nghttp2_session_callbacks* all = nullptr;
    if (nghttp2_session_callbacks_new(&all) != 0) throw std::bad_alloc();
    using C = Http2Callbacks;
    nghttp2_session_callbacks_set_on_begin_headers_callback(all, C::begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(all, C::header);
    nghttp2_session_callbacks_set_on_invalid_header_callback(all, C::invalid_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(all, C::frame_received);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(all, C::data_received);
    nghttp2_session_callbacks_set_on_frame_send_callback(all, C::frame_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(all, C::stream_closed);
    nghttp2_session_callbacks_set_data_source_read_length_callback(all, C::read_length);
    nghttp2_session_callbacks_set_send_data_callback(all, C::send_data);
    return Callbacks(all);
  }();
  return made.get();
}

const nghttp2_option* options() {
  static const Http2Options made = [] {
    nghttp2_option* all = nullptr;
    if (nghttp2_option_new(&all) != 0) throw std::bad_alloc();
    nghttp2_option_set_no_auto_window_update(all, 1);
    nghttp2_option_set_no_closed_streams(all, 1);
    nghttp2_option_set_max_settings(all, kMaxSettingsOfAFrame);
    return Http2Options(all);
  }();
  return made.get();
}

}  // namespace

void Http2Connection::begin_session() {
  if (nghttp2_session_server_new3(&session_, callbacks(), this, options(), memory_.functions()) !=
      0) {
    throw std::bad_alloc();
  }
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kMaxStreams},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
       static_cast<std::uint32_t>(io_.settings().max_header_bytes)},
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
  };
  const bool good =
      nghttp2_submit_settings(session(), NGHTTP2_FLAG_NONE, settings, std::size(settings)) == 0 &&
      nghttp2_session_set_local_window_size(session(), NGHTTP2_FLAG_NONE, 0,
                                            kConnectionWindowBytes) == 0;
  if (!good) throw std::bad_alloc();
}

}  // namespace framewire::service::http
