// Secrets that others have a say in, and what a stranger learns about keys.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <base/file_descriptor.hpp>
#include <chrono>
#include <fstream>
#include <tests/transport/probe.hpp>
#include <transport/wire/secret_file.hpp>
#include <transport/wire/socket.hpp>

namespace framewire::transport {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class AttackSecret : public testing::Probe {
 protected:
  // Each secret in turn is the file at that path; what listening with it says.
  std::vector<Status> listen_with(const std::string& path) {
    std::vector<Status> said;
    auto certificate = certificates("receiver", "authority");
    certificate.key = path;
    for (const Security& security : {key(path), certificate}) {
      const auto listener = Listener::listen("localhost:0", with(security));
      said.push_back(listener ? Status(StatusCode::kInternal, "it listens") : listener.error());
    }
    return said;
  }
  void expect(const std::string& path, StatusCode code, const std::string& what,
              const std::string& remedy = "") {
    for (const Status& status : listen_with(path)) {
      EXPECT_EQ(status.code(), code) << status.to_string();
      EXPECT_THAT(status.to_string(), AllOf(HasSubstr(path), HasSubstr(what), HasSubstr(remedy)));
    }
  }
  // A file that would do for both: PEM's reader skips what is before the key, and the key file's
  // lines are wrong only at the second.
  void SetUp() override {
    certify("authority", "");
    certify("receiver", "authority");
  }
};

TEST_F(AttackSecret, OthersMayNeitherReadNorWriteIt) {
  for (const ::mode_t mode : {0644U, 0640U, 0604U, 0620U, 0602U, 0610U}) {
    expect(write("secret", testing::kKeys, mode), StatusCode::kDenied,
           fmt::format("mode {:04o}", mode), "chmod 600");
  }
}

TEST_F(AttackSecret, ItIsThisUsersOrRoots) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to give files away";
  const auto path = write("secret", testing::kKeys);
  ASSERT_EQ(::chown(path.c_str(), 65534, 0), 0);
  expect(path, StatusCode::kDenied, "belongs to user 65534", "chown");
}

TEST_F(AttackSecret, APipeIsNotWaitedFor) {
  const std::string path = folder_ + "/pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const auto start = std::chrono::steady_clock::now();
  expect(path, StatusCode::kInvalidInput, "no regular file");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  expect("/dev/zero", StatusCode::kInvalidInput, "no regular file");
  expect(folder_, StatusCode::kInvalidInput, "no regular file");
}

TEST_F(AttackSecret, ItHasABound) {
  const auto path = write("secret", testing::kKeys);
  ASSERT_EQ(::truncate(path.c_str(), std::int64_t{1} << 40), 0);
  expect(path, StatusCode::kInvalidInput, "at most");
}

// What is judged is what is read: a link is as good as the file that it leads to.
TEST_F(AttackSecret, ALinkIsJudgedByWhereItLeads) {
  const auto open = write("open", testing::kKeys, 0644);
  const std::string path = folder_ + "/link";
  ASSERT_EQ(::symlink(open.c_str(), path.c_str()), 0);
  expect(path, StatusCode::kDenied, "mode 0644", "chmod 600");
  ::chmod(open.c_str(), 0400);
  EXPECT_TRUE(Listener::listen("localhost:0", with(key(path))));
}

constexpr std::size_t kSecretBytes = 1000;
constexpr char kSecretByte = 'k';

wire::Secret some_secret() {
  wire::Secret secret(kSecretBytes);
  std::fill_n(secret.data(), secret.size(), static_cast<std::uint8_t>(kSecretByte));
  return secret;
}

// How much of a secret lies there, in memory that may have been given back: as whoever may read
// this process' memory sees it.
std::size_t left_at(const std::uint8_t* address, std::size_t bytes) {
  std::array<char, kSecretBytes> seen{};
  const base::FileDescriptor memory(::open("/proc/self/mem", O_RDONLY | O_CLOEXEC));
  const auto count = ::pread(memory.get(), seen.data(), std::min(bytes, seen.size()),
                             static_cast<off_t>(reinterpret_cast<std::uintptr_t>(address)));
  EXPECT_EQ(count, static_cast<ssize_t>(bytes));
  return static_cast<std::size_t>(std::count(seen.begin(), seen.end(), kSecretByte));
}

TEST_F(AttackSecret, ItIsOverwrittenWhenItIsNotNeeded) {
  const std::uint8_t* where = nullptr;
  {
    wire::Secret secret = some_secret();
    where = secret.data();
    EXPECT_EQ(left_at(where, kSecretBytes), kSecretBytes);
    secret.shrink(900);
    EXPECT_EQ(left_at(where, kSecretBytes), 900U);
    const wire::Secret moved = std::move(secret);
    EXPECT_EQ(moved.data(), where);  // no copy is made
    EXPECT_EQ(secret.size(), 0U);    // NOLINT(bugprone-use-after-move)
  }
  EXPECT_EQ(left_at(where, kSecretBytes), 0U);

  wire::Secret replaced = some_secret();
  where = replaced.data();
  replaced = wire::Secret(10);
  EXPECT_EQ(left_at(where, kSecretBytes), 0U);
}

// A name that exists and one that does not look the same to who has no key: the same alert, and the
// same in every attempt.
TEST_F(AttackSecret, TheAlertDoesNotTellWhoseKeysThereAre) {
  const auto server = with(key(write("keys", testing::kKeys)));
  const auto try_name = [&](const std::string& name) {
    const auto file = write("try", name + " 99112233445566778899aabbccddeeff\n");
    const auto outcome = meet(server, with(key(file)));
    EXPECT_EQ(outcome.server.error().code(), StatusCode::kDenied);
    EXPECT_FALSE(outcome.client);
    return outcome.client.error().to_string();
  };
  const auto known = try_name("ann");
  EXPECT_THAT(known, HasSubstr("alert"));
  for (const char* name : {"eve", "bob", "an", "annn", "zzzzzzzzzzzzzzzzzzzzzzzzz"}) {
    EXPECT_EQ(try_name(name), known) << name;
  }
}

}  // namespace
}  // namespace framewire::transport
