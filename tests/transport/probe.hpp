// Somebody at the door: key files, certificates, and what comes of showing them.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>
#include <framewire/transport.hpp>
#include <optional>
#include <string>
#include <vector>

namespace framewire::transport::testing {

inline constexpr const char* kKeys =
    "ann 00112233445566778899aabbccddeeff\nbob ffeeddccbbaa99887766554433221100\n";

/// What a certificate says of its holder; texts may hold anything.
struct Subject {
  std::vector<std::string> common_names;
  std::vector<std::pair<std::string, std::string>> alternatives;  ///< "DNS", "URI", "email", "IP"
};

class Probe : public ::testing::Test {
 protected:
  Probe();
  ~Probe() override;

  std::string write(const std::string& name, const std::string& text, ::mode_t mode = 0600);
  /// A certificate for `subject`, by `issuer` or, if empty, by itself; FILE.pem and FILE.key.
  /// Without a subject one whose common name is FILE.
  void certify(const std::string& file, const std::string& issuer,
               const std::optional<Subject>& subject = {});
  [[nodiscard]] Security certificates(const std::string& file, const std::string& authority) const;
  [[nodiscard]] static Security key(const std::string& file, const std::string& name = "");
  [[nodiscard]] static SessionOptions with(const Security& security);

  struct Outcome {
    Result<Channel> server = fail(StatusCode::kInternal, "");
    Result<Channel> client = fail(StatusCode::kInternal, "");
  };
  /// Whether each side lets the other in; a client in TLS 1.3 learns of its refusal when it reads.
  static Outcome meet(const SessionOptions& server, const SessionOptions& client);

  std::string folder_;
};

}  // namespace framewire::transport::testing
