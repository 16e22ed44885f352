// A client of HTTP/2 that sends what it is told, frame by frame, over TLS.
#pragma once

#include <nghttp2/nghttp2.h>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tests/service/http/client.hpp>
#include <utility>
#include <vector>

namespace framewire::service::http::test {

struct Frame {
  std::uint8_t type = 0;
  std::uint8_t flags = 0;
  std::int32_t stream = 0;
  std::string payload;

  /// The first number of RST_STREAM and WINDOW_UPDATE, the second of GOAWAY.
  [[nodiscard]] std::uint32_t number(std::size_t at = 0) const;
  [[nodiscard]] bool ends_stream() const { return (flags & NGHTTP2_FLAG_END_STREAM) != 0; }
};

using Fields = std::vector<std::pair<std::string, std::string>>;

/// An answer, or what came instead.
struct Http2Answer {
  int status = 0;
  std::multimap<std::string, std::string> fields;
  std::string body;
  std::optional<std::uint32_t> reset;                   ///< the error of RST_STREAM
  std::size_t longest_frame = 0;                        ///< of the body
  std::uint64_t granted = NGHTTP2_INITIAL_WINDOW_SIZE;  ///< of the request's window

  [[nodiscard]] std::string field(const std::string& name) const {
    const auto found = fields.find(name);
    return found == fields.end() ? "" : found->second;
  }
};

[[nodiscard]] std::string frame(std::uint8_t type, std::uint8_t flags, std::int32_t stream,
                                std::string_view payload = {});
/// A number of a frame: four bytes, the largest first.
[[nodiscard]] std::string number(std::uint32_t value);
/// SETTINGS of one entry.
[[nodiscard]] std::string settings(std::uint16_t id, std::uint32_t value);

[[nodiscard]] Fields get_fields(const std::string& target, const std::string& method = "GET");
/// With a length.
[[nodiscard]] Fields post_fields(const std::string& target, std::size_t bytes);

/// Blocking. Every wait ends after ten seconds. Acknowledges the server's SETTINGS and PING, and
/// opens windows as bytes come.
class Http2Client {
 public:
  /// @param first  frames that follow the preface
  explicit Http2Client(const std::string& endpoint, const std::string& first = settings(3, 100));
  ~Http2Client();
  Http2Client(const Http2Client&) = delete;
  Http2Client& operator=(const Http2Client&) = delete;

  [[nodiscard]] bool connected() const { return tls_->connected(); }
  /// @return whether everything went out
  bool send(std::string_view bytes);
  /// The fields as HPACK. @param remember  goes into the table of both sides
  [[nodiscard]] std::string block(const Fields& fields, bool remember = true);
  /// HEADERS of a new stream. @return its number
  std::int32_t begin(const Fields& fields, bool ends = true);
  /// DATA, as the windows open. @return false where the stream has been answered or reset before
  /// @param sent  how much of it has gone out before
  bool send_body(std::int32_t stream, std::string_view body, bool ends = true,
                 std::uint64_t sent = 0);
  /// A request and its answer.
  [[nodiscard]] Http2Answer ask(const Fields& fields, std::string_view body = {});
  /// Reads until the stream has ended. A status of 0: neither that nor a reset came.
  [[nodiscard]] Http2Answer answer(std::int32_t stream);
  /// Reads one frame, and does with it what a client does. Nothing where the connection has ended.
  [[nodiscard]] std::optional<Frame> receive(int timeout_ms = kPatience_ms);
  /// Waits until there is something to read.
  [[nodiscard]] bool comes_something() const;
  /// Reads until the server has closed. @return the error of its GOAWAY; nothing where there was
  /// none
  [[nodiscard]] std::optional<std::uint32_t> last_word();
  [[nodiscard]] bool ended() const { return ended_; }
  /// Of an answer whose head has come; else 0.
  [[nodiscard]] int status(std::int32_t stream) { return answers_[stream].status; }
  /// How much of a request's body the server has let come.
  [[nodiscard]] std::uint64_t granted(std::int32_t stream) { return answers_[stream].granted; }
  /// Closes so that the other end sees a reset.
  void reset();

  bool opens_windows = true;
  std::int32_t next_stream = 1;

 private:
  void take(const Frame& frame);
  void take_fields(Http2Answer& answer, std::string_view block);

  int fd_ = -1;
  std::unique_ptr<ClientTls> tls_;
  nghttp2_hd_deflater* deflater_ = nullptr;
  nghttp2_hd_inflater* inflater_ = nullptr;
  std::string buffer_;
  bool ended_ = false;
  std::optional<std::uint32_t> goaway_;
  std::map<std::int32_t, Http2Answer> answers_;
  std::map<std::int32_t, bool> done_;
};

}  // namespace framewire::service::http::test
