// The client's side of TLS in tests: certificates are not judged, but shown.
#pragma once

#include <openssl/ssl.h>
#include <memory>
#include <string>
#include <string_view>

namespace framewire::service::http::test {

struct FreeSession {
  void operator()(SSL_SESSION* session) const noexcept { SSL_SESSION_free(session); }
};
using Session = std::unique_ptr<SSL_SESSION, FreeSession>;

/// How a client wants to speak.
struct ClientTlsOptions {
  int version = 0;                 ///< TLS1_2_VERSION…; 0: the newest that both know
  std::string ciphers{};           ///< of TLS 1.2; empty: OpenSSL's
  std::string protocol{};          ///< the only one of ALPN; empty: none
  SSL_SESSION* session = nullptr;  ///< to be resumed
};

/// Over a blocking socket, which stays its owner's.
class ClientTls {
 public:
  ClientTls(int fd, const ClientTlsOptions& options);
  ~ClientTls();
  ClientTls(const ClientTls&) = delete;
  ClientTls& operator=(const ClientTls&) = delete;

  [[nodiscard]] bool connected() const { return connected_; }
  /// As recv() and send(): what came or went, 0 at an end in order, −1 otherwise.
  [[nodiscard]] long read(char* to, std::size_t bytes);
  [[nodiscard]] long write(std::string_view bytes);
  [[nodiscard]] bool has_pending() const { return SSL_pending(ssl_) > 0; }
  /// Tells the server that nothing more comes.
  void close_notify() { (void)SSL_shutdown(ssl_); }

  [[nodiscard]] SSL* ssl() { return ssl_; }
  [[nodiscard]] std::string protocol() const;
  [[nodiscard]] std::string certificate() const;  ///< that the server showed, PEM
  [[nodiscard]] bool resumed() const { return SSL_session_reused(ssl_) == 1; }
  /// What may be resumed; of TLS 1.3 once an answer has been read.
  /// A copy: the original is of no more use once its connection has ended without a word.
  [[nodiscard]] Session session() const { return Session(SSL_SESSION_dup(SSL_get0_session(ssl_))); }

 private:
  SSL_CTX* context_;
  SSL* ssl_;
  bool connected_ = false;
};

}  // namespace framewire::service::http::test
