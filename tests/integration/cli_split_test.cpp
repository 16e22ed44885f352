// framewire split as a process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <tests/integration/support.hpp>

namespace framewire::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CliSplit : public ::testing::Test {
 protected:
  void SetUp() override {
    for (unsigned i = 0; i < 6; ++i) {
      write_file(folder_ / ("in/" + std::to_string(i % 2) + "/" + std::to_string(i) + ".jpg"),
                 make_jpeg(300 + static_cast<int>(i), 200, i));
    }
  }
  const TemporaryFolder folder_;
};

TEST_F(CliSplit, WritesWhatBatchWrites) {
  const Ran plain = run_program(
      {"batch", folder_ / "in", folder_ / "plain", "--size", "120x", "--codec", "turbo"});
  ASSERT_EQ(plain.exit_code, 0) << plain.err;
  const Ran split = run_program({"split", folder_ / "in", "--out", folder_ / "split", "--size",
                                 "120x", "--devices", "host,host,host", "--json"});
  ASSERT_EQ(split.exit_code, 0) << split.err;
  EXPECT_EQ(read_tree(folder_ / "split"), read_tree(folder_ / "plain"));
  const json report = json::parse(split.out);
  EXPECT_EQ(report["images"], 6);
  ASSERT_EQ(report["devices"].size(), 3U);
  for (const json& device : report["devices"]) {
    EXPECT_EQ(device["stripes"], 6);
    EXPECT_EQ(device["path"], "loopback");
  }
}

TEST_F(CliSplit, PlanesAreY4m) {
  const Ran split = run_program({"split", folder_ / "in/0/0.jpg", "--out", folder_ / "out", "--as",
                                 "planes", "--size", "31x17", "--resize", "force"});
  ASSERT_EQ(split.exit_code, 0) << split.err;
  const std::string file = read_text(folder_ / "out/0.jpg.y4m");
  const std::string head = "YUV4MPEG2 W31 H17 F1:1 Ip A1:1 C420jpeg XCOLORRANGE=FULL\nFRAME\n";
  EXPECT_THAT(file, StartsWith(head));
  EXPECT_EQ(file.size(), head.size() + 31 * 17 + 2 * 16 * 9);
}

TEST_F(CliSplit, BadInputsAreNamedAndOthersGoOn) {
  write_text(folder_ / "no.jpg", "no JPEG");
  const Ran split =
      run_program({"split", folder_ / "no.jpg", folder_ / "missing.jpg", folder_ / "in/0/0.jpg",
                   "--out", folder_ / "out", "--size", "50x"});
  EXPECT_EQ(split.exit_code, 1);
  EXPECT_THAT(split.err, HasSubstr("no.jpg: no JPEG"));
  EXPECT_THAT(split.err, HasSubstr("missing.jpg: cannot open"));
  EXPECT_EQ(read_tree(folder_ / "out").size(), 1U);
}

TEST_F(CliSplit, UsageErrorsSayWhatIsAccepted) {
  EXPECT_EQ(run_program({"split"}).exit_code, 2);
  for (const char* devices : {"0,host", "host,0", "0,,1", "cuda:0", "x"}) {
    const Ran mixed = run_program({"split", folder_ / "in", "--devices", devices});
    EXPECT_EQ(mixed.exit_code, 2) << mixed.err;
    EXPECT_THAT(mixed.err, HasSubstr("--devices"));
  }
  const Ran alone = run_program({"split", folder_ / "in", "--encode-on", "0"});
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_THAT(alone.err, HasSubstr("with --devices of GPUs"));
  const Ran path = run_program({"split", folder_ / "in", "--devices", "host", "--require", "p2p"});
  EXPECT_EQ(path.exit_code, 3);
  EXPECT_THAT(path.err, HasSubstr("from host to host"));
  const Ran codec = run_program({"split", folder_ / "in", "--codec", "reference"});
  EXPECT_EQ(codec.exit_code, 2);
  EXPECT_THAT(codec.err, HasSubstr("auto, turbo"));
}

}  // namespace
}  // namespace framewire::test
