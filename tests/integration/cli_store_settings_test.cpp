// What is wrong with the settings of a store is said once, with the exit code that tells who must
// act.
#ifdef FRAMEWIRE_SERVICE
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cstdlib>
#include <tests/integration/support.hpp>

namespace framewire::test {
namespace {

using Words = std::vector<std::string>;
using ::testing::HasSubstr;
using ::testing::Not;

class CliStoreSettings : public ::testing::Test {
 protected:
  /// In an environment without credentials, or with such as no store knows.
  [[nodiscard]] Ran run(const Words& words, bool credentials) const {
    return run_program(words, {}, [&] {
      for (const char* name : {"AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3",
                               "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}) {
        ::unsetenv(name);
      }
      ::setenv("HOME", folder_.path().c_str(), 1);
      ::setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
      if (!credentials) return;
      ::setenv("AWS_ACCESS_KEY_ID", "key", 1);
      ::setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
    });
  }
  [[nodiscard]] std::vector<Words> commands() const {
    return {{"batch", "s3://photos/s-{0..2}.tar", folder_ / "out", "--size", "20x"},
            {"batch", "s3://photos/s-{0..2}.tar", folder_ / "out", "--unpack"},
            {"batch", "s3://photos/p/", folder_ / "out"},
            {"index", "s3://photos/s-{0..2}.tar", "--out", folder_ / "out"}};
  }
  static int lines(const std::string& text) {
    return static_cast<int>(std::ranges::count(text, '\n'));
  }

  const TemporaryFolder folder_;
};

TEST_F(CliStoreSettings, CredentialsThatAreMissingAreTheEnvironments) {
  for (const Words& words : commands()) {
    const Ran ran = run(words, false);
    EXPECT_EQ(ran.exit_code, 3) << ran.err;
    EXPECT_EQ(lines(ran.err), 1) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("denied: s3://photos/"));
    EXPECT_THAT(ran.err, HasSubstr("there are no credentials"));
  }
}

TEST_F(CliStoreSettings, AWrongValueIsToldOnceByItsOption) {
  for (const auto& [option, value] : {std::pair{"--endpoint", "127.0.0.1:9000"},
                                      {"--region", "US East"},
                                      {"--profile", "nosuch"}}) {
    for (Words words : commands()) {
      words.insert(words.end(), {option, value});
      const Ran ran = run(words, false);
      EXPECT_EQ(ran.exit_code, 2) << ran.err;
      EXPECT_EQ(lines(ran.err), 1) << ran.err;
      EXPECT_THAT(ran.err, HasSubstr(std::string(option) + ": " + value + " is "));
    }
  }
  const Ran secret =
      run({"batch", "s3://photos/p/", folder_ / "out", "--endpoint", "http://user:secret@h"}, true);
  EXPECT_EQ(secret.exit_code, 2);
  EXPECT_THAT(secret.err, Not(HasSubstr("secret")));
}

// Nobody listens there.
TEST_F(CliStoreSettings, AStoreThatIsNotThereIsAReasonToTryAgain) {
  for (Words words : commands()) {
    words.insert(words.end(), {"--endpoint", "http://127.0.0.1:1"});
    const Ran ran = run(words, true);
    EXPECT_EQ(ran.exit_code, 3) << words[2] << ran.err;
  }
}

}  // namespace
}  // namespace framewire::test
#endif
