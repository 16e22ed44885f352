// What framewire batch tells of shards and of pictures while it runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>
#include <tests/integration/cli_shards.hpp>

namespace framewire::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class CliPack : public CliShards {
 protected:
  void make_pictures(int count) const {
    for (int i = 0; i < count; ++i) {
      write_file(folder_ / ("pictures/" + std::to_string(100 + i) + ".jpg"),
                 make_jpeg(64, 48, static_cast<unsigned>(i)));
    }
  }
  [[nodiscard]] Ran pack(const Words& more = {}) const {
    Words words = {
        "batch", folder_ / "pictures", folder_ / "out/%d.tar", "--pack", "64K", "--progress",
        "json",  "--metrics-file",     folder_ / "metrics"};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words);
  }
  /// The last line of progress.
  static json told_at_the_end(const Ran& ran) {
    std::istringstream lines(ran.err);
    json last;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with('{')) continue;
      json event = json::parse(line);
      if (event["event"] == "end") last = std::move(event);
    }
    return last;
  }
};

TEST_F(CliPack, ProgressCountsWhatIsInShardsAlready) {
  make_pictures(60);
  ASSERT_EQ(pack().exit_code, 0);
  const json again = told_at_the_end(pack({"--resume"}));
  EXPECT_EQ(again["unchanged"], 60);
  EXPECT_EQ(again["handled"], 60);
  EXPECT_EQ(again["total"], 60);
  EXPECT_THAT(read_text(folder_ / "metrics"), HasSubstr("inputs_total{result=\"unchanged\"} 60\n"));
  make_pictures(63);
  const json more = told_at_the_end(pack({"--resume"}));
  EXPECT_EQ(more["unchanged"], 60);
  EXPECT_EQ(more["ok"], 3);
  EXPECT_EQ(more["handled"], 63);
  EXPECT_EQ(more["total"], 63);
}

TEST_F(CliPack, AShardThatIsMissingIsNoFailedPicture) {
  make_shard("a", 3);
  const Ran ran =
      run_program({"batch", folder_ / "in/a.tar", folder_ / "in/none.tar", folder_ / "out",
                   "--progress", "json", "--json", "--metrics-file", folder_ / "metrics"});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.err, HasSubstr("none.tar"));
  const json told = told_at_the_end(ran);
  EXPECT_EQ(told["ok"], 3);
  EXPECT_EQ(told["handled"], 3);
  EXPECT_EQ(told["failed"], 0);
  EXPECT_TRUE(told["errors"].empty());
  EXPECT_EQ(told["shards_failed"], 1);
  EXPECT_EQ(told["shard_errors"]["io_error"], 1);
  const json summary = json::parse(ran.out);
  EXPECT_EQ(summary["inputs"], 3);
  EXPECT_EQ(summary["failed"], 0);
  EXPECT_TRUE(summary["errors"].empty());
  EXPECT_EQ(summary["shards"]["failed"], 1);
  const std::string metrics = read_text(folder_ / "metrics");
  EXPECT_THAT(metrics, HasSubstr("inputs_total{result=\"failed\"} 0\n"));
  EXPECT_THAT(metrics, HasSubstr("shards_failed_total 1\n"));
}

}  // namespace
}  // namespace framewire::test
