// A server that speaks TLS, with a certificate made for the test.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <tests/service/http/client.hpp>
#include <tests/service/support/temporary_folder.hpp>
#include <tests/service/support/tls_script.hpp>

namespace framewire::service::http::test {

/// Certificate and key as files, which may be written anew.
struct TlsFiles {
  TlsFiles() { write(first); }

  void write(const service::test::Certificate& certificate) const {
    folder.write("cert.pem", certificate.pem());
    write_key(certificate.key_pem());
  }
  void write_key(std::string_view pem) const {
    namespace fs = std::filesystem;
    const auto path = folder.write("key.pem", pem);
    fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  }
  [[nodiscard]] std::string cert() const { return folder.path() / "cert.pem"; }
  [[nodiscard]] std::string key() const { return folder.path() / "key.pem"; }
  [[nodiscard]] ServiceSettings add_to(ServiceSettings settings) const {
    settings.listen = {"tls:127.0.0.1:0", "127.0.0.1:0"};
    settings.tls_cert = cert();
    settings.tls_key = key();
    return settings;
  }

  service::test::TemporaryFolder folder;
  service::test::Certificate first{"localhost"};
};

/// Listens with TLS first, and without it second.
struct TlsServer : TlsFiles {
  explicit TlsServer(const ServiceSettings& wanted = loopback())
      : settings(add_to(wanted)), server(settings) {}

  /// Reads the files again.
  [[nodiscard]] Result<SettingsChange> reload() { return server.server().reload(settings); }

  [[nodiscard]] std::string endpoint() const { return server.endpoint(0); }
  [[nodiscard]] std::string plain_endpoint() const { return server.endpoint(1); }
  /// A figure of /metrics by its name and label, as it is written there; "" where there is none.
  [[nodiscard]] std::string metric(const std::string& name) {
    TestClient client(plain_endpoint());
    const auto answer =
        client.ask("GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    const auto at = answer ? answer->body.find("\n" + name + " ") : std::string::npos;
    if (at == std::string::npos) return "";
    const auto begin = at + name.size() + 2;
    return answer->body.substr(begin, answer->body.find('\n', begin) - begin);
  }

  ServiceSettings settings;
  TestServer server;
};

}  // namespace framewire::service::http::test
