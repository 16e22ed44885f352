#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <filesystem>
#include <fstream>
#include <future>
#include <tests/transport/probe.hpp>
#include <utility>

namespace framewire::transport::testing {
namespace {

void set_subject(X509* certificate, const Subject& subject) {
  for (const std::string& name : subject.common_names) {
    X509_NAME_add_entry_by_NID(X509_get_subject_name(certificate), NID_commonName, MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(name.data()),
                               static_cast<int>(name.size()), -1, 0);
  }
  if (subject.alternatives.empty()) return;
  GENERAL_NAMES* names = sk_GENERAL_NAME_new_null();
  for (const auto& [kind, text] : subject.alternatives) {
    GENERAL_NAME* name = GENERAL_NAME_new();
    ASN1_STRING* value = ASN1_IA5STRING_new();
    ASN1_STRING_set(value, text.data(), static_cast<int>(text.size()));
    int type = kind == "DNS" ? GEN_DNS : kind == "URI" ? GEN_URI : GEN_EMAIL;
    if (kind == "IP") {
      in_addr address{};
      ::inet_pton(AF_INET, text.c_str(), &address);
      ASN1_STRING_set(value, &address, sizeof address);
      value->type = V_ASN1_OCTET_STRING;
      type = GEN_IPADD;
    }
    GENERAL_NAME_set0_value(name, type, value);
    sk_GENERAL_NAME_push(names, name);
  }
  X509_add1_ext_i2d(certificate, NID_subject_alt_name, names, 0, X509V3_ADD_DEFAULT);
  GENERAL_NAMES_free(names);
}

}  // namespace

Probe::Probe() {
  char name[] = "/tmp/framewire-probe-XXXXXX";
  folder_ = ::mkdtemp(name);
}

Probe::~Probe() { std::filesystem::remove_all(folder_); }

std::string Probe::write(const std::string& name, const std::string& text, ::mode_t mode) {
  const std::string path = folder_ + "/" + name;
  std::ofstream(path) << text;
  ::chmod(path.c_str(), mode);
  return path;
}

Security Probe::certificates(const std::string& file, const std::string& authority) const {
  Security security;
  security.certificate = folder_ + "/" + file + ".pem";
  security.key = folder_ + "/" + file + ".key";
  security.authority = folder_ + "/" + authority + ".pem";
  return security;
}

Security Probe::key(const std::string& file, const std::string& name) {
  Security security;
  security.psk_file = file;
  security.psk_name = name;
  return security;
}

SessionOptions Probe::with(const Security& security) {
  SessionOptions options;
  options.security = security;
  options.links = {kStreamLink};
  options.timeout_ms = 3000;
  return options;
}

Probe::Outcome Probe::meet(const SessionOptions& server, const SessionOptions& client) {
  auto listener = Listener::listen("localhost:0", server);
  EXPECT_TRUE(listener) << listener.error().to_string();
  if (!listener) return {};
  const std::string address = fmt::format("127.0.0.1:{}", listener->port());
  auto connecting = std::async(std::launch::async, [&] { return connect(address, client); });
  Outcome outcome;
  outcome.server = listener->accept(5000);
  outcome.client = connecting.get();
  return outcome;
}

void Probe::certify(const std::string& file, const std::string& issuer,
                    const std::optional<Subject>& subject) {
  EVP_PKEY* own = EVP_EC_gen("P-256");
  const auto open = [&](const std::string& name, const char* mode) {
    return std::fopen((folder_ + "/" + name).c_str(), mode);
  };
  EVP_PKEY* signer = own;
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1 + static_cast<long>(file.size()));
  X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, own);
  X509* parent = certificate;
  if (!issuer.empty()) {
    FILE* from = open(issuer + ".pem", "r");
    parent = PEM_read_X509(from, nullptr, nullptr, nullptr);
    std::fclose(from);
    from = open(issuer + ".key", "r");
    signer = PEM_read_PrivateKey(from, nullptr, nullptr, nullptr);
    std::fclose(from);
  }
  set_subject(certificate, subject.value_or(Subject{{file}, {}}));
  X509_set_issuer_name(certificate, X509_get_subject_name(parent));
  if (issuer.empty()) {
    X509_EXTENSION* added =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, "critical,CA:TRUE");
    X509_add_ext(certificate, added, -1);
    X509_EXTENSION_free(added);
  }
  X509_sign(certificate, signer, EVP_sha256());
  FILE* to = open(file + ".pem", "w");
  PEM_write_X509(to, certificate);
  std::fclose(to);
  to = open(file + ".key", "w");
  PEM_write_PrivateKey(to, own, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(to);
  ::chmod((folder_ + "/" + file + ".key").c_str(), 0600);
  if (parent != certificate) X509_free(parent);
  if (signer != own) EVP_PKEY_free(signer);
  X509_free(certificate);
  EVP_PKEY_free(own);
}

}  // namespace framewire::transport::testing
