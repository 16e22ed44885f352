// Slips of the hand: values that a script has left empty, wrong names of files. What is refused has
// changed nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <tests/integration/cli_shards.hpp>
#include <tests/integration/support.hpp>

namespace framewire::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class CliMistakes : public CliShards {
 protected:
  CliMistakes() {
    write_file(folder_ / "a.jpg", make_jpeg(64, 48));
    write_file(folder_ / "in/a.jpg", make_jpeg(64, 48));
    write_text(folder_ / "hi.txt", "hi");
  }
  Ran run(const Words& words) const {
    return run_program(words, {}, [&] { fs::current_path(folder_.path()); });
  }
  /// Refused, with this said, and nothing changed.
  void refused(const Words& words, const std::string& says, int code = 2) const {
    const auto before = read_tree(folder_.path());
    const Ran ran = run(words);
    std::string line;
    for (const std::string& word : words) line += word + " ";
    EXPECT_EQ(ran.exit_code, code) << line << ": " << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(says)) << line;
    EXPECT_TRUE(read_tree(folder_.path()) == before) << line;
    EXPECT_FALSE(fs::exists(folder_ / "out")) << line;
  }
};

TEST_F(CliMistakes, AnEmptyValueIsNotAnOptionLeftOut) {
  const std::vector<std::pair<Words, std::string>> commands = {
      {{"batch", "in", "out", "--manifest", ""}, "--manifest: found no value; accepted: FILE"},
      {{"batch", "in", "out", "--metrics-file", ""}, "--metrics-file: found no value"},
      {{"batch", "in", "out", "--jobs", ""}, "--jobs: found no value; accepted: N"},
      {{"resize", "a.jpg", "b.jpg", "--device", ""}, "--device: found no value"},
      {{"tensor", "in", "--out", ""}, "--out: found no value; accepted: FILE"},
      {{"split", "in", "--out", ""}, "--out: found no value; accepted: DIR"},
      {{"split", "in", "--devices", ""}, "--devices: found no value; accepted: LIST"},
      {{"index", "s.tar", "--out", ""}, "--out: found no value"},
      {{"index", "s.tar", "--wids", ""}, "--wids: found no value"},
      {{"doctor", "--svg", ""}, "--svg: found no value; accepted: FILE"},
      {{"stream", "in", "127.0.0.1:1", "--psk", ""}, "--psk: found no value; accepted: FILE"},
      {{"resize", "a.jpg", "b.jpg", "--strict="},
       "--strict: found nothing after '='; accepted: true or false"},
      {{"resize", "a.jpg", "b.jpg", "--quiet="}, "--quiet: found nothing after '='"},
      {{"resize", "a.jpg", "--mode=", "b.jpg"}, "--mode: found no value; accepted: OCTAL"},
      {{"resize", "a.jpg", "b.jpg", "--quiet=on"}, "--quiet: found 'on'; accepted: true or false"},
      {{"resize", "a.jpg", ""}, "OUT: found an empty name; accepted: framewire resize IN OUT"},
      {{"resize", "", "b.jpg"}, "IN: found an empty name"},
      {{"batch", "in", ""}, "OUT_DIR: found an empty name"},
      {{"stream", "", "127.0.0.1:1", "--insecure"}, "IN…: found an empty name"},
  };
  for (const auto& [words, says] : commands) refused(words, says);
}

TEST_F(CliMistakes, AFlagTakesTrueAndFalse) {
  EXPECT_EQ(run({"resize", "a.jpg", "b.jpg", "--quiet=true"}).err, "");
  EXPECT_NE(run({"resize", "a.jpg", "b.jpg", "--quiet=false", "--in-place=false"}).err, "");
  // As if it were not there.
  EXPECT_EQ(run({"batch", "in", "%02d.tar", "--pack", "64K", "--in-place=false"}).exit_code, 0);
}

#ifdef FRAMEWIRE_SERVICE
TEST_F(CliMistakes, AServiceDoesNotStartWithoutItsFileOfSettings) {
  refused({"serve", "--config", "", "--check"}, "--config: found no value; accepted: FILE");
  EXPECT_EQ(run({"serve", "--metrics", "", "--check"}).exit_code, 0) << "takes a setting back";
  const Ran none = run({"serve", "--fallback-image", "none.jpg", "--check"});
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_THAT(none.err, HasSubstr("cannot open: No such file or directory"));
}
#endif

TEST_F(CliMistakes, AWrongWordIsNamed) {
  refused({"bench", "nosuch"}, "found 1 argument, 'nosuch'");
  refused({"perf", "nosuch", "127.0.0.1:1", "--insecure"},
          "found 'nosuch'; accepted: framewire perf");
  refused({"perf", "nosuch"}, "found 'nosuch'");
  refused({"batch", "in", "out/%d.tar", "--pack", "0"},
          "--pack: found '0'; accepted: a number of bytes from 64K");
  refused({"batch", "in", "out/%d.tar", "--pack", "63k"}, "--pack: found '63k'");
}

// Python is not asked for a table that would have no rows.
TEST_F(CliMistakes, ATableIsNotReplacedByAnEmptyOne) {
  write_text(folder_ / "python", "#!/bin/sh\ncat >/dev/null\necho PAR1 none >rows.parquet\n");
  fs::permissions(folder_ / "python", fs::perms::owner_all);
  write_text(folder_ / "rows.parquet", "PAR1 many");
  const auto before = read_tree(folder_.path());
  const Ran ran = run_program({"report", "in", "--parquet", "rows.parquet"}, {}, [&] {
    fs::current_path(folder_.path());
    ::setenv("FRAMEWIRE_PYTHON", "./python", 1);
  });
  EXPECT_EQ(ran.exit_code, 2) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("in: --parquet: found no manifest here"));
  EXPECT_TRUE(read_tree(folder_.path()) == before);
}

}  // namespace
}  // namespace framewire::test
