// framewire batch over tar shards, as a process: what comes out, what resumes, what a kill leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <future>
#include <set>
#include <tests/integration/cli_shards.hpp>
#include <thread>

namespace framewire::test {
namespace {

using dataset::test::Archive;
using dataset::test::walk;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Name and content of each member, in order.
std::vector<std::pair<std::string, Bytes>> members(const Bytes& shard) {
  std::vector<std::pair<std::string, Bytes>> all;
  const auto found = walk(shard);
  EXPECT_FALSE(found.error) << found.error->to_string();
  for (const auto& member : found.members) {
    const auto begin = shard.begin() + static_cast<std::ptrdiff_t>(member.content);
    all.emplace_back(member.header.name,
                     Bytes(begin, begin + static_cast<std::ptrdiff_t>(member.header.size)));
  }
  return all;
}

std::vector<std::string> names(const Bytes& shard) {
  std::vector<std::string> all;
  for (const auto& [name, content] : members(shard)) all.push_back(name);
  return all;
}

TEST_F(CliShards, ComeOutWithTheirNamesAndMembersInOrder) {
  Archive archive;
  const Bytes jpeg = make_jpeg(80, 60);
  archive.file("README", "read me").file("d/", "", '5');
  archive.file("d/1.cls", "7").file("d/1.jpg", view(jpeg)).file("d/1.json", "{}");
  archive.file("d/2.bin", view(jpeg));  // a JPEG by its content
  archive.pax("comment", "kept").file("d/2.txt", "two");
  archive.file("d/2.txt", "twice")
      .header("d/3.jpg", '1', "00000000000")
      .field(157, "d/1.jpg")
      .end();
  write_file(folder_ / "in/a.tar", archive.bytes);
  write_file(folder_ / "plain/1.jpg", jpeg);
  const Ran ran = run_program(batch("a.tar"));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  ASSERT_EQ(run_program({"batch", folder_ / "plain", folder_ / "small", "--size", "32x"}).exit_code,
            0);

  const Bytes small = read_file(folder_ / "small/1.jpg");
  const auto expected = members(archive.bytes);
  const auto made = members(out("a.tar"));
  ASSERT_EQ(made.size(), expected.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    EXPECT_EQ(made[i].first, expected[i].first);
    const bool picture = made[i].first == "d/1.jpg" || made[i].first == "d/2.bin";
    EXPECT_EQ(made[i].second, picture ? small : expected[i].second) << made[i].first;
  }
  EXPECT_THAT(std::string(view(out("a.tar"))), HasSubstr("comment=kept"));
  EXPECT_EQ(out("a.tar").size() % 512, 0u);
  const json last = record("a.tar");
  EXPECT_EQ(last["shard"], "a.tar");
  EXPECT_EQ(last["samples"], 2) << "a link is no file, and no part of a sample";
  EXPECT_EQ(last["ok"], 2);
  EXPECT_EQ(last["copied"], 7);
  EXPECT_EQ(last["bytes_out"], out("a.tar").size());
  EXPECT_TRUE(last["damaged_at"].is_null());
  const auto rows = read_rows(folder_ / "out/a.tar.jsonl");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0]["name"], "d/1.jpg");
  EXPECT_EQ(rows[0]["output"], (folder_ / "out/a.tar") + ": d/1.jpg");
  EXPECT_EQ(read_tree(folder_ / "out").size(), 2u) << "something else was left";
}

// Readers pass over what is no file or has no key: a sample goes on behind it.
TEST_F(CliShards, WhatLiesInASampleAndIsNoPartOfItSplitsNone) {
  const Bytes jpeg = make_jpeg(80, 60);
  const std::vector<std::string> between = {"d/", "README", "z.jpg", "__meta__"};
  const auto put_between = [](Archive& archive, const std::string& name, std::string_view text) {
    if (name == "d/") archive.header(name, '5', "00000000000");
    if (name == "z.jpg") archive.header(name, '2', "00000000000").field(157, "a.jpg");
    if (name == "README") archive.file(name, text);
    if (name == "__meta__") archive.pax("mtime", "1000", 'g');
  };
  Archive archive;
  archive.file("first", "1");
  for (std::size_t i = 0; i < between.size(); ++i) {
    for (const std::string& key : {"bad" + std::to_string(i), "good" + std::to_string(i)}) {
      archive.file(key + ".jpg", key.starts_with("bad") ? "no JPEG" : view(jpeg));
      put_between(archive, between[i], "r");
      archive.file(key + ".txt", "caption");
    }
  }
  archive.file("bad-jpg.jpg", "no JPEG").file("keyless", view(jpeg)).file("bad-jpg.txt", "caption");
  archive.file("g.jpg", view(jpeg)).file("odd", "\xFF\xD8\xFFgarbage").file("g.txt", "caption");
  write_file(folder_ / "in/a.tar", archive.end().bytes);
  const Ran ran = run_program(batch("a.tar"));
  EXPECT_EQ(ran.exit_code, 1) << ran.err;
  std::vector<std::string> expected = {"first"};
  for (std::size_t i = 0; i < between.size(); ++i) {
    const std::string shown = between[i] == "__meta__" ? "PaxHeader" : between[i];
    const std::string key = "good" + std::to_string(i);
    expected.insert(expected.end(), {shown, key + ".jpg", shown, key + ".txt"});
  }
  expected.insert(expected.end(), {"keyless", "g.jpg", "g.txt"});
  EXPECT_EQ(names(out("a.tar")), expected);
  const json last = record("a.tar");
  EXPECT_EQ(last["samples"], 5);
  EXPECT_EQ(last["dropped"], 5);
  EXPECT_EQ(last["failed"], 6);
  const Ran kept = run_program(batch("a.tar", {"--failed-samples", "keep", "--resume"}));
  EXPECT_EQ(kept.exit_code, 1);
  EXPECT_EQ(names(out("a.tar")), names(archive.bytes));
}

TEST_F(CliShards, BracesPartsAndJobsGiveTheSame) {
  for (int i = 0; i < 5; ++i) make_shard("s-00" + std::to_string(i), 4);
  const Ran all = run_program(batch("s-{000..004}.tar"));
  ASSERT_EQ(all.exit_code, 0) << all.err;
  EXPECT_EQ(shards(all)["written"], 5);
  EXPECT_EQ(json::parse(all.out)["ok"], 20);
  auto expected = read_tree(folder_ / "out");
  fs::remove_all(folder_ / "out");
  std::uint64_t written = 0;
  for (const char* part : {"1/2", "2/2"}) {
    const Ran ran = run_program(batch("s-{000..004}.tar", {"--shard", part, "--jobs", "1"}));
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    written += shards(ran)["written"].get<std::uint64_t>();
  }
  EXPECT_EQ(written, 5u);
  for (const auto& [name, bytes] : read_tree(folder_ / "out")) {
    if (name.ends_with(".tar")) {
      EXPECT_EQ(bytes, expected.at(name)) << name;
    }
  }
}

TEST_F(CliShards, TheEnvironmentSaysWhichPart) {
  for (int i = 0; i < 3; ++i) make_shard("s-" + std::to_string(i), 1);
  const auto run = [&](const std::vector<std::pair<const char*, const char*>>& environment) {
    fs::remove_all(folder_ / "out");
    return run_program(batch("s-{0..2}.tar", {"--shard", "auto"}), {}, [&] {
      for (const auto& [name, value] : environment) ::setenv(name, value, 1);
    });
  };
  EXPECT_EQ(run({}).exit_code, 2);
  const Ran slurm = run({{"SLURM_ARRAY_TASK_ID", "12"},
                         {"SLURM_ARRAY_TASK_MIN", "10"},
                         {"SLURM_ARRAY_TASK_MAX", "14"},
                         {"SLURM_ARRAY_TASK_STEP", "2"},
                         {"SLURM_ARRAY_TASK_COUNT", "3"}});
  EXPECT_EQ(slurm.exit_code, 0) << slurm.err;
  EXPECT_TRUE(fs::exists(folder_ / "out/s-1.tar"));
  EXPECT_FALSE(fs::exists(folder_ / "out/s-0.tar"));
  const Ran kubernetes = run({{"JOB_COMPLETION_INDEX", "2"}, {"FRAMEWIRE_SHARD_COUNT", "3"}});
  EXPECT_EQ(kubernetes.exit_code, 0) << kubernetes.err;
  EXPECT_TRUE(fs::exists(folder_ / "out/s-2.tar"));
  const Ran aws = run({{"AWS_BATCH_JOB_ARRAY_INDEX", "0"}, {"AWS_BATCH_JOB_ARRAY_SIZE", "3"}});
  EXPECT_EQ(aws.exit_code, 0) << aws.err;
  EXPECT_TRUE(fs::exists(folder_ / "out/s-0.tar"));
  EXPECT_EQ(run({{"JOB_COMPLETION_INDEX", "2"}}).exit_code, 2) << "of how many?";
  EXPECT_EQ(run({{"JOB_COMPLETION_INDEX", "3"}, {"FRAMEWIRE_SHARD_COUNT", "3"}}).exit_code, 2);
}

TEST_F(CliShards, FailedSamplesAreLeftOutOrKept) {
  Archive archive;
  const Bytes jpeg = make_jpeg(80, 60);
  archive.file("1.json", "1").file("1.left.jpg", view(jpeg)).file("1.right.jpg", "no JPEG");
  archive.file("2.jpg", view(jpeg)).file("2.json", "2");
  archive.header("3.jpg", 'S', "00000000000").file("3.txt", "3").end();
  write_file(folder_ / "in/a.tar", archive.bytes);
  const Ran ran = run_program(batch("a.tar"));
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.err, HasSubstr("a.tar: 1.right.jpg"));
  EXPECT_THAT(ran.err, HasSubstr("a.tar: 3.jpg: is sparse"));
  EXPECT_THAT(names(out("a.tar")), ElementsAre("2.jpg", "2.json"));
  EXPECT_EQ(record("a.tar")["dropped"], 2);
  EXPECT_EQ(record("a.tar")["failed"], 3);
  std::map<std::string, std::string> classes;
  for (const json& row : read_rows(folder_ / "out/a.tar.jsonl")) {
    if (row.contains("name") && !row["error_class"].is_null()) {
      classes[row["name"]] = row["error_class"];
    }
  }
  EXPECT_EQ(classes, (std::map<std::string, std::string>{{"1.left.jpg", "cancelled"},
                                                         {"1.right.jpg", "invalid_input"},
                                                         {"3.jpg", "unsupported"}}));

  const Ran kept = run_program(batch("a.tar", {"--resume", "--failed-samples", "keep"}));
  EXPECT_EQ(kept.exit_code, 1);
  EXPECT_EQ(shards(kept)["written"], 1) << "the other way is another output";
  const auto made = members(out("a.tar"));
  ASSERT_EQ(made.size(), 7u);
  EXPECT_NE(made[1].second, jpeg) << "the good picture is resized";
  EXPECT_EQ(view(made[2].second), "no JPEG");
  EXPECT_EQ(record("a.tar")["dropped"], 0);
}

TEST_F(CliShards, WhatIsReadableOfACutShardIsWritten) {
  make_shard("a", 4);
  Bytes shard = read_file(folder_ / "in/a.tar");
  const auto whole = walk(shard);
  const auto& cut = whole.members[6];  // the last picture
  shard.resize(cut.content + 10);
  write_file(folder_ / "in/a.tar", shard);
  const Ran ran = run_program(batch("a.tar"));
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.err, HasSubstr("cut short"));
  EXPECT_EQ(names(out("a.tar")).size(), 6u);
  EXPECT_EQ(record("a.tar")["damaged_at"], cut.begin);
  EXPECT_EQ(shards(ran)["damaged"], 1);
  const auto rows = read_rows(folder_ / "out/a.tar.jsonl");
  const json& row = rows[rows.size() - 2];
  EXPECT_EQ(row["name"], cut.header.name);
  EXPECT_THAT(row["message"].get<std::string>(), HasSubstr("at byte " + std::to_string(cut.begin)));

  // Left alone by the next run, unless failures are to be tried again.
  EXPECT_EQ(shards(run_program(batch("a.tar", {"--resume"})))["unchanged"], 1);
  EXPECT_EQ(shards(run_program(batch("a.tar", {"--resume", "--retry", "failed"})))["written"], 1);
  fs::last_write_time(folder_ / "out/a.tar.jsonl",
                      fs::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_EQ(shards(run_program(batch("a.tar", {"--resume", "--retry", "failed"})))["written"], 1)
      << "a clock was put back";
  make_shard("a", 4);
  const Ran mended = run_program(batch("a.tar", {"--resume"}));
  EXPECT_EQ(mended.exit_code, 0) << mended.err;
  EXPECT_EQ(names(out("a.tar")).size(), 8u);
}

TEST_F(CliShards, AreDoneOnce) {
  for (int i = 0; i < 3; ++i) make_shard("s" + std::to_string(i), 3);
  ASSERT_EQ(run_program(batch("s{0..2}.tar")).exit_code, 0);
  const auto first = read_tree(folder_ / "out");
  const Ran refused = run_program(batch("s{0..2}.tar"));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--resume"));
  const Ran again = run_program(batch("s{0..2}.tar", {"--resume"}));
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_EQ(shards(again)["unchanged"], 3);
  EXPECT_EQ(json::parse(again.out)["inputs"], 0);
  EXPECT_EQ(read_tree(folder_ / "out"), first);

  fs::last_write_time(folder_ / "in/s0.tar", fs::file_time_type::clock::now());
  fs::remove(folder_ / "out/s1.tar");
  EXPECT_EQ(shards(run_program(batch("s{0..2}.tar", {"--resume"})))["written"], 2)
      << "a newer input, and an output that is gone";
  const Ran other = run_program(batch("s{0..2}.tar", {"--resume", "--quality", "50"}));
  EXPECT_EQ(shards(other)["written"], 3) << "other options";
  EXPECT_NE(out("s2.tar"), first.at("s2.tar"));
}

TEST_F(CliShards, SurviveKillAtAnyMoment) {
  for (int i = 0; i < 6; ++i) make_shard("s" + std::to_string(i), 12, 1200);
  const Words words = batch("s{0..5}.tar", {"--resume"});
  ASSERT_EQ(run_program(words).exit_code, 0);
  std::map<std::string, Bytes> expected;
  for (const auto& [name, bytes] : read_tree(folder_ / "out")) {
    if (name.ends_with(".tar")) expected[name] = bytes;
  }
  ASSERT_EQ(expected.size(), 6u);
  fs::remove_all(folder_ / "out");
  const auto manifests = [&] {
    std::size_t count = 0;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder_ / "out", error)) {
      count += entry.path().extension() == ".jsonl" ? 1 : 0;
    }
    return count;
  };
  const auto kill_after = [&](std::size_t done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    const pid_t process = start_program(words);
    while (manifests() < done && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ::kill(process, SIGKILL);
    return wait_for(process).signal == SIGKILL;
  };
  for (const std::size_t done : {1u, 2u, 4u}) {
    bool killed = kill_after(done);
    // Where it was at its end already, from the beginning again.
    for (int i = 0; i < 10 && !killed; ++i) {
      fs::remove_all(folder_ / "out");
      killed = kill_after(done);
    }
    ASSERT_TRUE(killed) << "the batch ended before it could be killed: use more pictures";
    for (const auto& [name, bytes] : read_tree(folder_ / "out")) {
      if (name.ends_with(".tar")) {
        EXPECT_EQ(bytes, expected.at(name)) << "half a shard: " << name;
      }
    }
  }
  const Ran last = run_program(words);
  ASSERT_EQ(last.exit_code, 0) << last.err;
  EXPECT_GE(shards(last)["unchanged"], 4) << "did again what had its manifest";
  const auto tree = read_tree(folder_ / "out");
  EXPECT_EQ(tree.size(), 12u) << "unfinished files were left";
  for (const auto& [name, bytes] : expected) EXPECT_EQ(tree.at(name), bytes);
}

TEST_F(CliShards, TwoProcessesShareTheWork) {
  for (int i = 0; i < 8; ++i) make_shard("s" + std::to_string(i), 6, 800);
  const Words words = batch("s{0..7}.tar", {"--resume", "--jobs", "1"});
  auto other = std::async(std::launch::async, [&] { return run_program(words); });
  const Ran ran = run_program(words);
  int written = 0;
  for (const Ran& each : {ran, other.get()}) {
    ASSERT_EQ(each.exit_code, 0) << each.err;
    const json totals = shards(each);
    EXPECT_EQ(totals["failed"], 0);
    EXPECT_EQ(totals["written"].get<int>() + totals["unchanged"].get<int>() +
                  totals["elsewhere"].get<int>(),
              8);
    written += totals["written"].get<int>();
  }
  EXPECT_EQ(written, 8) << "a shard was done twice";
  const auto tree = read_tree(folder_ / "out");
  ASSERT_EQ(tree.size(), 16u);
  for (const auto& [name, bytes] : tree) {
    if (name.ends_with(".tar")) {
      EXPECT_EQ(members(bytes).size(), 12u) << name;
    }
  }
  EXPECT_EQ(shards(run_program(words))["unchanged"], 8);
}

TEST_F(CliShards, AFullDiskLeavesNothingHalf) {
  make_shard("small", 2);
  make_shard("large", 40, 400);
  const Ran ran =
      run_program(batch("{small,large}.tar", {"--quality", "100", "--size", "400x"}), {}, [] {
        const rlimit limit{200'000, 200'000};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        std::signal(SIGXFSZ, SIG_IGN);
      });
  EXPECT_NE(ran.exit_code, 0);
  const auto tree = read_tree(folder_ / "out");
  EXPECT_FALSE(tree.contains("large.tar") || tree.contains("large.tar.jsonl"));
  for (const auto& [name, bytes] : tree) {
    EXPECT_FALSE(name.starts_with(".framewire")) << name;
  }
  const Ran again =
      run_program(batch("{small,large}.tar", {"--quality", "100", "--size", "400x", "--resume"}));
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(names(out("large.tar")).size(), 80u);
}

TEST_F(CliShards, ATarOfGnuAndPythonIsRead) {
  const std::string deep = std::string(90, 'd') + "/" + std::string(120, 'n') + ".jpg";
  write_file(folder_ / ("tree/" + deep), make_jpeg(80, 60));
  write_text(folder_ / "tree/a.txt", "a");
  int formats = 0;
  for (const char* format : {"gnu", "pax", "posix"}) {
    const std::string shard = folder_ / ("in/" + std::string(format) + ".tar");
    fs::create_directories(folder_ / "in");
    const std::string command = std::string("tar --format=") + format + " -C '" +
                                (folder_ / "tree") + "' -cf '" + shard + "' . 2>/dev/null";
    if (std::system(command.c_str()) != 0) continue;
    ++formats;
    ASSERT_EQ(run_program(batch(std::string(format) + ".tar")).exit_code, 0) << format;
    const auto made = names(out(std::string(format) + ".tar"));
    EXPECT_EQ(made, names(read_file(shard))) << format;
    EXPECT_THAT(made, ::testing::Contains("./" + deep)) << format;
    // GNU tar reads what we have written.
    const std::string list = "tar -tf '" + (folder_ / ("out/" + std::string(format) + ".tar")) +
                             "' > '" + (folder_ / "list") + "'";
    ASSERT_EQ(std::system(list.c_str()), 0);
    EXPECT_THAT(read_text(folder_ / "list"), HasSubstr(deep));
  }
  if (formats == 0) GTEST_SKIP() << "no GNU tar";
}

// Files that a command writes beside its outputs are replaced only by their own kind.
TEST_F(CliShards, FilesOfOtherKindsAreNotReplaced) {
  make_shard("a", 2);
  const std::string shard = folder_ / "in/a.tar";
  const Bytes before = read_file(shard);
  const auto code = [](const Words& words) { return run_program(words).exit_code; };
  EXPECT_NE(code(batch("a.tar", {"--metrics-file", shard})), 0);
  EXPECT_FALSE(fs::exists(folder_ / "out/a.tar"));
  EXPECT_NE(code({"index", shard, "--wids", shard}), 0);
  EXPECT_NE(code({"report", folder_ / "in", "--parquet", shard}), 0);
  EXPECT_EQ(read_file(shard), before);
  const std::string metrics = folder_ / "metrics";
  EXPECT_EQ(code(batch("a.tar", {"--metrics-file", metrics})), 0);
  EXPECT_EQ(code(batch("a.tar", {"--metrics-file", metrics, "--resume"})), 0);
  EXPECT_EQ(code({"index", shard}), 0);
  EXPECT_EQ(code({"index", shard}), 0);
}

TEST_F(CliShards, WhatIsNoManifestIsNotReplaced) {
  make_shard("a", 1);
  write_text(folder_ / "out/a.tar.jsonl", "{\"caption\":\"mine\"}\n");
  const Ran ran = run_program(batch("a.tar", {"--resume"}));
  EXPECT_NE(ran.exit_code, 0);
  EXPECT_THAT(ran.err, HasSubstr("a.tar.jsonl: is no manifest of a shard"));
  EXPECT_EQ(read_text(folder_ / "out/a.tar.jsonl"), "{\"caption\":\"mine\"}\n");
  EXPECT_FALSE(fs::exists(folder_ / "out/a.tar"));
  write_text(folder_ / "out/a.tar.jsonl", "");
  EXPECT_EQ(run_program(batch("a.tar", {"--resume"})).exit_code, 0) << "an empty one is nobody's";
}

TEST_F(CliShards, ADamagedManifestIsMadeAnew) {
  make_shard("a", 3);
  ASSERT_EQ(run_program(batch("a.tar")).exit_code, 0);
  const Bytes made = out("a.tar");
  const std::string manifest = folder_ / "out/a.tar.jsonl";
  const std::string whole = read_text(manifest);
  const std::string row = whole.substr(0, whole.find('\n') + 1);
  for (const std::string& damaged :
       {whole.substr(0, whole.size() - 30), whole.substr(0, whole.size() - 1), whole + row,
        whole + std::string(4096, '\0'), row, row.substr(0, 40)}) {
    write_text(manifest, damaged);
    const Ran ran = run_program(batch("a.tar", {"--resume"}));
    EXPECT_EQ(ran.exit_code, 0) << damaged << ran.err;
    EXPECT_EQ(shards(ran)["written"], 1) << damaged;
    EXPECT_EQ(out("a.tar"), made);
    EXPECT_EQ(record("a.tar")["shard"], "a.tar");
  }
}

TEST_F(CliShards, AFileMayHaveBracesInItsName) {
  make_shard("t{1,2}", 1);
  const Ran ran = run_program(batch("t{1,2}.tar"));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(fs::exists(folder_ / "out/t{1,2}.tar"));
}

TEST_F(CliShards, OptionsOfFilesAloneAreRefused) {
  make_shard("a", 1);
  write_file(folder_ / "in/1.jpg", make_jpeg(8, 8));
  const auto code = [&](const Words& more) { return run_program(batch("a.tar", more)).exit_code; };
  EXPECT_EQ(code({"--in-place"}), 2);
  EXPECT_EQ(code({"--retry", "failed"}), 2) << "without --resume";
  EXPECT_EQ(
      run_program({"batch", folder_ / "in/a.tar", folder_ / "in/1.jpg", folder_ / "out"}).exit_code,
      2);
  EXPECT_EQ(
      run_program({"batch", folder_ / "in", folder_ / "out", "--failed-samples", "keep"}).exit_code,
      2);
  EXPECT_EQ(run_program({"batch", folder_ / "in", folder_ / "out", "--resume"}).exit_code, 2);
}

TEST_F(CliShards, AttackNoOutputReplacesAnInput) {
  make_shard("a", 2);
  const Bytes before = read_file(folder_ / "in/a.tar");
  const Ran same = run_program({"batch", folder_ / "in/a.tar", folder_ / "in", "--size", "32x"});
  EXPECT_NE(same.exit_code, 0);
  EXPECT_THAT(same.err, HasSubstr("input of this batch"));
  EXPECT_EQ(read_file(folder_ / "in/a.tar"), before);
  fs::create_directories(folder_ / "out");
  fs::create_hard_link(folder_ / "in/a.tar", folder_ / "out/a.tar");
  EXPECT_NE(run_program(batch("a.tar")).exit_code, 0);
  EXPECT_EQ(read_file(folder_ / "in/a.tar"), before);
  for (const auto& [name, bytes] : read_tree(folder_ / "out")) EXPECT_EQ(name, "a.tar");
}

TEST_F(CliShards, AttackNamesOfMembersStayNames) {
  Archive archive;
  const Bytes jpeg = make_jpeg(80, 60);
  for (const char* name : {"../../up.jpg", "/etc/top.jpg", "a//b.jpg", ".", "x\n\x1b[2J.jpg"}) {
    archive.file(name, view(jpeg));
  }
  archive.pax("path", std::string(5000, 'n') + ".jpg").file("x", view(jpeg)).end();
  write_file(folder_ / "in/a.tar", archive.bytes);
  const Ran ran = run_program(batch("a.tar"));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(names(out("a.tar")), names(archive.bytes));
  EXPECT_EQ(read_tree(folder_ / "out").size(), 2u);
  EXPECT_FALSE(fs::exists(folder_.path().parent_path() / "up.jpg"));
}

TEST_F(CliShards, AttackLinksInTheOutputFolderAreNotFollowed) {
  make_shard("a", 1);
  make_shard("d/b", 1);
  write_text(folder_ / "victim", "precious");
  fs::create_directories(folder_ / "out");
  fs::create_directories(folder_ / "elsewhere");
  fs::create_symlink(folder_ / "victim", folder_ / "out/a.tar");
  fs::create_symlink(folder_ / "elsewhere", folder_ / "out/d");
  const Ran ran =
      run_program({"batch", folder_ / "in/a.tar", folder_ / "in/d/b.tar", folder_ / "out"});
  EXPECT_EQ(ran.exit_code, 1) << ran.err;
  EXPECT_EQ(read_text(folder_ / "victim"), "precious");
  EXPECT_TRUE(fs::is_empty(folder_ / "elsewhere"));
}

}  // namespace
}  // namespace framewire::test
