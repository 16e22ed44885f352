#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <algorithm>
#include <base/ascii.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/errc.hpp>
#include <cerrno>
#include <new>
#include <service/http/tls_session.hpp>
#include <utility>

namespace framewire::service::http {

/// OpenSSL's view of a session's socket. OpenSSL's own writes without MSG_NOSIGNAL, so that a peer
/// that has closed would raise SIGPIPE.
struct SocketBio {
  static int write(BIO* bio, const char* from, int count) {
    const auto done =
        ::send(fd_of(bio), from, static_cast<std::size_t>(count), MSG_NOSIGNAL | MSG_DONTWAIT);
    BIO_clear_retry_flags(bio);
    if (done < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
    return static_cast<int>(done);
  }
  static int read(BIO* bio, char* to, int count) {
    const auto done = ::recv(fd_of(bio), to, static_cast<std::size_t>(count), MSG_DONTWAIT);
    BIO_clear_retry_flags(bio);
    if (done < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
    if (done == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    return static_cast<int>(done);
  }
  static long control(BIO* bio, int command, long, void*) {
    if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
  }
  static int fd_of(BIO* bio) { return static_cast<TlsSession*>(BIO_get_data(bio))->fd_; }

  static const BIO_METHOD* method() noexcept {
    struct Free {
      void operator()(BIO_METHOD* made) const noexcept { BIO_meth_free(made); }
    };
    static const std::unique_ptr<BIO_METHOD, Free> method = [] {
      std::unique_ptr<BIO_METHOD, Free> made(
          BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "a client's socket"));
      if (made == nullptr) return made;
      BIO_meth_set_write(made.get(), write);
      BIO_meth_set_read(made.get(), read);
      BIO_meth_set_ctrl(made.get(), control);
      return made;
    }();
    return method.get();
  }
};

namespace {

namespace asio = boost::asio;
using Kind = TlsStep::Kind;

TlsStep failed_with(boost::system::error_code error) { return {Kind::kDone, 0, error}; }

}  // namespace

std::unique_ptr<TlsSession> TlsSession::make(const ServerTlsContext& context, int fd) noexcept {
  std::unique_ptr<TlsSession> made(new (std::nothrow) TlsSession(fd));
  if (made == nullptr || !made->attach(context)) made.reset();
  ERR_clear_error();
  return made;
}

TlsSession::~TlsSession() { SSL_free(ssl_); }

bool TlsSession::attach(const ServerTlsContext& context) noexcept {
  ssl_ = SSL_new(context.handle());
  const BIO_METHOD* const method = SocketBio::method();
  BIO* const bio = ssl_ != nullptr && method != nullptr ? BIO_new(method) : nullptr;
  if (bio == nullptr) return false;
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_, bio, bio);
  SSL_set_accept_state(ssl_);
  return true;
}

// What to do about a call that did not do what it should.
TlsStep TlsSession::outcome(int result) noexcept {
  const int error = SSL_get_error(ssl_, result);
  if (error == SSL_ERROR_WANT_READ) return {Kind::kWaitRead};
  if (error == SSL_ERROR_WANT_WRITE) return {Kind::kWaitWrite};
  if (error == SSL_ERROR_ZERO_RETURN) return failed_with(asio::error::eof);
  failed_ = true;
  const bool cut = error == SSL_ERROR_SYSCALL ||
                   ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
  ERR_clear_error();
  if (cut) return failed_with(asio::error::connection_reset);
  return failed_with(make_error_code(boost::system::errc::protocol_error));
}

TlsStep TlsSession::shake_hands() noexcept {
  if (!looked_) {
    // A handshake begins with the byte 22, a request with a letter of its method.
    char first = 0;
    const auto got = ::recv(fd_, &first, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {Kind::kWaitRead};
    if (got <= 0) return failed_with(asio::error::connection_reset);
    looked_ = true;
    if (base::is_upper(first)) {
      return failed_with(make_error_code(boost::system::errc::wrong_protocol_type));
    }
  }
  ERR_clear_error();
  const int result = SSL_accept(ssl_);
  if (result != 1) {
    const TlsStep step = outcome(result);
    failed_ = step.kind == Kind::kDone;
    return step;
  }
  established_ = true;
  return {};
}

bool TlsSession::resumed() const noexcept { return SSL_session_reused(ssl_) == 1; }

bool TlsSession::chose_http2() const noexcept {
  const unsigned char* name = nullptr;
  unsigned length = 0;
  SSL_get0_alpn_selected(ssl_, &name, &length);
  return length == 2 && name[0] == 'h' && name[1] == '2';
}

TlsStep TlsSession::read(std::span<char> room) noexcept {
  ERR_clear_error();
  std::size_t bytes = 0;
  const int result = SSL_read_ex(ssl_, room.data(), room.size(), &bytes);
  if (result == 1) return {Kind::kDone, bytes, {}};
  return outcome(result);
}

void TlsSession::begin_write(std::string_view head, std::string_view body) {
  // A small answer goes out as one record.
  const std::size_t with_head =
      std::min(body.size(), kTlsRecordBytes - head.size() % kTlsRecordBytes);
  staged_.reserve(head.size() + with_head);
  staged_.assign(head);
  staged_.append(body.substr(0, with_head));
  to_write_ = staged_;
  then_write_ = body.substr(with_head);
}

void TlsSession::begin_write(std::string&& head, std::string_view body) noexcept {
  staged_ = std::move(head);
  to_write_ = staged_;
  then_write_ = body;
}

TlsStep TlsSession::write() noexcept {
  std::size_t this_turn = 0;
  while (true) {
    if (to_write_.empty()) to_write_ = std::exchange(then_write_, {});
    if (to_write_.empty()) {
      staged_ = {};
      return {};
    }
    if (this_turn >= kTlsTurnBytes) return {Kind::kAgain};
    ERR_clear_error();
    std::size_t bytes = 0;
    const int result = SSL_write_ex(ssl_, to_write_.data(), to_write_.size(), &bytes);
    writing_ = result != 1;
    if (writing_) return outcome(result);
    to_write_.remove_prefix(bytes);
    written_bytes_ += bytes;
    this_turn += bytes;
  }
}

bool TlsSession::write_now(std::string_view text) noexcept {
  ERR_clear_error();
  std::size_t bytes = 0;
  const int result = SSL_write_ex(ssl_, text.data(), text.size(), &bytes);
  if (result == 1 && bytes == text.size()) return true;
  // Half a record is on its way, and nothing else may be written before its other half.
  failed_ = true;
  ERR_clear_error();
  return false;
}

void TlsSession::end_sending() noexcept {
  if (!established_ || failed_ || writing_ || fd_ < 0) return;
  ERR_clear_error();
  (void)SSL_shutdown(ssl_);
  ERR_clear_error();
}

}  // namespace framewire::service::http
