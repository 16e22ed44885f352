// framewire perf as a process: where memory lies, and what is required of the path.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <tests/integration/support.hpp>

namespace framewire::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(CliPerf, TwoEndsInOneProcess) {
  const Ran ran = run_program(
      {"perf", "bw", "--from", "host", "--to", "host", "--sizes", "1K:2K", "--verify", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const json report = json::parse(ran.out);
  EXPECT_EQ(report["path"], "loopback");
  EXPECT_EQ(report["direct"], "none");
  EXPECT_EQ(report["staged_bytes"], 0);
  ASSERT_EQ(report["rows"].size(), 2U);
  EXPECT_GT(report["rows"][0]["average"], 0.0);
}

TEST(CliPerf, ContinuousWindowsDeliverEveryMessage) {
  for (const char* test : {"bw", "bibw"}) {
    const Ran ran =
        run_program({"perf", test, "--from", "host", "--to", "host", "--sizes", "1k", "--window",
                     "4", "--iterations", "50", "--continuous", "--verify", "--json"});
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    const json report = json::parse(ran.out);
    EXPECT_EQ(report["continuous"], true);
    EXPECT_GT(report["rows"][0]["average"], 0.0);
  }
}

TEST(CliPerf, ARequiredPathThatIsNotThereIsRefused) {
  const Ran ran =
      run_program({"perf", "bw", "--from", "host", "--to", "host", "--require", "nvlink"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.err, HasSubstr("nvlink is required"));
  EXPECT_THAT(ran.err, HasSubstr("framewire doctor"));
}

TEST(CliPerf, PlacesAndEndsAreChecked) {
  EXPECT_EQ(run_program({"perf", "bw", "--from", "cuda:x", "--to", "host"}).exit_code, 2);
  EXPECT_EQ(run_program({"perf", "bw", "--from", "host"}).exit_code, 2);
  EXPECT_EQ(run_program({"perf", "bw", "localhost:1", "--insecure", "--to", "host"}).exit_code, 2);
  const Ran none = run_program({"perf", "bw", "--from", "cuda:4096", "--to", "host"});
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_THAT(none.err, HasSubstr("unsupported"));
}

}  // namespace
}  // namespace framewire::test
