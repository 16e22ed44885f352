#include <gtest/gtest.h>
#include <csignal>
#include <tests/service/support/origin.hpp>
#include <tests/service/support/temporary_folder.hpp>
#include <tests/service/support/tls_script.hpp>

namespace framewire::service::source {
namespace {

class OriginTls : public ::testing::Test {
 protected:
  [[nodiscard]] SourceSettings trusting(const test::Certificate& authority) const {
    SourceSettings settings = test::remote();
    settings.ca_file = folder_.write("ca.pem", authority.pem()).string();
    return settings;
  }

  test::TemporaryFolder folder_;
};
class OriginTlsAttack : public OriginTls {};

TEST_F(OriginTls, ACertificateOfTheHostsFromATrustedAuthority) {
  const test::Certificate certificate("images.test");
  test::Origin origin(certificate.answering(test::ok("bytes")), trusting(certificate));
  const auto original = origin.fetch("https://images.test/a");
  ASSERT_TRUE(original) << original.error().message;
  EXPECT_EQ(test::text(*original), "bytes");
}

TEST_F(OriginTlsAttack, CertificatesThatAreNotTheHosts) {
  const test::Certificate right("images.test");
  const test::Certificate another("images.test");
  const test::Certificate late("images.test", true);
  const struct {
    const char* what;
    const test::Certificate& shown;
    SourceSettings settings;
    const char* url;
  } kRows[] = {
      {"another's name", right, trusting(right), "https://other.test/a"},
      {"nobody known", right, test::remote(), "https://images.test/a"},
      {"another authority", right, trusting(another), "https://images.test/a"},
      {"expired", late, trusting(late), "https://images.test/a"},
  };
  for (const auto& row : kRows) {
    test::Origin origin(row.shown.answering(test::ok("bytes")), row.settings);
    const auto original = origin.fetch(row.url);
    ASSERT_FALSE(original) << row.what;
    EXPECT_EQ(original.error().kind, FetchErrorKind::kTls)
        << row.what << ": " << original.error().message;
  }
}

TEST_F(OriginTlsAttack, ABodyThatEndsEarlyIsTruncated) {
  const test::Certificate certificate("images.test");
  test::Origin origin(certificate.answering("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbytes"),
                      trusting(certificate));
  EXPECT_EQ(origin.fetch("https://images.test/a").error().kind, FetchErrorKind::kTruncated);
}

// Writing to a connection that is gone must not end the process by SIGPIPE.
TEST_F(OriginTlsAttack, AnOriginThatHangsUpInTheHandshakeEndsNothing) {
  const auto old = std::signal(SIGPIPE, SIG_DFL);
  const test::Certificate certificate("images.test");
  test::Origin origin(certificate.hanging_up(), trusting(certificate));
  for (int i = 0; i < 20; ++i) {
    const auto original = origin.fetch("https://images.test/a");
    ASSERT_FALSE(original);
    EXPECT_TRUE(original.error().kind == FetchErrorKind::kTls ||
                original.error().kind == FetchErrorKind::kConnect)
        << to_string(original.error().kind);
  }
  (void)std::signal(SIGPIPE, old);
}

}  // namespace
}  // namespace framewire::service::source
