// framewire bench resize and jpeg2jpeg: what is measured, and what is not.
#include <gtest/gtest.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <tests/integration/support.hpp>

namespace framewire::test {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

class CliBench : public ::testing::Test {
 protected:
  CliBench() {
    write_file(in_, make_jpeg(64, 48));
    write_text(folder_ / "broken.jpg", "this is no JPEG");
  }

  const TemporaryFolder folder_;
  const std::string in_ = folder_ / "in.jpg";
};

TEST_F(CliBench, MeasuresEveryCodecAndNumberOfJobs) {
  const Ran ran = run_program({"bench", "resize", in_, folder_ / "broken.jpg", "--size", "32",
                               "--codec", "turbo,reference", "--jobs", "1,2", "--seconds", "0.02",
                               "--repeat", "3", "--json"});
  EXPECT_EQ(ran.exit_code, 1) << "one input fails";
  const json result = json::parse(ran.out);
  ASSERT_EQ(result["rows"].size(), 4u);
  for (const json& row : result["rows"]) {
    EXPECT_GT(row["images_per_second"], 0);
    EXPECT_LE(row["images_per_second_min"], row["images_per_second"]);
    EXPECT_GE(row["images_per_second_max"], row["images_per_second"]);
    EXPECT_LE(row["latency_ms"]["p50"], row["latency_ms"]["p99"]);
    EXPECT_LE(row["latency_ms"]["p99"], row["latency_ms"]["max"]);
    EXPECT_EQ(row["failures"], 0);
  }
  EXPECT_EQ(result["failed"].size(), 2u);
  EXPECT_EQ(result["inputs"]["count"], 2);
  EXPECT_FALSE(result["machine"]["cpu"].get<std::string>().empty());
  const Ran table = run_program({"bench", "resize", in_, "--seconds", "0.02", "--repeat", "1"});
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_TRUE(contains(table.out, "images/s")) << table.out;
}

TEST_F(CliBench, FeedsAnEngineFromItsOwnMemoryOrTheCallers) {
  for (const char* memory : {"own", "engine"}) {
    const Ran ran = run_program({"bench", "jpeg2jpeg", in_, folder_ / "broken.jpg", "--size", "32",
                                 "--codec", "turbo", "--batch", "3", "--memory", memory,
                                 "--seconds", "0.05", "--repeat", "2", "--json"});
    EXPECT_EQ(ran.exit_code, 1) << "one input fails";
    const json result = json::parse(ran.out);
    EXPECT_EQ(result["memory"], memory);
    EXPECT_EQ(result["failed"].size(), 1u);
    ASSERT_EQ(result["rows"].size(), 1u);
    const json& row = result["rows"][0];
    EXPECT_EQ(row["codec"], "turbo");
    EXPECT_GT(row["images_per_second"], 0);
    EXPECT_GT(row["bytes_out"], 0);
    EXPECT_EQ(row["failures"], 0);
    EXPECT_EQ(row["batch"], 3);
    EXPECT_GT(row["batch_latency_ms"]["p50"], 0);
  }
}

// A part that was not asked for takes no time and leaves no figures; each run is told by itself.
TEST_F(CliBench, MeasuresThePartsAskedForAndTellsEachRun) {
  const Words words = {"bench", "jpeg2jpeg", in_,    "--size",   "32", "--codec", "turbo", "--vary",
                       "size",  "--seconds", "0.05", "--repeat", "3",  "--parts"};
  const auto with = [&](const Words& more) {
    Words all = words;
    all.insert(all.end(), more.begin(), more.end());
    return run_program(all);
  };
  const Ran throughput = with({"throughput", "--json"});
  ASSERT_EQ(throughput.exit_code, 0) << throughput.err;
  const json row = json::parse(throughput.out)["rows"][0];
  EXPECT_FALSE(row.contains("latency_ms"));
  EXPECT_FALSE(row.contains("batch_latency_ms"));
  EXPECT_FALSE(row.contains("stages_us"));
  EXPECT_EQ(row["submitters"], 2);
  for (const json& of : {row, row["varied"]}) {
    ASSERT_EQ(of["runs"].size(), 3u);
    std::vector<double> rates;
    for (const json& run : of["runs"]) rates.push_back(run["images_per_second"]);
    std::sort(rates.begin(), rates.end());
    EXPECT_EQ(of["images_per_second_min"], rates[0]);
    EXPECT_EQ(of["images_per_second"], rates[1]);
    EXPECT_EQ(of["images_per_second_max"], rates[2]);
  }
  const Ran rate = with({"none", "--rate", "100", "--json"});
  ASSERT_EQ(rate.exit_code, 0) << rate.err;
  const json only = json::parse(rate.out)["rows"][0];
  EXPECT_FALSE(only.contains("images_per_second"));
  EXPECT_FALSE(only.contains("varied"));
  EXPECT_GT(only["open_loop"]["due"], 0);
  const Ran table = with({"none", "--rate", "100"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_TRUE(contains(table.out, "p99.9")) << table.out;
  EXPECT_EQ(with({"latency"}).exit_code, 0);
}

// A codec that is not there is told once, whatever there is to measure.
TEST_F(CliBench, ACodecThatIsNotThereIsTheEnvironments) {
  for (const char* what : {"resize", "jpeg2jpeg"}) {
    const Ran ran = run_program({"bench", what, in_, in_, "--codec", "cuda,turbo", "--seconds",
                                 "0.01", "--repeat", "1", "--json"});
    const json result = json::parse(ran.out);
    if (result["unavailable"].empty()) continue;  // of an engine with a GPU
    EXPECT_EQ(ran.exit_code, 3) << ran.err;
    EXPECT_EQ(result["unavailable"].size(), 1u) << ran.err;
    EXPECT_TRUE(result["failed"].empty()) << ran.err;
    EXPECT_EQ(result["rows"].size(), 1u) << "turbo is measured all the same";
  }
}

// What is kept under way varies like everything else.
TEST_F(CliBench, VariesWhatIsUnderWay) {
  const auto pixels_out = [&](const Words& more) {
    Words words = {"bench", "jpeg2jpeg", in_,     "--size",  "32x24", "--resize",
                   "force", "--codec",   "turbo", "--parts", "none",  "--under-way",
                   "4",     "--seconds", "0.1",   "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = run_program(words);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return json::parse(ran.out)["rows"][0]["under_way"][0]["pixels_out"].get<double>();
  };
  EXPECT_EQ(pixels_out({}), 32 * 24);
  EXPECT_NE(pixels_out({"--vary", "size"}), 32 * 24);
}

TEST_F(CliBench, TellsLatenciesOfSequentialInputsApart) {
  const std::string progressive = folder_ / "progressive.jpg";
  ASSERT_EQ(run_program({"resize", in_, progressive, "--progressive", "--always-encode"}).exit_code,
            0);
  const Ran ran =
      run_program({"bench", "jpeg2jpeg", in_, progressive, "--size", "32", "--codec", "turbo",
                   "--rate", "100", "--seconds", "0.4", "--repeat", "1", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const json open = json::parse(ran.out)["rows"][0]["open_loop"];
  const int all = open["later"]["answers"];
  const int sequential = open["later_sequential"]["answers"];
  EXPECT_GT(sequential, 0);
  EXPECT_LT(sequential, all);
  EXPECT_LE(open["later_sequential"]["max"], open["later"]["max"]);
}

TEST_F(CliBench, VariesRequestsSendsThemByTheClockAndShowsMemory) {
  const Words words = {"bench",     "jpeg2jpeg", in_,
                       "--size",    "32",        "--codec",
                       "turbo",     "--vary",    "size,crop,quality",
                       "--rate",    "100",       "--memory-over-time",
                       "--seconds", "0.4",       "--repeat",
                       "1"};
  Words as_json = words;
  as_json.emplace_back("--json");
  const Ran ran = run_program(as_json);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const json result = json::parse(ran.out);
  EXPECT_EQ(result["vary"], "size,crop,quality");
  EXPECT_EQ(result["seed"], 1);
  const json& row = result["rows"][0];
  EXPECT_GT(row["varied"]["images_per_second"], 0);
  EXPECT_GT(row["varied"]["megapixels_out_per_second"], 0);
  EXPECT_EQ(row["varied"]["failures"], 0);
  const json& open = row["open_loop"];
  EXPECT_EQ(open["failures"], 0);
  EXPECT_GT(open["due"], 10);
  EXPECT_LT(open["due"], 90);
  EXPECT_EQ(open["due"].get<int>(),
            open["first"]["answers"].get<int>() + open["later"]["answers"].get<int>());
  EXPECT_GT(open["later"]["p50"], 0);
  EXPECT_LE(open["later"]["p99"], open["later"]["p99.9"]);
  EXPECT_LE(open["later"]["p99.9"], open["later"]["max"]);
  EXPECT_FALSE(open.contains("later_sequential")) << "all inputs are alike";
  ASSERT_FALSE(row["memory_over_time"].empty());
  EXPECT_GT(row["memory_over_time"][0]["resident"], 1'000'000);
  EXPECT_EQ(json::parse(run_program(as_json).out)["rows"][0]["open_loop"]["due"], open["due"])
      << "the seed decides";
  const Ran table = run_program(words);
  EXPECT_TRUE(contains(table.out, "varied: ")) << table.out;
  EXPECT_TRUE(contains(table.out, "p99.9")) << table.out;
  EXPECT_TRUE(contains(table.out, "resident")) << table.out;
}

}  // namespace
}  // namespace framewire::test
