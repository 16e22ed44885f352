// framewire batch as a process: killed, interrupted, resumed.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <chrono>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <tests/integration/support.hpp>
#include <thread>

namespace framewire::test {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

constexpr int kImages = 40;

std::size_t lines_of(const std::string& path) {
  std::ifstream file(path);
  return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
}

/// A folder of JPEGs large enough that a batch can be caught in the middle.
class CliBatch : public ::testing::Test {
 protected:
  void SetUp() override {
    const Bytes large = make_jpeg(1600, 1200);
    for (int i = 0; i < kImages; ++i) {
      const std::string name = (i % 4 == 0 ? "deep/er/" : "") + std::to_string(100 + i) + ".jpg";
      write_file(folder_ / ("in/" + name), large);
    }
  }

  [[nodiscard]] Words batch(const std::string& out, Words more = {}) const {
    Words words = {"batch", folder_ / "in", folder_ / out, "--size", "200x", "--jobs", "2"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  /// Sends `signal` once the manifest has `rows` rows.
  Ran stop_after(std::size_t rows, const Words& arguments, const std::string& manifest,
                 int signal) {
    const pid_t process = start_program(arguments);
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (lines_of(manifest) < rows && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ::kill(process, signal);
    return wait_for(process);
  }

  /// The same. Where the batch was at its end before the signal came, from the beginning again.
  Ran stop_in_the_middle(std::size_t rows, const Words& arguments, const std::string& manifest,
                         int signal) {
    Ran ran;
    for (int i = 0; i < 10; ++i) {
      ran = stop_after(rows, arguments, manifest, signal);
      if (ran.exit_code != 0) break;
      fs::remove_all(folder_ / "out");
      fs::remove(manifest);
    }
    return ran;
  }

  const TemporaryFolder folder_;
};

TEST_F(CliBatch, SurvivesKillAtAnyMoment) {
  ASSERT_EQ(run_program(batch("clean")).exit_code, 0);
  const auto expected = read_tree(folder_ / "clean");
  ASSERT_EQ(expected.size(), static_cast<std::size_t>(kImages));
  const std::string manifest = folder_ / "m.jsonl";
  const Words arguments = batch("out", {"--manifest", manifest, "--resume"});
  for (const std::size_t rows : {1u, 7u, 16u, 25u}) {
    const Ran ran = stop_in_the_middle(rows, arguments, manifest, SIGKILL);
    ASSERT_EQ(ran.signal, SIGKILL) << "the batch ended before it could be killed: use more images";
    for (const auto& [name, bytes] : read_tree(folder_ / "out")) {
      if (name.find(".framewire-") != std::string::npos) continue;
      ASSERT_EQ(bytes, expected.at(name)) << "half a file: " << name;
    }
  }

  // What a kill can leave at worst: a torn row and a temporary file.
  write_text(folder_ / "out/deep/er/.framewire-999999-0.tmp", "half");
  std::ofstream(manifest, std::ios::app) << R"({"input":"torn)";
  const std::size_t recorded = lines_of(manifest);
  const Ran last = run_program(batch("out", {"--manifest", manifest, "--resume", "--json"}));
  ASSERT_EQ(last.exit_code, 0) << last.err;
  EXPECT_EQ(read_tree(folder_ / "out"), expected);
  const json summary = json::parse(last.out);
  EXPECT_EQ(summary["inputs"], kImages);
  EXPECT_EQ(summary["unchanged"].get<std::size_t>(), recorded) << "did again what was recorded";
  std::set<std::string> names;
  for (const json& row : read_rows(manifest)) {
    EXPECT_EQ(row["status"], "ok");
    EXPECT_TRUE(names.insert(row["name"].get<std::string>()).second) << row["name"];
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kImages));
}

TEST_F(CliBatch, InterruptDrainsAndIsResumed) {
  const std::string manifest = folder_ / "m.jsonl";
  const Words arguments = batch("out", {"--manifest", manifest, "--resume"});
  const Ran ran = stop_in_the_middle(5, arguments, manifest, SIGINT);
  EXPECT_EQ(ran.exit_code, 130);
  EXPECT_LT(lines_of(manifest), static_cast<std::size_t>(kImages));
  EXPECT_EQ(read_tree(folder_ / "out").size(), lines_of(manifest)) << "a file without its row";
  EXPECT_EQ(run_program(arguments).exit_code, 0);
  EXPECT_EQ(read_tree(folder_ / "out").size(), static_cast<std::size_t>(kImages));
}

TEST_F(CliBatch, ShardsAndJobsGiveTheSameFiles) {
  ASSERT_EQ(run_program(batch("one", {"--jobs", "1"})).exit_code, 0);
  for (const char* shard : {"1/3", "2/3", "3/3"}) {
    ASSERT_EQ(run_program(batch("parts", {"--shard", shard, "--jobs", "5"})).exit_code, 0);
  }
  EXPECT_EQ(read_tree(folder_ / "one"), read_tree(folder_ / "parts"));
}

TEST_F(CliBatch, OutputInsideTheInputIsNotReadAgain) {
  for (int round = 0; round < 2; ++round) {
    const Ran ran = run_program(
        batch("in/small", {"--json", "--manifest", folder_ / "in/m.jsonl", "--resume"}));
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    const json summary = json::parse(ran.out);
    EXPECT_EQ(summary["inputs"], kImages);
    EXPECT_EQ(summary["skipped"], 0) << "took its own manifest for an input";
    EXPECT_EQ(summary["unchanged"], round == 0 ? 0 : kImages);
  }
}

TEST_F(CliBatch, ReportsFailuresSkipsAndSuccess) {
  write_text(folder_ / "in/bad.jpg", "no JPEG");
  write_text(folder_ / "in/notes.txt", "words");
  const Ran ran = run_program(batch("out", {"--json", "--manifest", folder_ / "m.jsonl"}));
  EXPECT_EQ(ran.exit_code, 1);
  const json summary = json::parse(ran.out);
  EXPECT_EQ(summary["ok"], kImages);
  EXPECT_EQ(summary["failed"], 1);
  EXPECT_EQ(summary["skipped"], 1);
  EXPECT_EQ(summary["errors"], json({{"invalid_input", 1}})) << "of what has failed alone";
  EXPECT_EQ(summary["options"], "size=200x");
  EXPECT_NE(ran.err.find("invalid_input: " + (folder_ / "in/bad.jpg")), std::string::npos);
  EXPECT_EQ(ran.err.find("notes.txt"), std::string::npos) << "skips are for the manifest";
  EXPECT_EQ(lines_of(folder_ / "m.jsonl"), static_cast<std::size_t>(kImages) + 2);

  const Ran stopped = run_program(batch(
      "out2", {"--json", "--on-error", "fail", "--max-scans", "1", "--max-input-pixels", "1"}));
  EXPECT_EQ(stopped.exit_code, 1);
  EXPECT_LE(json::parse(stopped.out)["failed"], 2) << "went on after the first failure";
}

TEST_F(CliBatch, TakesListsAndFiles) {
  const std::string list = folder_ / "list";
  write_text(list, folder_ / "in/101.jpg\n" + (folder_ / "in/102.jpg") + "\n");
  const Words options = {"--size", "50x", "--json"};
  const auto run = [&](Words words) {
    words.insert(words.end(), options.begin(), options.end());
    const Ran ran = run_program(words);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return json::parse(ran.out)["ok"].get<int>();
  };
  EXPECT_EQ(run({"batch", "@" + list, folder_ / "a"}), 2);
  EXPECT_EQ(run({"batch", folder_ / "b", "--files-from", list}), 2);
  EXPECT_EQ(run({"batch", folder_ / "in/101.jpg", folder_ / "in/deep/er/100.jpg", folder_ / "c"}),
            2);
  EXPECT_EQ(run({"batch", folder_ / "in/101.jpg", folder_ / "d"}), 1);
  EXPECT_EQ(read_tree(folder_ / "a"), read_tree(folder_ / "b"));
  EXPECT_TRUE(fs::exists(folder_ / "c/101.jpg"));
  EXPECT_TRUE(fs::exists(folder_ / "c/deep/er/100.jpg"));
  EXPECT_TRUE(fs::exists(folder_ / "d/101.jpg"));
}

TEST_F(CliBatch, AListsFirstEntryIsRefusedAlone) {
  write_text(folder_ / "list", "../x.jpg\n" + (folder_ / "in/101.jpg") + "\n");
  const Ran ran =
      run_program({"batch", "@" + (folder_ / "list"), folder_ / "out", "--size", "50x", "--json"});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_EQ(json::parse(ran.out)["ok"], 1);
  EXPECT_EQ(run_program({"batch", "@", folder_ / "out"}).exit_code, 2);
}

TEST_F(CliBatch, TakesAListFromStandardInputWithAnyNames) {
  const std::string odd = folder_ / "in/new\nline \xff.jpg";
  fs::rename(folder_ / "in/101.jpg", odd);
  const std::string names = odd + '\0' + (folder_ / "in/102.jpg") + '\0';
  const Ran ran = run_program({"batch", folder_ / "out", "--files-from", "-", "--null", "--size",
                               "50x", "--manifest", folder_ / "m.jsonl"},
                              Bytes(names.begin(), names.end()));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(read_tree(folder_ / "out").size(), 2u);
  EXPECT_EQ(read_rows(folder_ / "m.jsonl").size(), 2u);
}

/// As `<(…)` of a shell gives it: whoever reads it a second time waits forever, or finds nothing.
TEST_F(CliBatch, TakesAListFromAPipeWhichIsReadOnce) {
  const std::string pipe = folder_ / "names";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string names = (folder_ / "in/101.jpg") + "\n" + (folder_ / "in/102.jpg") + "\n";
  std::thread writer([&] { write_text(pipe, names); });
  const Ran ran = run_program(
      {"batch", folder_ / "out", "--files-from", pipe, "--size", "50x", "--progress", "never"});
  writer.join();
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(read_tree(folder_ / "out").size(), 2u);
}

TEST_F(CliBatch, ProgressIsShownWhenAskedForAndOnlyThen) {
  const Ran silent = run_program(batch("a"));
  EXPECT_EQ(silent.err.find("images/s  "), std::string::npos) << silent.err;
  const Ran shown = run_program(batch("b", {"--progress", "always"}));
  EXPECT_NE(shown.err.find("40/40 100%"), std::string::npos) << shown.err;
  EXPECT_EQ(shown.err.find('\r'), std::string::npos) << "a file is no terminal";
  const Ran quiet = run_program(batch("c", {"--quiet"}));
  EXPECT_EQ(quiet.err, "");
}

TEST_F(CliBatch, DurableOutputsAreTheSame) {
  ASSERT_EQ(run_program(batch("a")).exit_code, 0);
  ASSERT_EQ(run_program(batch("b", {"--durability", "file"})).exit_code, 0);
  EXPECT_EQ(read_tree(folder_ / "a"), read_tree(folder_ / "b"));
}

}  // namespace
}  // namespace framewire::test
