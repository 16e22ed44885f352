#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <algorithm>
#include <base/file_descriptor.hpp>
#include <base/wait_for.hpp>
#include <cstring>
#include <transport/wire/peer_name.hpp>
#include <transport/wire/psk_file.hpp>
#include <transport/wire/tls.hpp>
#include <transport/wire/tls_stream.hpp>
#include <utility>

namespace framewire::transport::wire {
namespace {

using base::Clock;

constexpr std::size_t kMaxPemBytes = std::size_t{1} << 16;

// A library asks nobody for a password.
int no_password(char*, int, int, void*) { return -1; }

}  // namespace

// Frees OpenSSL's objects. Named, since classes that others see have members of it.
struct TlsFree {
  void operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
  void operator()(X509* certificate) const noexcept { X509_free(certificate); }
  void operator()(BIO* bio) const noexcept { BIO_free(bio); }
  void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
};

class TlsContext::Impl {
 public:
  std::unique_ptr<SSL_CTX, TlsFree> context;
  Security security;
  std::vector<PskEntry> keys;
  // What a name that is not known here is checked against: nobody has it, and so the answer is that
  // to a wrong key.
  Secret decoy;
  bool server = false;

  Result<void> use_certificates();
  Result<void> use_private_key();
  Result<void> use_keys();
  [[nodiscard]] Result<void> allow(const std::string& name) const;
};

class TlsHandshake::Impl {
 public:
  Impl(const TlsContext::Impl& made_by, base::FileDescriptor of, std::string dialled)
      : context(made_by), socket(std::move(of)), host(std::move(dialled)) {}

  const TlsContext::Impl& context;
  base::FileDescriptor socket;  // before the connection that reads it, so that it ends after
  SslHandle ssl;
  std::string host;
  std::string key_name;  ///< of the key that was handed out
  bool writes = false;

  [[nodiscard]] Result<std::string> name_of_peer() const;
  [[nodiscard]] Status failure() const;
  unsigned client_key(char* name, unsigned max_name, unsigned char* psk, unsigned most);
  unsigned server_key(const char* name, unsigned char* psk, unsigned most);
};

namespace {

unsigned give_key(const Secret& key, unsigned char* psk, unsigned most) {
  if (key.size() > most) return 0;
  std::memcpy(psk, key.data(), key.size());
  return static_cast<unsigned>(key.size());
}

}  // namespace

unsigned TlsHandshake::Impl::client_key(char* name, unsigned max_name, unsigned char* psk,
                                        unsigned most) {
  // The client's table holds its own entry only.
  const PskEntry& entry = context.keys.front();
  if (entry.name.size() + 1 > max_name) return 0;
  std::memcpy(name, entry.name.c_str(), entry.name.size() + 1);
  key_name = entry.name;
  return give_key(entry.key, psk, most);
}

unsigned TlsHandshake::Impl::server_key(const char* name, unsigned char* psk, unsigned most) {
  const PskEntry* found = nullptr;
  // To the end, so that the time does not tell where in the file a name stands.
  for (const PskEntry& entry : context.keys) {
    if (found == nullptr && name != nullptr && entry.name == name) found = &entry;
  }
  key_name = found != nullptr ? found->name : std::string();
  return give_key(found != nullptr ? found->key : context.decoy, psk, most);
}

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
  if (security.insecure && !security.allowed.empty()) {
    return fail(StatusCode::kInvalidInput,
                "insecure proves nobody's name, so that a list of allowed peers would keep nobody "
                "out; one of them");
  }
  if (!security.psk_name.empty() && security.psk_file.empty()) {
    return fail(StatusCode::kInvalidInput, "the name of a key is given, but no key file");
  }
  return {};
}

Result<void> TlsContext::Impl::use_private_key() {
  auto pem = read_secret(security.key, "the private key", kMaxPemBytes);
  if (!pem) return fail(pem.error());
  const std::unique_ptr<BIO, TlsFree> bio(
      BIO_new_mem_buf(pem->data(), static_cast<int>(pem->size())));
  const std::unique_ptr<EVP_PKEY, TlsFree> key(
      bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr) : nullptr);
  if (key == nullptr || SSL_CTX_use_PrivateKey(context.get(), key.get()) != 1 ||
      SSL_CTX_check_private_key(context.get()) != 1) {
    return fail(Status(StatusCode::kInvalidInput,
                       "no private key in PEM, without a password, for "
                       "this certificate: " +
                           last_tls_error())
                    .about(security.key));
  }
  return {};
}

Result<void> TlsContext::Impl::use_certificates() {
  const auto bad = [](const std::string& file) {
    return fail(
        Status(StatusCode::kInvalidInput, "not usable as PEM: " + last_tls_error()).about(file));
  };
  if (SSL_CTX_use_certificate_chain_file(context.get(), security.certificate.c_str()) != 1) {
    return bad(security.certificate);
  }
  if (auto used = use_private_key(); !used) return used;
  if (SSL_CTX_load_verify_locations(context.get(), security.authority.c_str(), nullptr) != 1) {
    return bad(security.authority);
  }
  return {};
}

Result<void> TlsContext::Impl::use_keys() {
  auto entries = read_psk_file(security.psk_file);
  if (!entries) return fail(entries.error());
  keys = std::move(*entries);
  if (server) {
    decoy = Secret(keys.front().key.size());
    if (RAND_bytes(decoy.data(), static_cast<int>(decoy.size())) != 1) {
      return fail(StatusCode::kIoError, "OpenSSL has no random bytes");
    }
    SSL_CTX_set_psk_server_callback(context.get(), [](SSL* ssl, const char* name,
                                                      unsigned char* psk, unsigned most) {
      return static_cast<TlsHandshake::Impl*>(SSL_get_app_data(ssl))->server_key(name, psk, most);
    });
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
  keys.erase(keys.begin() + 1, keys.end());
  SSL_CTX_set_psk_client_callback(
      context.get(),
      [](SSL* ssl, const char*, char* name, unsigned max_name, unsigned char* psk, unsigned most) {
        return static_cast<TlsHandshake::Impl*>(SSL_get_app_data(ssl))
            ->client_key(name, max_name, psk, most);
      });
  return {};
}

Result<void> TlsContext::Impl::allow(const std::string& name) const {
  const auto& allowed = security.allowed;
  if (allowed.empty() || std::find(allowed.begin(), allowed.end(), name) != allowed.end()) {
    return {};
  }
  return fail(StatusCode::kDenied, fmt::format("'{}' is not on the list of allowed peers", name));
}

TlsContext::TlsContext(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TlsContext::~TlsContext() = default;
TlsContext::TlsContext(TlsContext&&) noexcept = default;
TlsContext& TlsContext::operator=(TlsContext&&) noexcept = default;

Result<TlsContext> TlsContext::make(const Security& security, bool server) {
  if (auto good = check(security); !good) return fail(good.error());
  if (security.insecure) return fail(StatusCode::kInvalidInput, "insecure means no TLS");
  ERR_clear_error();
  auto impl = std::make_unique<Impl>();
  impl->security = security;
  impl->server = server;
  impl->context.reset(SSL_CTX_new(server ? TLS_server_method() : TLS_client_method()));
  SSL_CTX* ssl = impl->context.get();
  // A PSK without a stated hash is SHA-256's, so the suites are those of SHA-256.
  if (ssl == nullptr || SSL_CTX_set_min_proto_version(ssl, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_ciphersuites(ssl, "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256") != 1) {
    return fail(StatusCode::kInternal, "OpenSSL offers no TLS 1.3: " + last_tls_error());
  }
  // Also with keys: a server that ignores ours and shows a certificate must not pass.
  SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // One record a read, so that the reader looks at its clock between those that bring no data.
  SSL_CTX_clear_mode(ssl, SSL_MODE_AUTO_RETRY);
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

Result<TlsHandshake> TlsContext::begin(base::FileDescriptor socket, const std::string& host) const {
  auto shaking = std::make_unique<TlsHandshake::Impl>(*impl_, std::move(socket), host);
  shaking->ssl.reset(SSL_new(impl_->context.get()));
  SSL* ssl = shaking->ssl.get();
  if (ssl == nullptr || !attach(ssl, shaking->socket.get())) {
    return fail(StatusCode::kBusy, "no memory for a TLS connection");
  }
  SSL_set_app_data(ssl, shaking.get());
  if (!impl_->server && impl_->keys.empty() && impl_->security.allowed.empty()) {
    const bool address = host.find_first_not_of("0123456789.") == std::string::npos ||
                         host.find(':') != std::string::npos;
    // An empty host would switch the check off.
    const bool set = !host.empty() && (address ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl),
                                                                               host.c_str()) == 1
                                               : SSL_set1_host(ssl, host.c_str()) == 1);
    if (!set) return fail(StatusCode::kInvalidInput, "a host name that no certificate can carry");
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  }
  if (impl_->server) {
    SSL_set_accept_state(ssl);
  } else {
    SSL_set_connect_state(ssl);
  }
  return TlsHandshake(std::move(shaking));
}

Result<std::unique_ptr<ByteStream>> TlsContext::shake_hands(base::FileDescriptor socket,
                                                            const std::string& host,
                                                            Clock::time_point deadline) const {
  auto shaking = begin(std::move(socket), host);
  if (!shaking) return fail(shaking.error());
  while (true) {
    auto stream = shaking->step();
    if (!stream || *stream) return stream;
    if (Clock::now() >= deadline ||
        !base::wait_for(shaking->fd(), shaking->wants_to_write(), deadline)) {
      return fail(StatusCode::kDeadline, "the peer did not finish the TLS handshake in time");
    }
  }
}

TlsHandshake::TlsHandshake(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TlsHandshake::~TlsHandshake() = default;
TlsHandshake::TlsHandshake(TlsHandshake&&) noexcept = default;
TlsHandshake& TlsHandshake::operator=(TlsHandshake&&) noexcept = default;

bool TlsHandshake::wants_to_write() const { return impl_->writes; }
int TlsHandshake::fd() const { return impl_->socket.get(); }

Status TlsHandshake::Impl::failure() const {
  if (ERR_peek_last_error() == 0) {
    return {StatusCode::kPeerLost, "the peer hung up during the TLS handshake"};
  }
  const bool unknown = context.server && !context.keys.empty() && key_name.empty();
  // A server answers alike where it lacks the name and where its key of that name is another.
  const bool refused = !context.server && !context.keys.empty() &&
                       ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER;
  return {StatusCode::kDenied, "the TLS handshake failed: " + last_tls_error() +
                                   (unknown   ? "; no key here has the name that the peer gave"
                                    : refused ? "; the server does not know this key or name"
                                              : "")};
}

Result<std::string> TlsHandshake::Impl::name_of_peer() const {
  if (!context.keys.empty()) {
    // A PSK handshake counts as a resumed one; any other has proven nothing about our key.
    if (SSL_session_reused(ssl.get()) != 1 || key_name.empty()) {
      return fail(StatusCode::kDenied, "the peer did not use a pre-shared key");
    }
    return key_name;
  }
  const std::unique_ptr<X509, TlsFree> certificate(SSL_get1_peer_certificate(ssl.get()));
  if (certificate == nullptr || SSL_get_verify_result(ssl.get()) != X509_V_OK) {
    return fail(StatusCode::kDenied, "the peer showed no certificate of the authority's");
  }
  // A server that was dialled by name has proven that one, whichever others it has.
  if (!context.server && context.security.allowed.empty()) return host;
  return name_of(certificate.get());
}

Result<std::unique_ptr<ByteStream>> TlsHandshake::step() {
  SSL* ssl = impl_->ssl.get();
  ERR_clear_error();
  const int good = SSL_do_handshake(ssl);
  if (good != 1) {
    const int error = SSL_get_error(ssl, good);
    impl_->writes = error == SSL_ERROR_WANT_WRITE;
    if (impl_->writes || error == SSL_ERROR_WANT_READ) return nullptr;
    return fail(impl_->failure());
  }
  auto name = impl_->name_of_peer();
  if (!name) return fail(name.error());
  if (auto allowed = impl_->context.allow(*name); !allowed) return fail(allowed.error());
  SSL_set_app_data(ssl, nullptr);
  return make_tls_stream(std::move(impl_->ssl), std::move(impl_->socket), std::move(*name));
}

}  // namespace framewire::transport::wire
