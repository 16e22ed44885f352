// TLS for scripted origins, with certificates made for the test.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <tests/service/support/origin_server.hpp>

namespace framewire::service::test {

/// A certificate that signs itself, and its key.
class Certificate {
 public:
  /// @param name     a DNS name that it is for
  /// @param expired  whether its time is over
  explicit Certificate(const std::string& name, bool expired = false);
  ~Certificate();
  Certificate(const Certificate&) = delete;
  Certificate& operator=(const Certificate&) = delete;

  [[nodiscard]] std::string pem() const;
  /// Its private key. @param password  empty: without
  [[nodiscard]] std::string key_pem(const std::string& password = "") const;
  /// A script that shakes hands, reads one request, answers it, and closes in order.
  [[nodiscard]] std::function<void(Connection&)> answering(std::string answer) const;
  /// A script that says its part of the handshake, and hangs up without waiting for the client's.
  [[nodiscard]] std::function<void(Connection&)> hanging_up() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace framewire::service::test
