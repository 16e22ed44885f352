#include "transport/wire/tls.hpp"
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>
#include "transport/wire/psk_file.hpp"

namespace framewire::transport::wire {
namespace {

using base::Clock;

struct Free {
  void operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const noexcept { SSL_free(ssl); }
  void operator()(X509* certificate) const noexcept { X509_free(certificate); }
  void operator()(BIO_METHOD* method) const noexcept { BIO_meth_free(method); }
};

std::string last_error() {
  const unsigned long code = ERR_peek_last_error();
  const char* text = code == 0 ? nullptr : ERR_reason_error_string(code);
  return text != nullptr ? text : "no reason given";
}

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
  static const std::unique_ptr<BIO_METHOD, Free> method = [] {
    std::unique_ptr<BIO_METHOD, Free> made(
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

class TlsStream final : public Stream {
 public:
  TlsStream(std::unique_ptr<SSL, Free> ssl, Socket socket, std::string peer)
      : socket_(std::move(socket)), ssl_(std::move(ssl)), peer_(std::move(peer)) {}

  Result<std::size_t> read(std::span<std::byte> to) override {
    std::size_t count = 0;
    ERR_clear_error();
    const int good = SSL_read_ex(ssl_.get(), to.data(), to.size(), &count);
    return good == 1 ? Result<std::size_t>(count) : nothing(good);
  }
  Result<std::size_t> write(std::span<const std::byte> from) override {
    std::size_t count = 0;
    ERR_clear_error();
    const int good = SSL_write_ex(ssl_.get(), from.data(), from.size(), &count);
    return good == 1 ? Result<std::size_t>(count) : nothing(good);
  }
  bool buffered() const override { return SSL_has_pending(ssl_.get()) == 1; }
  int fd() const override { return socket_.fd(); }
  std::string kind() const override { return "tls"; }
  std::string peer() const override { return peer_; }

 private:
  Result<std::size_t> nothing(int good) {
    const int error = SSL_get_error(ssl_.get(), good);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return 0;
    if (error == SSL_ERROR_ZERO_RETURN) return fail(StatusCode::kPeerLost, "the peer hung up");
    return fail(StatusCode::kPeerLost,
                fmt::format("the connection to {} broke: {}", peer_, last_error()));
  }

  Socket socket_;
  std::unique_ptr<SSL, Free> ssl_;
  std::string peer_;
};

}  // namespace

class TlsContext::Impl {
 public:
  std::unique_ptr<SSL_CTX, Free> context;
  Security security;
  std::vector<PskEntry> keys;
  bool server = false;

  Result<void> use_certificates();
  Result<void> use_keys();
  [[nodiscard]] Result<std::string> name_of_peer(SSL* ssl, const std::string& key_name) const;
  [[nodiscard]] Result<void> run_handshake(SSL* ssl, int fd, Clock::time_point deadline) const;
};

namespace {

// What one handshake's callbacks need; the name is the one whose key was handed out.
struct KeyUse {
  const std::vector<PskEntry>& keys;
  std::string name;
};

KeyUse& use_of(SSL* ssl) { return *static_cast<KeyUse*>(SSL_get_app_data(ssl)); }

unsigned give_key(const PskEntry& entry, unsigned char* psk, unsigned most) {
  if (entry.key.size() > most) return 0;
  std::memcpy(psk, entry.key.data(), entry.key.size());
  return static_cast<unsigned>(entry.key.size());
}

unsigned client_key(SSL* ssl, const char*, char* name, unsigned most_name, unsigned char* psk,
                    unsigned most_psk) {
  // The client's table holds its own entry only.
  KeyUse& use = use_of(ssl);
  const PskEntry& entry = use.keys.front();
  use.name = entry.name;
  if (entry.name.size() + 1 > most_name) return 0;
  std::memcpy(name, entry.name.c_str(), entry.name.size() + 1);
  return give_key(entry, psk, most_psk);
}

unsigned server_key(SSL* ssl, const char* name, unsigned char* psk, unsigned most) {
  KeyUse& use = use_of(ssl);
  for (const PskEntry& entry : use.keys) {
    if (name == nullptr || entry.name != name) continue;
    use.name = entry.name;
    return give_key(entry, psk, most);
  }
  return 0;
}

}  // namespace

Result<void> check(const Security& security) {
  const bool certificates =
      !security.certificate.empty() || !security.key.empty() || !security.authority.empty();
  const int ways =
      (security.insecure ? 1 : 0) + (certificates ? 1 : 0) + (security.psk_file.empty() ? 0 : 1);
  if (ways > 1) {
    return fail(StatusCode::kInvalidInput,
                "more than one of certificates, key file and insecure is given; one of them");
  }
  if (ways == 0) {
    return fail(StatusCode::kInvalidInput,
                "nothing to prove who is who; give a key file, or certificate, key and authority, "
                "or say insecure");
  }
  if (certificates &&
      (security.certificate.empty() || security.key.empty() || security.authority.empty())) {
    return fail(StatusCode::kInvalidInput,
                "certificates need all of certificate, key and authority");
  }
  return {};
}

Result<void> TlsContext::Impl::use_certificates() {
  SSL_CTX* ssl = context.get();
  const auto bad = [](const std::string& file) {
    return fail(
        Status(StatusCode::kInvalidInput, "not usable as PEM: " + last_error()).about(file));
  };
  if (SSL_CTX_use_certificate_chain_file(ssl, security.certificate.c_str()) != 1) {
    return bad(security.certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(ssl, security.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(ssl) != 1) {
    return bad(security.key);
  }
  if (SSL_CTX_load_verify_locations(ssl, security.authority.c_str(), nullptr) != 1) {
    return bad(security.authority);
  }
  return {};
}

Result<void> TlsContext::Impl::use_keys() {
  auto entries = read_psk_file(security.psk_file);
  if (!entries) return fail(entries.error());
  keys = std::move(*entries);
  if (server) {
    SSL_CTX_set_psk_server_callback(context.get(), server_key);
    return {};
  }
  if (!security.psk_name.empty()) {
    std::erase_if(keys, [&](const PskEntry& entry) { return entry.name != security.psk_name; });
  }
  if (keys.empty()) {
    return fail(Status(StatusCode::kInvalidInput,
                       fmt::format("no key named '{}' in the file", security.psk_name))
                    .about(security.psk_file));
  }
  keys.resize(1);
  SSL_CTX_set_psk_client_callback(context.get(), client_key);
  return {};
}

TlsContext::TlsContext(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TlsContext::~TlsContext() = default;
TlsContext::TlsContext(TlsContext&&) noexcept = default;
TlsContext& TlsContext::operator=(TlsContext&&) noexcept = default;

Result<TlsContext> TlsContext::make(const Security& security, bool server) {
  if (auto good = check(security); !good) return fail(good.error());
  if (security.insecure) return fail(StatusCode::kInvalidInput, "insecure means no TLS");
  auto impl = std::make_unique<Impl>();
  impl->security = security;
  impl->server = server;
  impl->context.reset(SSL_CTX_new(server ? TLS_server_method() : TLS_client_method()));
  SSL_CTX* ssl = impl->context.get();
  // A PSK without a stated hash is SHA-256's, so the suites are those of SHA-256.
  if (ssl == nullptr || SSL_CTX_set_min_proto_version(ssl, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_ciphersuites(ssl, "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256") != 1) {
    return fail(StatusCode::kInternal, "OpenSSL offers no TLS 1.3: " + last_error());
  }
  // Also with keys: a server that ignores ours and shows a certificate must not pass.
  SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // Resumption would carry an identity past a change of the allow list.
  SSL_CTX_set_num_tickets(ssl, 0);
  SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
  // A server that asks for certificates must name the context its PSK sessions belong to.
  const unsigned char context_name[] = "framewire";
  if (server) SSL_CTX_set_session_id_context(ssl, context_name, sizeof context_name - 1);
  auto loaded = security.psk_file.empty() ? impl->use_certificates() : impl->use_keys();
  if (!loaded) return fail(loaded.error());
  return TlsContext(std::move(impl));
}

Result<void> TlsContext::Impl::run_handshake(SSL* ssl, int fd, Clock::time_point deadline) const {
  while (true) {
    ERR_clear_error();
    const int good = server ? SSL_accept(ssl) : SSL_connect(ssl);
    if (good == 1) return {};
    const int error = SSL_get_error(ssl, good);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
      if (Clock::now() < deadline && wait_for(fd, error == SSL_ERROR_WANT_WRITE, deadline))
        continue;
      return fail(StatusCode::kDeadline, "the peer did not finish the TLS handshake in time");
    }
    if (ERR_peek_last_error() == 0) {
      return fail(StatusCode::kPeerLost, "the peer hung up during the TLS handshake");
    }
    return fail(StatusCode::kDenied, "the TLS handshake failed: " + last_error());
  }
}

Result<std::string> TlsContext::Impl::name_of_peer(SSL* ssl, const std::string& key_name) const {
  std::string name;
  if (!keys.empty()) {
    // A PSK handshake counts as a resumed one; any other has proven nothing about our key.
    if (SSL_session_reused(ssl) != 1) {
      return fail(StatusCode::kDenied, "the peer did not use a pre-shared key");
    }
    name = key_name;
  } else {
    const std::unique_ptr<X509, Free> certificate(SSL_get1_peer_certificate(ssl));
    if (certificate == nullptr || SSL_get_verify_result(ssl) != X509_V_OK) {
      return fail(StatusCode::kDenied, "the peer showed no certificate of the authority's");
    }
    char common[256] = {};
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()), NID_commonName, common,
                              sizeof common);
    name = common;
  }
  const auto& allowed = security.allowed;
  if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
    return fail(StatusCode::kDenied, fmt::format("'{}' is not on the list of allowed peers", name));
  }
  return name;
}

Result<std::unique_ptr<Stream>> TlsContext::shake_hands(Socket socket, const std::string& host,
                                                        Clock::time_point deadline) const {
  std::unique_ptr<SSL, Free> ssl(SSL_new(impl_->context.get()));
  BIO* bio = ssl ? make_bio(socket.fd()) : nullptr;
  if (bio == nullptr) return fail(StatusCode::kBusy, "no memory for a TLS connection");
  SSL_set_bio(ssl.get(), bio, bio);
  KeyUse use{impl_->keys, {}};
  SSL_set_app_data(ssl.get(), &use);
  if (!impl_->server && impl_->keys.empty() && impl_->security.allowed.empty()) {
    const bool address = host.find_first_not_of("0123456789.") == std::string::npos ||
                         host.find(':') != std::string::npos;
    const bool set =
        address ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), host.c_str()) == 1
                : SSL_set1_host(ssl.get(), host.c_str()) == 1;
    if (!set) return fail(StatusCode::kInvalidInput, "a host name that no certificate can carry");
  }
  if (auto shaken = impl_->run_handshake(ssl.get(), socket.fd(), deadline); !shaken) {
    return fail(shaken.error());
  }
  SSL_set_app_data(ssl.get(), nullptr);
  auto name = impl_->name_of_peer(ssl.get(), use.name);
  if (!name) return fail(name.error());
  return std::make_unique<TlsStream>(std::move(ssl), std::move(socket), std::move(*name));
}

}  // namespace framewire::transport::wire
