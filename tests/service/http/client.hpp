// A client that sends what it is told, byte by byte if need be, and a server on loopback.
#pragma once

#include <chrono>
#include <cstdint>
#include <framewire/engine.hpp>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <service/http/server.hpp>
#include <service/source/network.hpp>
#include <string>
#include <string_view>
#include <tests/service/http/client_tls.hpp>
#include <vector>

namespace framewire::service::http::test {

using Bytes = std::vector<std::uint8_t>;

/// An answer as it came.
struct Answer {
  int status = 0;
  std::string status_line;
  std::multimap<std::string, std::string> fields;  ///< names in lower case
  std::string body;

  [[nodiscard]] std::string field(const std::string& name) const {
    const auto found = fields.find(name);
    return found == fields.end() ? "" : found->second;
  }
};

/// How long clients wait, and what is to come to hold at all: a machine may be slow and busy.
inline constexpr std::chrono::seconds kPatience{60};
inline constexpr int kPatience_ms = 60'000;

/// A blocking connection. Every wait ends after a minute.
class TestClient {
 public:
  /// @param endpoint  as Server::endpoints() has it; with tls: in front it speaks TLS
  explicit TestClient(const std::string& endpoint, const ClientTlsOptions& options = {});
  ~TestClient();
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  /// @return whether everything went out
  bool send(std::string_view bytes);
  /// Reads one answer. @param has_body  false after HEAD
  [[nodiscard]] std::optional<Answer> receive(bool has_body = true);
  /// send() and receive().
  [[nodiscard]] std::optional<Answer> ask(std::string_view request, bool has_body = true);
  /// Sends nothing more, but still reads. @param notify  under TLS: says so before (close_notify)
  void end_sending(bool notify = true);
  /// Closes so that the other end sees a reset.
  void reset();
  /// Whether the server closes within the time, whatever it sends before.
  [[nodiscard]] bool closed_within(std::chrono::milliseconds time);
  /// Bytes that came and receive() did not return.
  [[nodiscard]] const std::string& rest() const { return buffer_; }
  [[nodiscard]] bool connected() const {
    return fd_ >= 0 && (tls_ == nullptr || tls_->connected());
  }
  /// Null for a plain connection.
  [[nodiscard]] ClientTls* tls() { return tls_.get(); }
  /// Whether the server's last word was an end in order; after closed_within().
  [[nodiscard]] bool ended_in_order() const { return ended_in_order_; }

 private:
  bool read_some();
  long receive_into_buffer();

  int fd_ = -1;
  std::unique_ptr<ClientTls> tls_;
  bool ended_in_order_ = false;
  std::string buffer_;
};

/// A server with an engine of host threads, on a port of its own; logs are kept.
class TestServer {
 public:
  explicit TestServer(const ServiceSettings& settings = {},
                      const source::Network* network = nullptr);
  ~TestServer();

  [[nodiscard]] std::string endpoint(std::size_t index = 0) const;
  [[nodiscard]] Server& server() { return *server_; }
  [[nodiscard]] Engine& engine() { return *engine_; }
  [[nodiscard]] std::string log();
  /// Waits until nothing is under way. @return false after a minute
  [[nodiscard]] bool idle();
  void stop() { server_.reset(); }

 private:
  std::mutex mutex_;
  std::string log_;
  std::optional<Engine> engine_;
  std::unique_ptr<Server> server_;
};

/// Clients with a request under way each: its head has come, its nine bytes of body have not.
/// @return fewer than `count` where that takes more than a minute
[[nodiscard]] std::list<TestClient> hold_requests(TestServer& server, std::size_t count);

/// Settings that listen on a free port of loopback, with one thread.
[[nodiscard]] ServiceSettings loopback();
/// The same, with so little time for clients to send, to read, and to send the next request.
[[nodiscard]] ServiceSettings impatient(std::uint64_t timeout_ms = 1000);

/// Looks again and again. @return false where it has not come to hold in a minute
[[nodiscard]] bool within_a_minute(const std::function<bool()>& condition);

/// A photograph-like JPEG of libjpeg's.
[[nodiscard]] Bytes make_jpeg(int width_px, int height_px);
[[nodiscard]] std::string text_of(const Bytes& bytes);
/// "POST TARGET HTTP/1.1" with a length, and the body.
[[nodiscard]] std::string post(std::string_view target, std::string_view body,
                               std::string_view fields = "");
[[nodiscard]] std::string get(std::string_view target, std::string_view fields = "");
/// Width × height of a JPEG, by libjpeg's full decode; "" where it fails.
[[nodiscard]] std::string size_of(std::string_view jpeg);

}  // namespace framewire::service::http::test
