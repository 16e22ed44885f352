#include <fmt/format.h>
#include <openssl/err.h>
#include <sys/socket.h>
#include <base/file_descriptor.hpp>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <transport/wire/tls_stream.hpp>
#include <utility>

namespace framewire::transport::wire {
namespace {

struct FreeMethod {
  void operator()(BIO_METHOD* method) const noexcept { BIO_meth_free(method); }
};

// OpenSSL's own socket BIO writes without MSG_NOSIGNAL, and a library has no business with the
// process's signal handlers.
int bio_write(BIO* bio, const char* from, int count) {
  const int fd = static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
  const auto done = ::send(fd, from, static_cast<std::size_t>(count), MSG_NOSIGNAL);
  BIO_clear_retry_flags(bio);
  if (done < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(done);
}

int bio_read(BIO* bio, char* to, int count) {
  const int fd = static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
  const auto done = ::recv(fd, to, static_cast<std::size_t>(count), 0);
  BIO_clear_retry_flags(bio);
  if (done < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  return static_cast<int>(done);
}

long bio_control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

BIO* make_bio(int fd) {
  static const std::unique_ptr<BIO_METHOD, FreeMethod> method = [] {
    std::unique_ptr<BIO_METHOD, FreeMethod> made(
        BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket without signals"));
    BIO_meth_set_write(made.get(), bio_write);
    BIO_meth_set_read(made.get(), bio_read);
    BIO_meth_set_ctrl(made.get(), bio_control);
    return made;
  }();
  BIO* bio = BIO_new(method.get());
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)));
  BIO_set_init(bio, 1);
  return bio;
}

// Records without data in a row after which a peer is given up. Ours sends none; other TLS
// libraries send a few tickets and renew a key now and then. Each KeyUpdate costs its reader more
// than its sender.
constexpr unsigned kMaxEmptyRecords = 32;

// OpenSSL shows the head of each record that it reads or writes.
// @param records  null during the handshake
void count_record(int written, int, int type, const void*, std::size_t, SSL*, void* records) {
  if (records == nullptr || written != 0 || type != SSL3_RT_HEADER) return;
  ++*static_cast<unsigned*>(records);
}

class TlsStream final : public ByteStream {
 public:
  TlsStream(SslHandle ssl, base::FileDescriptor socket, std::string peer)
      : socket_(std::move(socket)), ssl_(std::move(ssl)), peer_(std::move(peer)) {
    SSL_set_msg_callback_arg(ssl_.get(), &records_);  // of count_record()
  }

  Result<std::size_t> read(std::span<std::byte> to) override {
    std::size_t count = 0;
    ERR_clear_error();
    const int good = SSL_read_ex(ssl_.get(), to.data(), to.size(), &count);
    if (good == 1) {
      records_ = 0;
      return count;
    }
    // The last one counts before all of it is here, and may be of data.
    if (records_ > kMaxEmptyRecords + 1) {
      return fail(StatusCode::kPeerLost,
                  fmt::format("{} sent more than {} TLS records in a row that bring nothing", peer_,
                              kMaxEmptyRecords));
    }
    return nothing(good);
  }
  Result<std::size_t> write(std::span<const std::byte> from) override {
    std::size_t count = 0;
    ERR_clear_error();
    const int good = SSL_write_ex(ssl_.get(), from.data(), from.size(), &count);
    return good == 1 ? Result<std::size_t>(count) : nothing(good);
  }
  bool buffered() const override { return SSL_has_pending(ssl_.get()) == 1; }
  int fd() const override { return socket_.get(); }
  std::string kind() const override { return "tls"; }
  std::string peer() const override { return peer_; }

 private:
  Result<std::size_t> nothing(int good) {
    const int error = SSL_get_error(ssl_.get(), good);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return 0;
    if (error == SSL_ERROR_ZERO_RETURN) return fail(StatusCode::kPeerLost, "the peer hung up");
    return fail(StatusCode::kPeerLost,
                fmt::format("the connection to {} broke: {}", peer_, last_tls_error()));
  }

  unsigned records_ = 0;  ///< read since the last one of data
  base::FileDescriptor socket_;
  SslHandle ssl_;
  std::string peer_;
};

}  // namespace

std::string last_tls_error() {
  const unsigned long code = ERR_peek_last_error();
  const char* text = code == 0 ? nullptr : ERR_reason_error_string(code);
  return text != nullptr ? text : "no reason given";
}

bool attach(SSL* ssl, int fd) {
  BIO* bio = make_bio(fd);
  if (bio != nullptr) SSL_set_bio(ssl, bio, bio);
  // Before the handshake: since OpenSSL 3.2 what then reads records does without a callback that
  // comes later.
  SSL_set_msg_callback(ssl, count_record);
  return bio != nullptr;
}

std::unique_ptr<ByteStream> make_tls_stream(SslHandle ssl, base::FileDescriptor socket,
                                            std::string peer) {
  return std::make_unique<TlsStream>(std::move(ssl), std::move(socket), std::move(peer));
}

}  // namespace framewire::transport::wire
