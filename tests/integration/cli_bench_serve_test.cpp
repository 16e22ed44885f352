// framewire bench serve: servers and clients as processes, on the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <set>
#include <tests/integration/support.hpp>
#include <thread>

namespace framewire::test {
namespace {

#ifdef FRAMEWIRE_SERVICE
using nlohmann::json;
using testing::HasSubstr;
using Words = std::vector<std::string>;

class CliBenchServe : public ::testing::Test {
 protected:
  void SetUp() override {
    for (unsigned i = 0; i < 3; ++i) {
      write_file(folder_ / ("in/" + std::to_string(i) + ".jpg"), make_jpeg(96, 64, i));
    }
    fs::create_directory(work());
  }
  [[nodiscard]] std::string work() const { return folder_ / "work"; }
  [[nodiscard]] Words bench(const Words& more) const {
    Words words = {"bench", "serve",  folder_ / "in", "--size",    "24x16",     "--codec",
                   "turbo", "--work", work(),         "--seconds", "0.2",       "--repeat",
                   "2",     "--json", "--window",     "8",         "--threads", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  /// Processes that were given a word below the work folder, zombies aside.
  [[nodiscard]] std::set<pid_t> processes() const {
    std::set<pid_t> found;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
      std::ifstream file(entry.path() / "cmdline", std::ios::binary);
      const std::string words((std::istreambuf_iterator<char>(file)), {});
      if (words.find(work() + "/framewire-bench-") != std::string::npos) {
        found.insert(std::stoi(entry.path().filename()));
      }
    }
    return found;
  }
  static std::vector<pid_t> children_of(pid_t parent) {
    std::ifstream file("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) +
                       "/children");
    return {std::istream_iterator<pid_t>(file), {}};
  }
  /// Ended, or only not yet reaped by who has inherited it.
  static bool is_over(pid_t pid) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string number, name, state;
    stat >> number >> name >> state;
    return state.empty() || state == "Z";
  }
  template <typename Condition>
  static bool comes(const Condition& condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition() && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return condition();
  }

  TemporaryFolder folder_;
};

TEST_F(CliBenchServe, EveryCombinationIsMeasuredAndVerified) {
  const Ran ran = run_program(bench({"--servers", "1,2", "--clients", "1,2"}));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const json result = json::parse(ran.out);
  // Four with engines apart, and one engine for four clients: for fewer it has been measured.
  ASSERT_EQ(result["rows"].size(), 5u);
  for (const json& row : result["rows"]) {
    EXPECT_GT(row["images_per_second"], 0) << row;
    EXPECT_GE(row["images_per_second_max"], row["images_per_second_min"]) << row;
    EXPECT_EQ(row["failures"], 0) << row;
    EXPECT_EQ(row["wrong"], 0) << row;
    EXPECT_GT(row["verified"], 0) << row;
    EXPECT_EQ(row["mps"], false);
    EXPECT_GT(row["times_us"]["total"], 0);
    for (const char* key : {"p50_max", "p99_max"}) EXPECT_GT(row["latency_ms"][key], 0);
    for (const char* key : {"servers", "clients", "mps"}) EXPECT_GE(row["busy_cores"][key], 0);
  }
  EXPECT_EQ(result["rows"][4]["engines"], "shared");
  EXPECT_EQ(result["rows"][4]["clients_a_server"], 4);
  EXPECT_EQ(result["lines"].size(), 4u);
  EXPECT_EQ(result["compared_with_published"], false);
  for (const char* key : {"machine", "commit", "inputs", "timed", "options", "devices", "driver"}) {
    EXPECT_TRUE(result.contains(key)) << key;
  }
  EXPECT_TRUE(fs::is_empty(work()));
}

TEST_F(CliBenchServe, PublishedFiguresStandWhereTheWorkIsThatOfTheirs) {
  const Words same = {"--servers",          "2",  "--clients",       "1", "--quality", "90",
                      "--restart-interval", "10", "--input-restart", "1", "--files",   "once"};
  Words published = bench(same);
  *std::find(published.begin(), published.end(), "24x16") = "320x180";
  published.insert(published.end(), {"--input-size", "1280x720"});
  const Ran ran = run_program(published);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const json result = json::parse(ran.out);
  EXPECT_EQ(result["compared_with_published"], true);
  EXPECT_EQ(result["lines"][0]["published"]["without_mps"], 837);
  EXPECT_EQ(result["lines"][0]["published"]["with_mps"], 1198);
  EXPECT_THAT(result["timed"].get<std::string>(), HasSubstr("not reading or writing files"));
  // Other sizes, and other inputs, are other work.
  const Ran other = run_program(bench(same));
  ASSERT_EQ(other.exit_code, 0) << other.err;
  EXPECT_EQ(json::parse(other.out)["lines"][0]["published"], nullptr);
}

TEST_F(CliBenchServe, TheTableHasALineForEachNumberOfServers) {
  Words words = bench({"--servers", "1", "--clients", "1,2"});
  words.erase(std::find(words.begin(), words.end(), "--json"));
  const Ran ran = run_program(words);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("published"));
  EXPECT_THAT(ran.out, HasSubstr("one engine"));
  EXPECT_THAT(ran.out, testing::Not(HasSubstr("Quadro")));
}

TEST_F(CliBenchServe, WithoutAGpuMpsIsUnsupported) {
  const Ran ran = run_program(bench({"--mps", "off,on", "--clients", "1"}));
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("unsupported: --mps on: the engine (--codec turbo) has no GPU"));
  const json result = json::parse(ran.out);
  EXPECT_EQ(result["rows"].size(), 1u);
  ASSERT_EQ(result["unavailable"].size(), 1u);
  EXPECT_EQ(result["unavailable"][0]["error"]["class"], "unsupported");
}

TEST_F(CliBenchServe, MisuseIsRefusedBeforeAnythingStarts) {
  const std::vector<Words> misuses = {
      {"--servers", "0"},       {"--servers", "1,x"},      {"--clients", "33"},
      {"--mps", "maybe"},       {"--engines", "none"},     {"--window", "0"},
      {"--window", "1025"},     {"--client-threads", "9"}, {"--input-restart", "-1"},
      {"--mps-threads", "101"}, {"--input-size", "10x"},   {"--servers", "16", "--clients", "3"}};
  for (const Words& misuse : misuses) {
    Words words = bench({});
    words.insert(words.end(), misuse.begin(), misuse.end());
    const Ran ran = run_program(words);
    EXPECT_EQ(ran.exit_code, 2) << misuse[0] << " " << misuse[1] << ": " << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(misuse[0])) << misuse[1];
  }
}

TEST_F(CliBenchServe, InputsThatAreNoneAreNamedAndLeftOut) {
  Bytes broken = make_jpeg(96, 64);
  broken.resize(40);
  write_file(folder_ / "in/broken.jpg", broken);
  const Ran ran = run_program(bench({"--clients", "1", "--engines", "separate"}));
  EXPECT_EQ(ran.exit_code, 1) << ran.err;
  const json result = json::parse(ran.out);
  EXPECT_EQ(result["failed"].size(), 1u);
  ASSERT_EQ(result["rows"].size(), 1u);
  EXPECT_EQ(result["rows"][0]["wrong"], 0);
}

TEST_F(CliBenchServe, AServerThatIsKilledIsTold) {
  Words words = bench({"--clients", "1", "--engines", "separate"});
  *std::find(words.begin(), words.end(), "0.2") = "30";
  std::thread killer([&] {
    if (comes([&] { return !processes().empty(); })) ::kill(*processes().begin(), SIGKILL);
  });
  const Ran ran = run_program(words);
  killer.join();
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("server 1 has ended: signal 9"));
  EXPECT_TRUE(fs::is_empty(work()));
}

TEST_F(CliBenchServe, NothingIsLeftAfterAnInterruption) {
  Words words = bench({"--clients", "2"});
  *std::find(words.begin(), words.end(), "0.2") = "30";
  const pid_t bench_process = start_program(words);
  EXPECT_TRUE(comes([&] { return !processes().empty(); }));
  ::kill(bench_process, SIGINT);
  EXPECT_EQ(wait_for(bench_process).exit_code, 130);
  EXPECT_TRUE(comes([&] { return processes().empty(); }));
  EXPECT_TRUE(fs::is_empty(work()));
}

TEST_F(CliBenchServe, NothingRunsOnWhenTheBenchIsKilled) {
  Words words = bench({"--clients", "2"});
  *std::find(words.begin(), words.end(), "0.2") = "30";
  const pid_t bench_process = start_program(words);
  EXPECT_TRUE(comes([&] { return children_of(bench_process).size() >= 3; }));
  const auto children = children_of(bench_process);
  ::kill(bench_process, SIGKILL);
  (void)wait_for(bench_process);
  for (const pid_t child : children) EXPECT_TRUE(comes([&] { return is_over(child); })) << child;
  EXPECT_TRUE(comes([&] { return processes().empty(); }));
  // What it has left is gone after the next run.
  EXPECT_FALSE(fs::is_empty(work()));
  const Ran next = run_program(bench({"--clients", "1", "--engines", "separate"}));
  EXPECT_EQ(next.exit_code, 0) << next.err;
  EXPECT_THAT(next.err, HasSubstr("removed folders that killed runs had left: 1"));
  EXPECT_TRUE(fs::is_empty(work()));
}
#endif

}  // namespace
}  // namespace framewire::test
