// framewire serve: mistakes in settings that would leave it open, or that nobody would find.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <string>
#include <tests/integration/support.hpp>
#include <utility>
#include <vector>

#ifdef FRAMEWIRE_SERVICE

namespace framewire::test {
namespace {

/// A variable of the environment for as long as this lives.
class GivenVariable {
 public:
  GivenVariable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~GivenVariable() { ::unsetenv(name_); }
  GivenVariable(const GivenVariable&) = delete;
  GivenVariable& operator=(const GivenVariable&) = delete;

 private:
  const char* name_;
};

TEST(CliServeSettings, VariablesThatMissASettingNameIt) {
  for (const auto& [wrong, right] : {std::pair("FRAMEWIRE_KEY", "FRAMEWIRE_KEYS"),
                                     std::pair("FRAMEWIRE_SALT", "FRAMEWIRE_SALTS"),
                                     std::pair("FRAMEWIRE_SECERT", "FRAMEWIRE_SECRET"),
                                     std::pair("FRAMEWIRE_ONLY_PRESET", "FRAMEWIRE_ONLY_PRESETS"),
                                     std::pair("FRAMEWIRE_CONFIG", "--config")}) {
    const GivenVariable given(wrong, "aa");
    const Ran ran = run_program({"serve", "--check"});
    EXPECT_EQ(ran.exit_code, 2) << wrong;
    EXPECT_TRUE(contains(ran.err, std::string(wrong) + ": ")) << ran.err;
    EXPECT_TRUE(contains(ran.err, right)) << ran.err;
    EXPECT_EQ(ran.out, "") << wrong;
  }
}

TEST(CliServeSettings, VariablesOfOthersAreIgnored) {
  for (const char* name :
       {"FRAMEWIRE_SERVICE_HOST", "FRAMEWIRE_SERVICE_PORT", "FRAMEWIRE_SERVICE_PORT_HTTP",
        "FRAMEWIRE_PORT", "FRAMEWIRE_PORT_8080_TCP", "FRAMEWIRE_PORT_8080_TCP_ADDR",
        "FRAMEWIRE_CACHE_PORT", "FRAMEWIRE_NAME", "FRAMEWIRE_PYTHON", "FRAMEWIRE_GPU_EXPERIMENT",
        "FRAMEWIRE_NONSENSE", "FRAMEWIRE_"}) {
    const GivenVariable given(name, "");
    const Ran ran = run_program({"serve", "--check"});
    EXPECT_EQ(ran.exit_code, 0) << name << ran.err;
  }
}

TEST(CliServeSettings, EmptySecretsAreRefused) {
  const TemporaryFolder folder;
  write_text(folder.path() / "a.toml", "\nkeys = [\"\"]\n");
  const std::string file = folder / "a.toml";
  const Ran in_file = run_program({"serve", "--config", file, "--check"});
  EXPECT_EQ(in_file.exit_code, 2);
  EXPECT_TRUE(contains(in_file.err, "a.toml:2")) << in_file.err;
  const Ran flag = run_program({"serve", "--secret", "", "--check"});
  EXPECT_EQ(flag.exit_code, 2);
  EXPECT_TRUE(contains(flag.err, "accepted: a text that is not empty")) << flag.err;
  const GivenVariable given("FRAMEWIRE_SECRET", "");
  EXPECT_EQ(run_program({"serve", "--check"}).exit_code, 2);
}

TEST(CliServeSettings, OneFolderAlone) {
  const TemporaryFolder folder;
  const Ran ran = run_program({"serve", "--check", "--folder", "/", folder.path().string()});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_TRUE(contains(ran.err, "folder: ")) << ran.err;
}

// Values as other programs' files have them.
TEST(CliServeSettings, TextsWithoutQuotesAreTold) {
  const TemporaryFolder folder;
  const std::string file = folder / "a.toml";
  const std::string hint =
      "; accepted: a number, true or false, or a text in quotes, such as \"10G\"";
  const auto said = [&](const std::string& line) {
    write_text(file, "\n" + line + "\nqueue = 3\n");
    const Ran ran = run_program({"serve", "--config", file, "--check"});
    EXPECT_EQ(ran.exit_code, 2) << line;
    EXPECT_TRUE(contains(ran.err, "a.toml:2: ")) << line << "\n" << ran.err;
    return ran.err;
  };
  for (const char* line :
       {"cache-size = 10G", "folder = photos", "folder = /srv/photos", "folder = ./photos",
        "ttl = 10s", "listen = 127.0.0.1:8080", "listen = localhost:80", "secret = nonsense",
        "secret = fab", "remote = True", "keys = [aa]", "folder = 2024-photos"}) {
    EXPECT_TRUE(contains(said(line), hint)) << line;
  }
  for (const char* line : {"folder = \"photos", "queue =", "a b = 1"}) {
    EXPECT_FALSE(contains(said(line), "in quotes")) << line;
  }
}

// Whatever finds the mistake, and however late.
TEST(CliServeSettings, MistakesInTheFileNameItsLine) {
  const TemporaryFolder folder;
  const std::string file = folder / "a.toml";
  const std::string none = folder / "none";
  write_text(folder.path() / "presets", "a=nonsense:1\n");
  for (const std::string& line :
       {std::string("path-prefix = \"foo\""), std::string("keys = [\"aa\"]"),
        std::string("keys = [\"xyz\"]\nsalts = [\"aa\"]"),
        std::string("max-target-bytes = \"64k\""), std::string("max-header-bytes = \"1k\""),
        "folder = \"" + none + "\"", "presets-file = \"" + none + "\"",
        "presets-file = \"" + (folder / "presets") + "\"", "fallback-image = \"" + none + "\"",
        std::string("s3-region = \"a\""),
        std::string("remote = true\nallowed-sources = [\"bad\"]")}) {
    write_text(file, "\n" + line + "\n");
    for (const char* how : {"--check", "--drain-delay=0"}) {
      const Ran ran = run_program({"serve", "--config", file, "--listen", "127.0.0.1:0", how});
      EXPECT_NE(ran.exit_code, 0) << line;
      const bool told = contains(ran.err, "a.toml:2)") || contains(ran.err, "a.toml:3)");
      EXPECT_TRUE(told) << line << "\n" << ran.err;
    }
  }
}

}  // namespace
}  // namespace framewire::test

#endif
