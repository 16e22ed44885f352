// Credentials in the environment and in the AWS tools' shared files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <store/environment.hpp>

namespace framewire::store {
namespace {

using testing::HasSubstr;
using testing::Not;

class SharedFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path() / "framewire-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    variables_["HOME"] = folder_;
    std::filesystem::create_directory(folder_ / ".aws");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
  }
  EnvironmentLookup environment() const {
    return [this](const char* name) -> std::optional<std::string> {
      const auto found = variables_.find(name);
      if (found == variables_.end()) return std::nullopt;
      return found->second;
    };
  }
  Result<std::optional<S3Credentials>> keys(const std::string& profile = {}) const {
    const auto loaded = SharedProfile::load(profile, environment());
    if (!loaded) return fail(loaded.error());
    return loaded->credentials();
  }

  std::filesystem::path folder_;
  std::map<std::string, std::string> variables_;
};

TEST_F(SharedFiles, NoneAreNoError) {
  const auto found = keys();
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_FALSE(*found);
}

TEST_F(SharedFiles, TheDefaultProfileIsTaken) {
  write(
      ".aws/credentials",
      "# comment\n[default]\naws_access_key_id = ID\naws_secret_access_key=S=E/C+R;ET # not this\n"
      "aws_session_token = TOKEN\r\n[other]\naws_access_key_id = no\n");
  write(".aws/config", "[default]\nregion = eu-west-1\ns3 =\n  max_concurrent_requests = 20\n");
  const auto found = keys();
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->access_key_id, "ID");
  EXPECT_EQ((*found)->secret_access_key, "S=E/C+R;ET");
  EXPECT_EQ((*found)->session_token, "TOKEN");
  EXPECT_EQ(SharedProfile::load("", environment())->value("region"), "eu-west-1");
  EXPECT_EQ(SharedProfile::load("", environment())->value("max_concurrent_requests"), std::nullopt);
}

TEST_F(SharedFiles, ProfilesByNameAndByEnvironment) {
  write("keys", "[work]\naws_access_key_id = A\naws_secret_access_key = B\n");
  write("conf", "[profile work]\nregion = eu-west-2\naws_access_key_id = X\n");
  variables_["AWS_SHARED_CREDENTIALS_FILE"] = folder_ / "keys";
  variables_["AWS_CONFIG_FILE"] = folder_ / "conf";
  EXPECT_EQ((*keys("work"))->access_key_id, "A");
  variables_["AWS_PROFILE"] = "work";
  EXPECT_EQ((*keys())->secret_access_key, "B");
  EXPECT_EQ(SharedProfile::load("", environment())->value("region"), "eu-west-2");
  const auto missing = keys("elsewhere");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), StatusCode::kInvalidInput);
  EXPECT_EQ(missing.error().subject(), "elsewhere");
}

TEST_F(SharedFiles, OtherWaysAreRefusedByName) {
  write(".aws/config",
        "[profile sso]\nsso_session = me\n[profile role]\nrole_arn = a\n"
        "aws_access_key_id = I\naws_secret_access_key = S\n");
  for (const auto& [profile, way] :
       {std::pair("sso", "sso_session"), std::pair("role", "role_arn")}) {
    const auto found = keys(profile);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), StatusCode::kUnsupported);
    EXPECT_THAT(found.error().to_string(), HasSubstr(way));
  }
}

TEST_F(SharedFiles, HalfAPairIsAnError) {
  write(".aws/credentials", "[default]\naws_secret_access_key = SECRET\n");
  const auto found = keys();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), StatusCode::kDenied);
  EXPECT_THAT(found.error().to_string(), Not(HasSubstr("SECRET")));
  variables_["AWS_ACCESS_KEY_ID"] = "ID";
  EXPECT_EQ(environment_credentials(environment()).error().code(), StatusCode::kDenied);
  variables_["AWS_SECRET_ACCESS_KEY"] = "SECRET";
  variables_["AWS_SESSION_TOKEN"] = "T";
  EXPECT_EQ((*environment_credentials(environment()))->session_token, "T");
}

TEST_F(SharedFiles, FilesThatAreNoneAreNamedWithTheLineAndWithoutIt) {
  write(".aws/credentials", "[default]\naws_access_key_id = ID\nSECRET\n");
  const auto found = keys();
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().to_string(), HasSubstr("/.aws/credentials"));
  EXPECT_THAT(found.error().to_string(), HasSubstr("line 3"));
  EXPECT_THAT(found.error().to_string(), Not(HasSubstr("SECRET")));
  write(".aws/credentials", std::string(2 << 20, ' '));
  EXPECT_EQ(keys().error().code(), StatusCode::kTooLarge);
}

TEST_F(SharedFiles, FilesThatCannotBeOpenedAreNamedWithTheReason) {
  const auto path = folder_ / ".aws/credentials";
  std::filesystem::create_symlink(path, path);
  const auto found = keys();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), StatusCode::kIoError);
  EXPECT_THAT(found.error().to_string(), HasSubstr(path.string()));
  EXPECT_THAT(found.error().to_string(), HasSubstr("Too many levels of symbolic links"));
}

TEST(IniFiles, Bounds) {
  EXPECT_EQ(parse_ini("name = before any section\n").error().code(), StatusCode::kInvalidInput);
  EXPECT_EQ(parse_ini("[open\n").error().code(), StatusCode::kInvalidInput);
  EXPECT_EQ(parse_ini(std::string(10'001, '\n')).error().code(), StatusCode::kTooLarge);
  std::string sections;
  for (int i = 0; i < 1'100; ++i) sections += "[s" + std::to_string(i) + "]\n";
  EXPECT_EQ(parse_ini(sections).error().code(), StatusCode::kTooLarge);
  EXPECT_TRUE(parse_ini(""));
}

}  // namespace
}  // namespace framewire::store
