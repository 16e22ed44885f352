#include <openssl/err.h>
#include <openssl/pem.h>
#include <csignal>
#include <tests/service/http/client_tls.hpp>

namespace framewire::service::http::test {

ClientTls::ClientTls(int fd, const ClientTlsOptions& options)
    : context_(SSL_CTX_new(TLS_client_method())), ssl_(nullptr) {
  // For this thread alone: OpenSSL's own sockets write without MSG_NOSIGNAL.
  sigset_t pipe{};
  sigaddset(&pipe, SIGPIPE);
  (void)::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  if (options.version != 0) {
    SSL_CTX_set_min_proto_version(context_, options.version);
    SSL_CTX_set_max_proto_version(context_, options.version);
  }
  if (!options.ciphers.empty()) SSL_CTX_set_cipher_list(context_, options.ciphers.c_str());
  ssl_ = SSL_new(context_);
  if (!options.protocol.empty()) {
    const std::string list = static_cast<char>(options.protocol.size()) + options.protocol;
    SSL_set_alpn_protos(ssl_, reinterpret_cast<const unsigned char*>(list.data()),
                        static_cast<unsigned>(list.size()));
  }
  if (options.session != nullptr) SSL_set_session(ssl_, options.session);
  SSL_set_fd(ssl_, fd);
  connected_ = SSL_connect(ssl_) == 1;
  ERR_clear_error();
}

ClientTls::~ClientTls() {
  SSL_free(ssl_);
  SSL_CTX_free(context_);
}

long ClientTls::read(char* to, std::size_t bytes) {
  ERR_clear_error();
  std::size_t got = 0;
  const int result = SSL_read_ex(ssl_, to, bytes, &got);
  if (result == 1) return static_cast<long>(got);
  return SSL_get_error(ssl_, result) == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

long ClientTls::write(std::string_view bytes) {
  ERR_clear_error();
  std::size_t done = 0;
  return SSL_write_ex(ssl_, bytes.data(), bytes.size(), &done) == 1 ? static_cast<long>(done) : -1;
}

std::string ClientTls::protocol() const {
  const unsigned char* name = nullptr;
  unsigned length = 0;
  SSL_get0_alpn_selected(ssl_, &name, &length);
  return {reinterpret_cast<const char*>(name), length};
}

std::string ClientTls::certificate() const {
  BIO* const memory = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(memory, SSL_get0_peer_certificate(ssl_));
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  std::string text(data, static_cast<std::size_t>(size));
  BIO_free(memory);
  return text;
}

}  // namespace framewire::service::http::test
