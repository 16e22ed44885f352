// The certificate and the key that the service shows, and how it speaks TLS.
#pragma once

#include <framewire/status.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

struct ssl_ctx_st;

namespace framewire::service::http {

struct ServiceSettings;

/// What handshakes begin with: certificate, key and rules, read and checked once. TLS 1.2 with
/// forward secrecy and AEAD, and TLS 1.3; no compression, no renegotiation, tickets that no table
/// of the server's keeps. Immutable, and so thread-safe.
class ServerTlsContext {
 public:
  /// Reads ServiceSettings::tls_cert and tls_key.
  /// @return about the file that is wrong: io_error where it cannot be read; denied for a key that
  ///         others have a say in (transport::wire::read_secret()); invalid_input where it holds no
  ///         PEM of that kind, is longer than 1 MiB (64 KiB for a key), where the key has a
  ///         password or does not belong to the certificate
  [[nodiscard]] static Result<std::shared_ptr<const ServerTlsContext>> load(
      const ServiceSettings& settings);
  ~ServerTlsContext();
  ServerTlsContext(const ServerTlsContext&) = delete;
  ServerTlsContext& operator=(const ServerTlsContext&) = delete;

  /// What is odd, but no reason to stop: a certificate that has expired, or is not valid yet. One
  /// sentence each, with the file.
  [[nodiscard]] const std::vector<std::string>& warnings() const noexcept { return warnings_; }
  [[nodiscard]] ssl_ctx_st* handle() const noexcept { return context_; }

 private:
  ServerTlsContext() = default;
  [[nodiscard]] Result<void> set_rules(const ServiceSettings& settings);
  [[nodiscard]] Result<void> use_chain(const std::string& path);
  [[nodiscard]] Result<void> use_key(const ServiceSettings& settings);
  void look_at_dates(const std::string& path);

  ssl_ctx_st* context_ = nullptr;
  std::vector<std::string> warnings_;
};

/// The context of new handshakes, which can be replaced while the server answers. Connections keep
/// the one that they began with. Thread safety: all members from any thread.
class TlsSlot {
 public:
  /// Null before the first set().
  [[nodiscard]] std::shared_ptr<const ServerTlsContext> get() const {
    const std::lock_guard lock(mutex_);
    return context_;
  }
  void set(std::shared_ptr<const ServerTlsContext> context) noexcept {
    const std::lock_guard lock(mutex_);
    context_.swap(context);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const ServerTlsContext> context_;
};

}  // namespace framewire::service::http
