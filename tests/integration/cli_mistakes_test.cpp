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

TEST_F(CliMistakes, OneInputThatIsNotThereIsNoFolder) {
  refused({"batch", "typo.jpg", "out"}, "io_error: typo.jpg: cannot open: No such file", 3);
  refused({"split", "typo.jpg"}, "io_error: typo.jpg: cannot open: No such file", 3);
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  refused({"batch", "pipe", "out"}, "pipe: is a pipe, a socket or a device; accepted: a folder");
}

TEST_F(CliMistakes, AListThatCannotBeReadIsNamed) {
  write_text(folder_ / "list", "a.jpg\n");
  fs::permissions(folder_ / "list", fs::perms::none);
  for (const Words& words : {Words{"batch", "@list", "out"}, Words{"split", "@list"}}) {
    const Ran ran = run_program(words, {}, [&] {
      fs::current_path(folder_.path());
      // Root reads everything otherwise.
      ::prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE);
      ::prctl(PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH);
    });
    EXPECT_EQ(ran.exit_code, 3);
    EXPECT_THAT(ran.err, HasSubstr("io_error: list: cannot open the list: Permission denied"));
  }
}

TEST_F(CliMistakes, OneListAtATime) {
  write_text(folder_ / "list", "a.jpg\n");
  const std::string says = "accepted: one list at a time, and nothing beside it";
  refused({"batch", "@list", "@other", "out"}, "@list: " + says);
  refused({"batch", "a.jpg", "@list", "out"}, "a file of such a name is ./@list");
  refused({"tensor", "@list", "a.jpg"}, "@list: " + says);
  write_file(folder_ / "@b.jpg", make_jpeg(64, 48));
  const Ran ran = run({"batch", "a.jpg", "@b.jpg", "out"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(fs::exists(folder_ / "out/@b.jpg"));
}

TEST_F(CliMistakes, ShardsInAFolderOfPicturesAreNamed) {
  fs::create_directory(folder_ / "my in");
  make_shard("s", 1);
  const Ran one = run({"batch", "in", "out"});
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_THAT(one.err, HasSubstr("framewire: 1 tar shard was skipped; name it: framewire batch "
                                 "in/s.tar OUT_DIR\n"));
  fs::rename(folder_ / "in/s.tar", folder_ / "my in/s.tar");
  fs::copy(folder_ / "my in/s.tar", folder_ / "my in/t.tar");
  EXPECT_THAT(run({"batch", "my in", "out"}).err,
              HasSubstr("2 tar shards were skipped; name them: framewire batch 'my in/'*.tar "
                        "OUT_DIR\n"));
  fs::create_directory(folder_ / "my in/deep");
  fs::rename(folder_ / "my in/s.tar", folder_ / "my in/deep/s.tar");
  EXPECT_THAT(run({"batch", "my in", "out"}).err, HasSubstr("framewire batch @LIST OUT_DIR\n"));
  EXPECT_EQ(run({"batch", "my in", "out", "--quiet"}).err, "");
}

TEST_F(CliMistakes, ShardsInAListFromAPipeAreTold) {
  make_shard("s", 1);
  const std::string names = "in/s.tar\nhi.txt\n";
  const auto said = [&](const Words& words) {
    const Ran ran =
        run_program(words, {names.begin(), names.end()}, [&] { fs::current_path(folder_.path()); });
    EXPECT_EQ(ran.exit_code, 1) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("hi.txt: does not begin with FF D8, as JPEG does (at"));
    return ran.err;
  };
  EXPECT_THAT(said({"batch", "--files-from", "-", "out"}),
              HasSubstr("in/s.tar: does not begin with FF D8, as JPEG does; a list of shards must "
                        "be a file: @LIST"));
  write_text(folder_ / "list", "hi.txt\nin/s.tar\n");
  EXPECT_THAT(said({"batch", "@list", "out"}),
              HasSubstr("as JPEG does; a list names shards alone, or pictures alone"));
}

TEST_F(CliMistakes, AFolderOfAWebServerIsRefused) {
  const std::string says =
      " is the name of a folder, and web servers have no listing; accepted: whole names, or braces";
  refused({"batch", "http://127.0.0.1:1/photos/", "out"}, "http://127.0.0.1:1/photos/:" + says);
  refused({"batch", "http://127.0.0.1:1/p/?sig=SECRET", "out"}, "http://127.0.0.1:1/p/:" + says);
  refused({"batch", "http://127.0.0.1:1", "out"}, says);
  refused({"batch", "http://127.0.0.1:1/a.jpg", "http://127.0.0.1:1/p/", "out"}, "/p/:" + says);
  refused({"batch", "http://127.0.0.1:1/*.jpg", "out"}, "has a wildcard, and web servers");
  for (const char* word : {"http://u:SECRET@127.0.0.1:1/p/", "http://u:SECRET@127.0.0.1:1/*"}) {
    EXPECT_THAT(run({"batch", word, "out"}).err, Not(HasSubstr("SECRET")));
  }
}

TEST_F(CliMistakes, AFolderIsNoList) {
  fs::create_directory(folder_ / "names");
  const Ran ran = run({"batch", "@names", "out"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.err, HasSubstr("io_error: names: cannot read the list: it is a folder"));
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(CliMistakes, AManifestThatIsRefusedMakesNoFolder) {
  refused({"batch", "in", "out", "--manifest", "hi.txt"}, "hi.txt: its first line is no row");
  ASSERT_EQ(run({"batch", "in", "made", "--manifest", "rows.jsonl"}).exit_code, 0);
  refused({"batch", "in", "out", "--manifest", "rows.jsonl"}, "has rows already; give --resume");
  refused({"batch", "in", "out", "--manifest", "m.jsonl", "--metrics-file", "./m.jsonl"},
          "--metrics-file: ./m.jsonl is the manifest, too; accepted: two files");
  EXPECT_EQ(run({"batch", "in", "out", "--manifest", "out/m.jsonl"}).exit_code, 0);
  EXPECT_TRUE(fs::exists(folder_ / "out/m.jsonl"));
}

TEST_F(CliMistakes, ObjectsAreNotReplacedInPlace) {
  refused({"batch", "s3://photos/raw/", "out", "--in-place"}, "--in-place replaces files");
}

TEST_F(CliMistakes, IndicesDoNotReplaceOneAnother) {
  make_shard("s", 2);
  refused({"index", "in/s.tar", "--wids", "hi.txt"}, "--wids: hi.txt is a file of another kind");
  refused({"index", "in/s.tar", "--wids", "in/../in/s.idx"}, "is the index of in/s.tar for DALI");
  EXPECT_EQ(run({"index", "in/s.tar", "--wids", "in/s.idx", "--format", "wids"}).exit_code, 0);
}

TEST_F(CliMistakes, AShardThatIsNotThereIsAnInputThatFailed) {
  make_shard("s", 2);
  for (const Words& words : {Words{"index", "in/none.tar"}, Words{"batch", "in/none.tar", "out"}}) {
    const Ran ran = run(words);
    EXPECT_EQ(ran.exit_code, 1) << words[0] << ": " << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("in/none.tar: cannot open: No such file")) << words[0];
  }
  const Ran unwritten = run({"index", "in/s.tar", "--out", "hi.txt/x"});
  EXPECT_EQ(unwritten.exit_code, 3) << unwritten.err;
}

// What the missing tasks should do would be done by nobody.
TEST_F(CliMistakes, AnArrayOfSlurmsWithGapsIsRefused) {
  const auto code = [&](const char* last) {
    return run_program({"batch", "in", "out", "--shard", "auto"}, {}, [&] {
      fs::current_path(folder_.path());
      ::setenv("SLURM_ARRAY_TASK_ID", "3", 1);
      ::setenv("SLURM_ARRAY_TASK_MIN", "3", 1);
      ::setenv("SLURM_ARRAY_TASK_MAX", last, 1);
      ::setenv("SLURM_ARRAY_TASK_STEP", "1", 1);
      ::setenv("SLURM_ARRAY_TASK_COUNT", "2", 1);
    });
  };
  const Ran gaps = code("7");
  EXPECT_EQ(gaps.exit_code, 2);
  EXPECT_THAT(gaps.err, HasSubstr("2 tasks between 3 and 7, with gaps; accepted: arrays"));
  EXPECT_EQ(code("4").exit_code, 0);
}

TEST_F(CliMistakes, ATaskThatIsNoNumberIsNamed) {
  for (const char* index : {"-1", "abc", ""}) {
    const Ran ran = run_program({"batch", "in", "out", "--shard", "auto"}, {}, [&] {
      fs::current_path(folder_.path());
      ::setenv("JOB_COMPLETION_INDEX", index, 1);
      ::setenv("FRAMEWIRE_SHARD_COUNT", "3", 1);
    });
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_THAT(ran.err, HasSubstr(std::string("JOB_COMPLETION_INDEX is '") + index + "'"));
  }
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

// A wrong folder would pass for one in which all is done.
TEST_F(CliMistakes, AReportOfNothingIsRefused) {
  const std::string says =
      "in: found no manifest here; accepted: the folder of a batch's manifests";
  refused({"report", "in"}, says);
  refused({"report", "in", "--retry-list"}, says);
  refused({"report", "in", "--json"}, says);
  refused({"report", "in", "--failures"}, says);
  EXPECT_EQ(run({"report", "in", "x/{0..1}.tar"}).exit_code, 1) << "these are missing";
  make_shard("s", 1);
  ASSERT_EQ(run({"batch", "in/s.tar", "out"}).exit_code, 0);
  EXPECT_EQ(run({"report", "out"}).exit_code, 0);
}

TEST_F(CliMistakes, ATableIsNotWrittenToStandardOutput) {
  make_shard("s", 1);
  ASSERT_EQ(run({"batch", "in/s.tar", "made"}).exit_code, 0);
  refused({"report", "made", "--parquet", "-"},
          "--parquet: a table is not written to standard output; accepted: a file");
}

TEST_F(CliMistakes, InspectSaysAnErrorOnStandardErrorToo) {
  const Ran text = run({"inspect", "hi.txt"});
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_THAT(text.err, HasSubstr("framewire: invalid_input: hi.txt: "));
  const Ran as_json = run({"inspect", "hi.txt", "--json"});
  EXPECT_THAT(as_json.err, HasSubstr("framewire: invalid_input: hi.txt: "));
  EXPECT_EQ(json::parse(as_json.out)["error"]["class"], "invalid_input");
}

}  // namespace
}  // namespace framewire::test
