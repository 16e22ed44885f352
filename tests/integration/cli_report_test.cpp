// framewire report over manifests that strangers have written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <dataset/shard_record.hpp>
#include <tests/integration/support.hpp>

namespace framewire::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class CliReportAttack : public ::testing::Test {
 protected:
  CliReportAttack() { write_text(folder_ / "out/a.tar", "the output"); }
  /// A manifest with these rows, whose record tells of one failure.
  void put_manifest(const std::string& rows, const std::string& input) const {
    dataset::ShardRecord record;
    record.shard = "a.tar";
    record.input = input;
    record.bytes_out = 10;
    record.failed = 1;
    write_text(manifest_, rows + dataset::to_json_line(record));
  }
  [[nodiscard]] Ran report(const char* how) const {
    return run_program({"report", folder_ / "out", how});
  }

  const TemporaryFolder folder_;
  const std::string manifest_ = folder_ / "out/a.tar.jsonl";
};

TEST_F(CliReportAttack, RowsOfStrangersStayTexts) {
  const json row = {{"status", "failed"}, {"error_class", "\x1b[2Jgone"}, {"input", "1.jpg"}};
  put_manifest(row.dump() + "\n", "in/a.tar\n/etc/passwd");
  const Ran rows = report("--failures");
  EXPECT_THAT(rows.out, HasSubstr("[2Jgone"));
  EXPECT_THAT(rows.out, Not(HasSubstr("\x1b")));
  const Ran list = report("--retry-list");
  EXPECT_EQ(list.exit_code, 1);
  EXPECT_EQ(list.out, "");
  EXPECT_THAT(list.err, HasSubstr("has a line break"));
}

TEST_F(CliReportAttack, RowsHaveABound) {
  put_manifest(std::string(17u << 20, 'x') + "\n", "in/a.tar");
  const Ran ran = report("--json");
  EXPECT_NE(ran.exit_code, 0);
  EXPECT_THAT(ran.err, HasSubstr("too_large: " + manifest_));
}

// As a machine leaves them that lost its power, or a copy that was not finished.
TEST_F(CliReportAttack, ShardsWithoutAReadableManifestAreMadeAgain) {
  for (const std::string text : {"", R"({"shard":"a.tar","inp)"}) {
    write_text(manifest_, text);
    write_text(folder_ / "out/captions.jsonl", "{}\n");
    const Ran list = run_program({"report", folder_ / "out", folder_ / "in/a.tar", "--retry-list"});
    EXPECT_EQ(list.exit_code, 1);
    EXPECT_EQ(list.out, folder_ / "in/./a.tar" + "\n");
  }
}

// A batch over one of them alone would make out/a.tar of it.
TEST_F(CliReportAttack, ShardsToBeMadeAgainKeepTheirFolder) {
  dataset::ShardRecord record;
  record.failed = 1;
  const auto put = [&](const std::string& name) {
    record.shard = name;
    record.input = folder_ / ("in/" + name);
    write_text(folder_ / ("out/" + name), "");
    write_text(folder_ / ("out/" + name + ".jsonl"), dataset::to_json_line(record));
  };
  put("2023/a.tar");
  EXPECT_EQ(report("--retry-list").out, folder_ / "in/./2023/a.tar" + "\n");
  put("2024/a.tar");
  EXPECT_EQ(report("--retry-list").out,
            folder_ / "in/./2023/a.tar" + "\n" + (folder_ / "in/./2024/a.tar") + "\n");
}

// The list is for a batch, and messages are for logs.
TEST_F(CliReportAttack, SignaturesStandInTheListAlone) {
  const std::string query = "?sig=SECRET&list={x}&all=*";
  put_manifest("", "https://h/in/2023/a.tar");
  fs::create_directories(folder_ / "out/2023");
  fs::rename(folder_ / "out/a.tar", folder_ / "out/2023/a.tar");
  fs::rename(manifest_, folder_ / "out/2023/a.tar.jsonl");
  const auto retry = [&](const std::string& years) {
    return run_program({"report", folder_ / "out", "https://h/in/" + years + "/a.tar" + query,
                        "https://h/in/" + years + "/b.tar" + query, "--retry-list"});
  };
  const Ran list = retry("{2023,2024}");
  EXPECT_EQ(list.exit_code, 1);
  std::string expected;
  for (const char* name : {"2023/a", "2023/b", "2024/a", "2024/b"}) {
    expected += "https://h/in/" + std::string(name) + ".tar" + query + "\n";
  }
  EXPECT_EQ(list.out, expected) << "with what failed, and what is missing";
  EXPECT_EQ(list.err, "");
  for (const char* name : {"2023/b.tar", "2024/a.tar", "2024/b.tar"}) {
    dataset::ShardRecord record;
    record.bytes_out = 1;
    write_text(folder_ / ("out/" + std::string(name)), "x");
    write_text(folder_ / ("out/" + std::string(name) + ".jsonl"), dataset::to_json_line(record));
  }
  const Ran one = retry("{2023,2024}");
  EXPECT_EQ(one.out, "https://h/in/2023/a.tar" + query + "\n");
  EXPECT_THAT(one.err, HasSubstr("give it " + (folder_ / "out/2023") + " as OUT_DIR"));
  EXPECT_THAT(one.err, Not(HasSubstr("SECRET")));
}

// Data sets come from strangers, and so may modules beside them.
TEST_F(CliReportAttack, NothingInTheCurrentFolderIsRun) {
  put_manifest("", "in/a.tar");
  for (const char* module : {"json.py", "pyarrow.py"}) {
    write_text(folder_ / module, "open('" + (folder_ / "run") + "', 'w')\n");
  }
  const auto enter = [&] { ASSERT_EQ(::chdir(folder_.path().c_str()), 0); };
  (void)run_program({"report", folder_ / "out", "--parquet", folder_ / "rows"}, {}, enter);
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

// For reports as for batches.
TEST_F(CliReportAttack, ALinkToWhatFitsIsNoOutput) {
  put_manifest("", "in/a.tar");
  EXPECT_EQ(json::parse(report("--json").out)["shards"], 1);
  fs::rename(folder_ / "out/a.tar", folder_ / "elsewhere");
  fs::create_symlink(folder_ / "elsewhere", folder_ / "out/a.tar");
  EXPECT_EQ(json::parse(report("--json").out)["without_output"], json({"a.tar"}));
}

}  // namespace
}  // namespace framewire::test
