#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <service/http/endpoint.hpp>
#include <tests/service/http/http2_client.hpp>

namespace framewire::service::http::test {
namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

int connect_for_http2(const Endpoint& endpoint) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(endpoint.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{kPatience.count(), 0};
  (void)::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  (void)::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  (void)::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  return fd;
}

std::uint8_t* bytes_of(const std::string& text) {
  return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
}

}  // namespace

std::uint32_t Frame::number(std::size_t at) const {
  std::uint32_t value = 0;
  for (std::size_t i = at * 4; i < at * 4 + 4 && i < payload.size(); ++i) {
    value = value << 8 | static_cast<unsigned char>(payload[i]);
  }
  return value;
}

std::string number(std::uint32_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 0xFF);
  return text;
}

std::string frame(std::uint8_t type, std::uint8_t flags, std::int32_t stream,
                  std::string_view payload) {
  std::string text = number(static_cast<std::uint32_t>(payload.size())).substr(1);
  text += static_cast<char>(type);
  text += static_cast<char>(flags);
  text += number(static_cast<std::uint32_t>(stream));
  return text.append(payload);
}

std::string settings(std::uint16_t id, std::uint32_t value) {
  return frame(NGHTTP2_SETTINGS, 0, 0, number(id).substr(2) + number(value));
}

Fields get_fields(const std::string& target, const std::string& method) {
  return {{":method", method}, {":scheme", "https"}, {":authority", "test"}, {":path", target}};
}

Fields post_fields(const std::string& target, std::size_t bytes) {
  Fields fields = get_fields(target, "POST");
  fields.emplace_back("content-type", "image/jpeg");
  fields.emplace_back("content-length", std::to_string(bytes));
  return fields;
}

Http2Client::Http2Client(const std::string& endpoint, const std::string& first)
    : fd_(connect_for_http2(parse_endpoint(endpoint).value_or(Endpoint{}))) {
  tls_ = std::make_unique<ClientTls>(fd_, ClientTlsOptions{.protocol = "h2"});
  nghttp2_hd_deflate_new(&deflater_, 4096);
  nghttp2_hd_inflate_new(&inflater_);
  if (tls_->connected()) (void)send(std::string(kPreface) + first);
}

Http2Client::~Http2Client() {
  nghttp2_hd_deflate_del(deflater_);
  nghttp2_hd_inflate_del(inflater_);
  tls_.reset();
  if (fd_ >= 0) ::close(fd_);
}

void Http2Client::reset() {
  const linger now{1, 0};
  (void)::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  ::close(fd_);
  fd_ = -1;
}

bool Http2Client::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const long sent = tls_->write(bytes);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::string Http2Client::block(const Fields& fields, bool remember) {
  std::vector<nghttp2_nv> list;
  for (const auto& [name, value] : fields) {
    const auto flags =
        static_cast<std::uint8_t>(remember ? NGHTTP2_NV_FLAG_NONE : NGHTTP2_NV_FLAG_NO_INDEX);
    list.push_back({bytes_of(name), bytes_of(value), name.size(), value.size(), flags});
  }
  std::string text(nghttp2_hd_deflate_bound(deflater_, list.data(), list.size()), '\0');
  const auto size =
      nghttp2_hd_deflate_hd(deflater_, bytes_of(text), text.size(), list.data(), list.size());
  text.resize(static_cast<std::size_t>(size));
  return text;
}

std::int32_t Http2Client::begin(const Fields& fields, bool ends) {
  const std::int32_t stream = std::exchange(next_stream, next_stream + 2);
  const auto end = static_cast<std::uint8_t>(ends ? NGHTTP2_FLAG_END_STREAM : 0);
  std::string rest = block(fields);
  std::uint8_t type = NGHTTP2_HEADERS;
  std::uint8_t flags = end;
  while (rest.size() > 16'384) {
    (void)send(frame(type, flags, stream, std::string_view(rest).substr(0, 16'384)));
    rest.erase(0, 16'384);
    type = NGHTTP2_CONTINUATION;
    flags = 0;
  }
  (void)send(
      frame(type, static_cast<std::uint8_t>(flags | NGHTTP2_FLAG_END_HEADERS), stream, rest));
  return stream;
}

bool Http2Client::send_body(std::int32_t stream, std::string_view body, bool ends,
                            std::uint64_t sent) {
  body.remove_prefix(sent);
  while (true) {
    while (!done_[stream] && answers_[stream].granted <= sent && !body.empty()) {
      if (!receive()) return false;
    }
    if (done_[stream]) return false;
    const auto open = static_cast<std::size_t>(answers_[stream].granted - sent);
    const std::string_view part = body.substr(0, std::min<std::size_t>(open, 16'384));
    body.remove_prefix(part.size());
    sent += part.size();
    const bool last = ends && body.empty();
    if (!send(frame(NGHTTP2_DATA, last ? NGHTTP2_FLAG_END_STREAM : 0, stream, part))) return false;
    if (body.empty()) return true;
  }
}

Http2Answer Http2Client::ask(const Fields& fields, std::string_view body) {
  const std::int32_t stream = begin(fields, body.empty());
  if (!body.empty()) (void)send_body(stream, body);
  return answer(stream);
}

Http2Answer Http2Client::answer(std::int32_t stream) {
  while (!done_[stream] && receive()) {
  }
  if (!done_[stream]) return {};
  return answers_[stream];
}

bool Http2Client::comes_something() const {
  pollfd ready{fd_, POLLIN, 0};
  return ::poll(&ready, 1, kPatience_ms) == 1;
}

std::optional<Frame> Http2Client::receive(int timeout_ms) {
  while (true) {
    if (buffer_.size() >= 9) {
      Frame got;
      const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(buffer_[at]); };
      const std::size_t length = static_cast<std::size_t>(byte(0)) << 16 |
                                 static_cast<std::size_t>(byte(1)) << 8 | byte(2);
      if (buffer_.size() >= 9 + length) {
        got.type = byte(3);
        got.flags = byte(4);
        got.payload = buffer_.substr(5, 4);
        got.stream = static_cast<std::int32_t>(got.number());
        got.payload = buffer_.substr(9, length);
        buffer_.erase(0, 9 + length);
        take(got);
        return got;
      }
    }
    pollfd ready{fd_, POLLIN, 0};
    if (!tls_->has_pending() && ::poll(&ready, 1, timeout_ms) != 1) return std::nullopt;
    char bytes[65536];
    const long count = tls_->read(bytes, sizeof bytes);
    if (count <= 0) {
      ended_ = true;
      return std::nullopt;
    }
    buffer_.append(bytes, static_cast<std::size_t>(count));
  }
}

void Http2Client::take(const Frame& frame) {
  Http2Answer& answer = answers_[frame.stream];
  if (frame.type == NGHTTP2_SETTINGS && (frame.flags & NGHTTP2_FLAG_ACK) == 0) {
    (void)send(test::frame(NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0));
  } else if (frame.type == NGHTTP2_PING && (frame.flags & NGHTTP2_FLAG_ACK) == 0) {
    (void)send(test::frame(NGHTTP2_PING, NGHTTP2_FLAG_ACK, 0, frame.payload));
  } else if (frame.type == NGHTTP2_GOAWAY) {
    goaway_ = frame.number(1);
  } else if (frame.type == NGHTTP2_WINDOW_UPDATE) {
    answer.granted += frame.number();
  } else if (frame.type == NGHTTP2_RST_STREAM) {
    if (!done_[frame.stream]) answer.reset = frame.number();
    done_[frame.stream] = true;
  } else if (frame.type == NGHTTP2_HEADERS) {
    take_fields(answer, frame.payload);
  } else if (frame.type == NGHTTP2_DATA) {
    answer.body += frame.payload;
    answer.longest_frame = std::max(answer.longest_frame, frame.payload.size());
    if (opens_windows && !frame.payload.empty()) {
      const std::string count = number(static_cast<std::uint32_t>(frame.payload.size()));
      (void)send(test::frame(NGHTTP2_WINDOW_UPDATE, 0, 0, count) +
                 test::frame(NGHTTP2_WINDOW_UPDATE, 0, frame.stream, count));
    }
  }
  const bool of_answer = frame.type == NGHTTP2_HEADERS || frame.type == NGHTTP2_DATA;
  if (of_answer && frame.ends_stream()) done_[frame.stream] = true;
}

void Http2Client::take_fields(Http2Answer& answer, std::string_view block) {
  auto* at = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(block.data()));
  std::size_t left = block.size();
  while (true) {
    nghttp2_nv field{};
    int flags = 0;
    const auto used = nghttp2_hd_inflate_hd2(inflater_, &field, &flags, at, left, 1);
    if (used < 0) return;
    at += used;
    left -= static_cast<std::size_t>(used);
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
      std::string name(reinterpret_cast<const char*>(field.name), field.namelen);
      std::string value(reinterpret_cast<const char*>(field.value), field.valuelen);
      if (name == ":status") answer.status = std::stoi(value);
      answer.fields.emplace(std::move(name), std::move(value));
    }
    if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) == 0 && left == 0) break;
  }
  nghttp2_hd_inflate_end_headers(inflater_);
}

std::optional<std::uint32_t> Http2Client::last_word() {
  while (receive()) {
  }
  return goaway_;
}

}  // namespace framewire::service::http::test
