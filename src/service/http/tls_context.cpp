#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <base/errno_code.hpp>
#include <base/file_descriptor.hpp>
#include <base/read_file.hpp>
#include <cerrno>
#include <cstring>
#include <service/http/settings.hpp>
#include <service/http/tls_context.hpp>
#include <string_view>
#include <transport/wire/secret_file.hpp>

namespace framewire::service::http {
namespace {

constexpr std::size_t kMaxChainBytes = 1u << 20;
constexpr std::size_t kMaxKeyBytes = 64u << 10;

// As Mozilla's "intermediate": forward secrecy and AEAD alone, for RSA and ECDSA certificates.
constexpr const char* kCiphers12 =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
constexpr const char* kCiphers13 =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
// Larger groups are slow, and a stranger chooses.
constexpr const char* kGroups = "X25519:P-256:P-384";

struct FreeOpenssl {
  void operator()(BIO* bio) const noexcept { BIO_free(bio); }
  void operator()(X509* certificate) const noexcept { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
};
using Bio = std::unique_ptr<BIO, FreeOpenssl>;
using Certificate = std::unique_ptr<X509, FreeOpenssl>;

// A service asks nobody for a password.
int no_password(char*, int, int, void*) { return -1; }

std::string last_reason() {
  const unsigned long code = ERR_peek_last_error();
  const char* text = code == 0 ? nullptr : ERR_reason_error_string(code);
  return text != nullptr ? text : "no reason given";
}

tl::unexpected<Status> refuse_file(StatusCode code, const std::string& path, std::string message) {
  return fail(Status(code, std::move(message)).about(path));
}

Bio memory_of(const char* data, std::size_t size) {
  return Bio(BIO_new_mem_buf(data, static_cast<int>(size)));
}

// O_NONBLOCK: the name may be a pipe's, which open() would wait for.
Result<std::string> read_file(const std::string& path) {
  const base::FileDescriptor file(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat facts {};
  const auto unreadable = [&](int error) {
    return refuse_file(base::code_of_errno(error), path,
                       fmt::format("the certificate cannot be read: {}", std::strerror(error)));
  };
  if (!file.valid() || ::fstat(file.get(), &facts) != 0) return unreadable(errno);
  if (!S_ISREG(facts.st_mode)) {
    return refuse_file(StatusCode::kInvalidInput, path, "the certificate is no regular file");
  }
  auto text = base::read_text(file.get(), kMaxChainBytes + 1);
  if (!text) return unreadable(text.error());
  if (text->size() > kMaxChainBytes) {
    return refuse_file(StatusCode::kInvalidInput, path,
                       fmt::format("the certificate has more than {} bytes", kMaxChainBytes));
  }
  return *std::move(text);
}

int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_length,
                    const unsigned char* in, unsigned int in_length, void* with_http2) {
  // In the order of our preference.
  static constexpr unsigned char kProtocols[] = "\x02h2\x08http/1.1";
  constexpr unsigned kHttp2Bytes = 3;
  const unsigned skipped = with_http2 != nullptr ? 0 : kHttp2Bytes;
  unsigned char* chosen = nullptr;
  const int result = SSL_select_next_proto(&chosen, out_length, kProtocols + skipped,
                                           sizeof kProtocols - 1 - skipped, in, in_length);
  *out = chosen;
  // RFC 7301 3.2: who asks for other protocols alone is told so.
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

}  // namespace

ServerTlsContext::~ServerTlsContext() { SSL_CTX_free(context_); }

Result<void> ServerTlsContext::set_rules(const ServiceSettings& settings) {
  context_ = SSL_CTX_new(TLS_server_method());
  const int lowest = settings.tls_min_version == TlsVersion::k13 ? TLS1_3_VERSION : TLS1_2_VERSION;
  static constexpr unsigned char kName[] = "framewire";
  if (context_ == nullptr || SSL_CTX_set_min_proto_version(context_, lowest) != 1 ||
      SSL_CTX_set_cipher_list(context_, kCiphers12) != 1 ||
      SSL_CTX_set_ciphersuites(context_, kCiphers13) != 1 ||
      SSL_CTX_set1_groups_list(context_, kGroups) != 1 ||
      SSL_CTX_set_session_id_context(context_, kName, sizeof kName - 1) != 1) {
    return fail(StatusCode::kInternal, "OpenSSL does not offer what TLS needs: " + last_reason());
  }
  SSL_CTX_set_options(context_, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                    SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  // Tickets hold all of a session: nothing is kept here for clients that have gone.
  SSL_CTX_set_session_cache_mode(context_, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context_, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                 SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // One record a call: records without data, of which there may be many, do not hold up others.
  SSL_CTX_clear_mode(context_, SSL_MODE_AUTO_RETRY);
  // The argument only says whether there is HTTP/2.
  SSL_CTX_set_alpn_select_cb(context_, choose_protocol, settings.http2 ? context_ : nullptr);
  return {};
}

Result<void> ServerTlsContext::use_chain(const std::string& path) {
  const auto pem = read_file(path);
  if (!pem) return fail(pem.error());
  const Bio bio = memory_of(pem->data(), pem->size());
  const Certificate first(bio ? PEM_read_bio_X509_AUX(bio.get(), nullptr, no_password, nullptr)
                              : nullptr);
  if (first == nullptr || SSL_CTX_use_certificate(context_, first.get()) != 1) {
    return refuse_file(StatusCode::kInvalidInput, path,
                       "the file begins with no usable certificate in PEM: " + last_reason());
  }
  while (true) {
    Certificate next(PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr));
    if (next == nullptr) break;
    if (SSL_CTX_add0_chain_cert(context_, next.get()) != 1) {
      return refuse_file(StatusCode::kInvalidInput, path, "no usable chain: " + last_reason());
    }
    (void)next.release();
  }
  // How PEM says that there is no more of it.
  if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) {
    return refuse_file(StatusCode::kInvalidInput, path,
                       "a certificate of the chain is damaged: " + last_reason());
  }
  ERR_clear_error();
  return {};
}

Result<void> ServerTlsContext::use_key(const ServiceSettings& settings) {
  const std::string& path = settings.tls_key;
  const auto pem = transport::wire::read_secret(path, "the private key", kMaxKeyBytes);
  if (!pem) return fail(pem.error());
  const Bio bio = memory_of(pem->text().data(), pem->size());
  const std::unique_ptr<EVP_PKEY, FreeOpenssl> key(
      bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr) : nullptr);
  if (key == nullptr) {
    return refuse_file(StatusCode::kInvalidInput, path,
                       "no private key in PEM without a password: " + last_reason());
  }
  if (X509_check_private_key(SSL_CTX_get0_certificate(context_), key.get()) != 1) {
    return refuse_file(
        StatusCode::kInvalidInput, path,
        fmt::format("the key does not belong to the certificate in {}", settings.tls_cert));
  }
  if (SSL_CTX_use_PrivateKey(context_, key.get()) != 1) {
    return refuse_file(StatusCode::kInvalidInput, path, "the key is not usable: " + last_reason());
  }
  return {};
}

void ServerTlsContext::look_at_dates(const std::string& path) {
  const X509* const certificate = SSL_CTX_get0_certificate(context_);
  if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0) {
    warnings_.push_back(fmt::format("{}: the certificate has expired", path));
  }
  if (X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0) {
    warnings_.push_back(fmt::format("{}: the certificate is not valid yet", path));
  }
}

Result<std::shared_ptr<const ServerTlsContext>> ServerTlsContext::load(
    const ServiceSettings& settings) {
  ERR_clear_error();
  const std::shared_ptr<ServerTlsContext> made(new ServerTlsContext);
  auto good = made->set_rules(settings);
  if (good) good = made->use_chain(settings.tls_cert);
  if (good) good = made->use_key(settings);
  // Later calls of this thread must not find reasons that are not theirs.
  ERR_clear_error();
  if (!good) return fail(good.error());
  made->look_at_dates(settings.tls_cert);
  return std::shared_ptr<const ServerTlsContext>(made);
}

}  // namespace framewire::service::http
