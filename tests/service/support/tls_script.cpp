#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <csignal>
#include <stdexcept>
#include <tests/service/support/tls_script.hpp>

namespace framewire::service::test {
namespace {

// For the script's thread: OpenSSL's own sockets write without MSG_NOSIGNAL.
void block_sigpipe() {
  sigset_t pipe{};
  sigaddset(&pipe, SIGPIPE);
  (void)::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
}

}  // namespace

struct Certificate::Parts {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  ~Parts() {
    SSL_CTX_free(context);
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
};

Certificate::Certificate(const std::string& name, bool expired)
    : parts_(std::make_unique<Parts>()) {
  X509* const certificate = parts_->certificate;
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -7'200);
  X509_gmtime_adj(X509_getm_notAfter(certificate), expired ? -3'600 : 3'600);
  X509_set_pubkey(certificate, parts_->key);
  X509_NAME* const subject = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("a test"), -1, -1, 0);
  X509_set_issuer_name(certificate, subject);
  for (const auto& [nid, value] :
       {std::pair<int, std::string>(NID_basic_constraints, "critical,CA:TRUE"),
        std::pair<int, std::string>(NID_subject_alt_name, "DNS:" + name)}) {
    X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }
  if (X509_sign(certificate, parts_->key, EVP_sha256()) == 0 ||
      SSL_CTX_use_certificate(parts_->context, certificate) != 1 ||
      SSL_CTX_use_PrivateKey(parts_->context, parts_->key) != 1) {
    throw std::runtime_error("no certificate");
  }
}

Certificate::~Certificate() = default;

namespace {

std::string take_text(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  std::string text(data, static_cast<std::size_t>(size));
  BIO_free(memory);
  return text;
}

}  // namespace

std::string Certificate::pem() const {
  BIO* const memory = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(memory, parts_->certificate);
  return take_text(memory);
}

std::string Certificate::key_pem(const std::string& password) const {
  BIO* const memory = BIO_new(BIO_s_mem());
  PEM_write_bio_PKCS8PrivateKey(memory, parts_->key, password.empty() ? nullptr : EVP_aes_128_cbc(),
                                password.data(), static_cast<int>(password.size()), nullptr,
                                nullptr);
  return take_text(memory);
}

std::function<void(Connection&)> Certificate::answering(std::string answer) const {
  return [this, answer = std::move(answer)](Connection& connection) {
    block_sigpipe();
    const std::unique_ptr<SSL, void (*)(SSL*)> ssl(SSL_new(parts_->context), SSL_free);
    SSL_set_fd(ssl.get(), connection.fd());
    char head[4'096];
    if (SSL_accept(ssl.get()) == 1 && SSL_read(ssl.get(), head, sizeof head) > 0) {
      SSL_write(ssl.get(), answer.data(), static_cast<int>(answer.size()));
      SSL_shutdown(ssl.get());
    }
    ERR_clear_error();
  };
}

std::function<void(Connection&)> Certificate::hanging_up() const {
  return [this](Connection& connection) {
    block_sigpipe();
    const std::unique_ptr<SSL, void (*)(SSL*)> ssl(SSL_new(parts_->context), SSL_free);
    SSL_set_fd(ssl.get(), connection.fd());
    pollfd hello{connection.fd(), POLLIN, 0};
    (void)::poll(&hello, 1, 5'000);
    (void)::fcntl(connection.fd(), F_SETFL, O_NONBLOCK);
    (void)SSL_accept(ssl.get());
    ERR_clear_error();
  };
}

}  // namespace framewire::service::test
