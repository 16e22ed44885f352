// Certificates whose names pretend to be another's.
#include <gmock/gmock.h>
#include <tests/transport/probe.hpp>

namespace framewire::transport {
namespace {

using ::testing::HasSubstr;
using testing::Subject;

class AttackName : public testing::Probe {
 protected:
  AttackName() {
    certify("authority", "");
    certify("receiver", "authority", Subject{{"receiver"}, {{"IP", "127.0.0.1"}}});
  }
  // Somebody with a certificate of the authority's, where the server lets in `allowed` only.
  Result<Channel> knock(const Subject& subject, std::vector<std::string> allowed = {"alice"}) {
    certify("somebody", "authority", subject);
    auto server = with(certificates("receiver", "authority"));
    server.security.allowed = std::move(allowed);
    auto outcome = meet(server, with(certificates("somebody", "authority")));
    return std::move(outcome.server);
  }
  void expect_denied(const Subject& subject, const std::string& why) {
    const auto server = knock(subject);
    ASSERT_FALSE(server);
    EXPECT_EQ(server.error().code(), StatusCode::kDenied);
    EXPECT_THAT(server.error().message(), HasSubstr(why));
  }
  // What a client says of a server with that certificate, which it has dialled as 127.0.0.1.
  Result<Channel> dial(const Subject& subject) {
    certify("server", "authority", subject);
    certify("sender", "authority");
    auto outcome =
        meet(with(certificates("server", "authority")), with(certificates("sender", "authority")));
    return std::move(outcome.client);
  }
};

TEST_F(AttackName, ANameDoesNotEndAtItsFirstNul) {
  const std::string name("alice\0.evil.example", 19);
  expect_denied({{name}, {}}, "NUL");
  expect_denied({{}, {{"DNS", name}}}, "NUL");
  expect_denied({{}, {{"URI", name}}}, "NUL");
  expect_denied({{}, {{"email", name}}}, "NUL");
  expect_denied({{std::string("alice\0", 6)}, {}}, "NUL");
}

TEST_F(AttackName, OfSeveralNamesNoneCounts) {
  expect_denied({{"alice", "mallory"}, {}}, "several common names");
  expect_denied({{"mallory", "alice"}, {}}, "several common names");
  expect_denied({{}, {{"DNS", "alice"}, {"DNS", "mallory"}}}, "2 alternative names");
  expect_denied({{}, {{"DNS", "alice"}, {"email", "mallory@evil.example"}}}, "2 alternative");
}

TEST_F(AttackName, AlternativeNamesCountBeforeTheCommonName) {
  expect_denied({{"alice"}, {{"DNS", "mallory"}}}, "'mallory' is not on the list");
  expect_denied({{"alice"}, {{"URI", "spiffe://evil.example/mallory"}}}, "mallory' is not");
  expect_denied({{"alice"}, {{"email", "mallory@evil.example"}}}, "mallory@evil.example' is not");
}

TEST_F(AttackName, ANameIsText) {
  expect_denied({{"ali\x1b[2Jce"}, {}}, "control characters");
  expect_denied({{},
                 {{"DNS",
                   "ali\x9b"
                   "2Jce"}}},
                "control characters");  // CSI in 8 bits
  expect_denied({{}, {{"DNS", ""}}}, "found 0 bytes");
  expect_denied({{}, {{"DNS", std::string(300, 'a')}}}, "found 300 bytes");
  expect_denied({{}, {}}, "no name");
}

TEST_F(AttackName, HonestNamesPass) {
  const auto passes = [&](const Subject& subject, const std::string& name) {
    const auto server = knock(subject, {"someone", name});
    ASSERT_TRUE(server) << server.error().to_string();
    EXPECT_EQ(server->config().peer, name);
  };
  passes({{"alice"}, {}}, "alice");
  passes({{"J\xc3\xb6rg"}, {}}, "J\xc3\xb6rg");
  passes({{"alice"}, {{"IP", "127.0.0.1"}}}, "alice");  // an address is nobody's name
  passes({{"another"}, {{"DNS", "alice"}}}, "alice");
  passes({{}, {{"URI", "spiffe://example/alice"}}}, "spiffe://example/alice");
  passes({{}, {{"email", "alice@example"}}}, "alice@example");
}

TEST_F(AttackName, AServerIsWhomTheClientHasDialled) {
  const auto good = dial({{}, {{"IP", "127.0.0.1"}, {"DNS", "one"}, {"DNS", "two"}}});
  ASSERT_TRUE(good) << good.error().to_string();
  EXPECT_EQ(good->config().peer, "127.0.0.1");
  for (const Subject& subject :
       {Subject{{"127.0.0.1"}, {}}, Subject{{}, {{"DNS", "127.0.0.1"}}},
        Subject{{"127.0.0.1"}, {{"IP", "127.0.0.2"}}}, Subject{{}, {{"DNS", "localhost"}}},
        Subject{{}, {{"DNS", std::string("127.0.0.1\0.evil.example", 23)}}}}) {
    EXPECT_FALSE(dial(subject));
  }
}

}  // namespace
}  // namespace framewire::transport
