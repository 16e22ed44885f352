// framewire index and framewire report over shards, as processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <tests/integration/cli_shards.hpp>

namespace framewire::test {
namespace {

using dataset::test::Archive;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

/// What the commands say of shards that are there.
class CliShardLists : public CliShards {};

TEST_F(CliShardLists, IndicesLeadToMembers) {
  make_shard("a", 3);
  make_shard("b", 2);
  const Ran ran = run_program({"index", folder_ / "in/{a,b}.tar"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const std::string index = read_text(folder_ / "in/a.idx");
  EXPECT_TRUE(index.starts_with("v1.2 3\njpg 512 ")) << index;
  const json wids = json::parse(read_text(folder_ / "in/shardindex.json"));
  ASSERT_EQ(wids["shardlist"].size(), 2u);
  EXPECT_EQ(wids["shardlist"][0]["url"], "a.tar");
  EXPECT_EQ(wids["shardlist"][1]["nsamples"], 2);
  EXPECT_EQ(wids["shardlist"][1]["filesize"], fs::file_size(folder_ / "in/b.tar"));
  write_text(folder_ / "in/c.tar", "no archive");
  fs::remove(folder_ / "in/shardindex.json");
  const Ran bad = run_program({"index", folder_ / "in/{a,c}.tar"});
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_FALSE(fs::exists(folder_ / "in/shardindex.json")) << "it would lack a shard";
}

// An index leads readers into a shard: one of what it was before leads them beyond its end.
TEST_F(CliShardLists, AShardThatIsDamagedLosesItsIndices) {
  make_shard("a", 3);
  make_shard("b", 50);
  const Words words = {"index", folder_ / "in/{a,b}.tar"};
  ASSERT_EQ(run_program(words).exit_code, 0);
  fs::resize_file(folder_ / "in/b.tar", 40'000);
  const Ran ran = run_program(words);
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("b.idx is removed"), HasSubstr("shardindex.json is rem")));
  EXPECT_TRUE(fs::exists(folder_ / "in/a.idx"));
  EXPECT_FALSE(fs::exists(folder_ / "in/b.idx"));
  EXPECT_FALSE(fs::exists(folder_ / "in/shardindex.json"));

  make_shard("b", 2);
  ASSERT_EQ(run_program(words).exit_code, 0);
  EXPECT_EQ(run_program({"index", folder_ / "in/{a,c}.tar"}).exit_code, 1);
  EXPECT_TRUE(fs::exists(folder_ / "in/shardindex.json")) << "a wrong name damages nothing";
  write_text(folder_ / "in/b.idx", "notes");
  write_text(folder_ / "in/b.tar", "no archive");
  EXPECT_EQ(run_program(words).exit_code, 1);
  EXPECT_EQ(read_text(folder_ / "in/b.idx"), "notes");
}

// DALI's names end at the first dot.
TEST_F(CliShardLists, TwoShardsNeverShareAnIndex) {
  make_shard("t.0", 1);
  make_shard("t.1", 2);
  const Ran ran = run_program({"index", folder_ / "in/t.{0,1}.tar"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("t.0.tar"), HasSubstr("t.1.tar"), HasSubstr("t.idx")));
  EXPECT_FALSE(fs::exists(folder_ / "in/t.idx"));
  EXPECT_EQ(run_program({"index", folder_ / "in/t.{0,1}.tar", "--format", "wids"}).exit_code, 0);
}

TEST_F(CliShardLists, AReportSaysWhatIsDoneFailedAndMissing) {
  make_shard("a", 2);
  make_shard("c", 2);
  Archive bad;
  bad.file("1.jpg", "no JPEG").file("1.txt", "1").file("2.jpg", view(make_jpeg(64, 48))).end();
  write_file(folder_ / "in/b.tar", bad.bytes);
  ASSERT_EQ(run_program(batch("{a,b,c}.tar")).exit_code, 1);
  const std::string out = folder_ / "out";
  fs::remove(folder_ / "out/c.tar");
  const Ran ran = run_program({"report", out, folder_ / "in/{a,b,c,d}.tar", "--json"});
  EXPECT_EQ(ran.exit_code, 1);
  const json report = json::parse(ran.out);
  EXPECT_EQ(report["shards"], 2);
  EXPECT_EQ(report["ok"], 3);
  EXPECT_EQ(report["failed"], 1);
  EXPECT_EQ(report["dropped"], 1);
  EXPECT_EQ(report["errors"], json({{"invalid_input", 1}}));
  EXPECT_EQ(report["with_failures"][0]["shard"], "b.tar");
  EXPECT_EQ(report["without_output"], json({"c.tar"}));
  EXPECT_EQ(report["missing"], json({"d.tar"}));

  const Ran list = run_program({"report", out, folder_ / "in/{a,b,c,d}.tar", "--retry-list"});
  EXPECT_EQ(list.out, (folder_ / "in/./b.tar") + "\n" + (folder_ / "in/./c.tar") + "\n" +
                          (folder_ / "in/./d.tar") + "\n");
  EXPECT_EQ(run_program({"report", out, "--retry-list"}).out,
            (folder_ / "in/./b.tar") + "\n" + (folder_ / "in/./c.tar") + "\n")
      << "by the paths of manifests";
  const Ran rows = run_program({"report", out, "--failures"});
  EXPECT_THAT(rows.out, HasSubstr("invalid_input: " + (folder_ / "in/b.tar") + ": 1.jpg: "));

  // The list is what a batch takes; names are what they were.
  write_text(folder_ / "list", (folder_ / "in/./a.tar") + "\n" + (folder_ / "in/./c.tar") + "\n");
  const Ran again =
      run_program({"batch", "@" + (folder_ / "list"), out, "--resume", "--size", "32x", "--json"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(shards(again)["written"], 1);
  fs::remove(folder_ / "out/b.tar.jsonl");
  EXPECT_EQ(run_program({"report", out, folder_ / "in/{a,c}.tar"}).exit_code, 0);
}

/// Of index and report, as of batch.
TEST_F(CliShardLists, AListNamesShards) {
  make_shard("a", 3);
  make_shard("b", 2);
  const std::string list = folder_ / "list";
  write_text(list, (folder_ / "in/./{a,b}.tar") + "\n");
  const Ran index = run_program({"index", "@" + list});
  ASSERT_EQ(index.exit_code, 0) << index.err;
  EXPECT_THAT(index.err, HasSubstr("2 shards, 5 samples"));
  EXPECT_TRUE(fs::exists(folder_ / "in/b.idx"));
  ASSERT_EQ(run_program(batch("a.tar")).exit_code, 0);
  const Ran report = run_program({"report", folder_ / "out", "@" + list, "--json"});
  EXPECT_EQ(report.exit_code, 1) << report.err;
  EXPECT_EQ(json::parse(report.out)["missing"], json({"b.tar"}));
  const Ran retry = run_program({"report", folder_ / "out", "@" + list, "--retry-list"});
  EXPECT_EQ(retry.out, (folder_ / "in/./b.tar") + "\n");
}

/// As it names pictures: workers with lists of their own never meet in a name.
TEST_F(CliShardLists, AListNamesOutputsAsItIsWritten) {
  for (const char* name : {"2023/000", "2024/000", "2024/001"}) {
    fs::create_directories(folder_ / "in/2023");
    fs::create_directories(folder_ / "in/2024");
    make_shard(name, 2);
    // What two shards of one size and time are told apart by is their name.
    fs::last_write_time(folder_ / ("in/" + std::string(name) + ".tar"), fs::file_time_type());
  }
  ASSERT_EQ(fs::file_size(folder_ / "in/2023/000.tar"), fs::file_size(folder_ / "in/2024/000.tar"));
  const auto run = [&](const Words& words) {
    return run_program(words, {}, [&] {
      if (::chdir(folder_.path().c_str()) != 0) ::_exit(126);
    });
  };
  const auto resize = [&](const std::string& list, const std::string& out) {
    return run({"batch", list, out, "--size", "32x", "--json", "--resume"});
  };
  write_text(folder_ / "l1", "in/2023/000.tar\n");
  write_text(folder_ / "l2", "./in/2024/{000..001}.tar\n");
  EXPECT_EQ(shards(resize("@l1", "out"))["written"], 1);
  EXPECT_EQ(shards(resize("@l2", "out"))["written"], 2);
  EXPECT_EQ(shards(resize("@l2", "out"))["unchanged"], 2);
  for (const char* name : {"2023/000.tar", "2024/000.tar", "2024/001.tar"}) {
    EXPECT_TRUE(fs::exists(folder_ / ("out/in/" + std::string(name)))) << name;
  }
  EXPECT_EQ(run({"report", "out", "@l2"}).exit_code, 0);
  fs::remove(folder_ / "out/in/2024/001.tar");
  EXPECT_EQ(run({"report", "out", "@l2", "--retry-list"}).out, "./in/2024/001.tar\n");

  // What stands before a dot of its own is no part of the name.
  write_text(folder_ / "l3", (folder_ / "in/./2023/000.tar") + "\n../" +
                                 folder_.path().filename().string() + "/in/2024/./001.tar\n");
  const Ran marked = resize("@l3", "marked");
  EXPECT_EQ(shards(marked)["written"], 2) << marked.err;
  EXPECT_TRUE(fs::exists(folder_ / "marked/2023/000.tar"));
  EXPECT_TRUE(fs::exists(folder_ / "marked/001.tar"));
  write_text(folder_ / "l4", "in/{2023,..}/000.tar\n{..,in}/000.tar\n");
  const Ran outside = resize("@l4", "outside");
  EXPECT_EQ(outside.exit_code, 2) << outside.out;
  EXPECT_THAT(outside.err, HasSubstr("leads out of the current folder"));

  // The same, by words: 2024 has another shard of that name, size and time.
  EXPECT_EQ(shards(resize("in/2023/000.tar", "by"))["written"], 1);
  const auto made = read_tree(folder_ / "by");
  const Ran other = resize("in/2024/000.tar", "by");
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_EQ(shards(other)["failed"], 1);
  EXPECT_THAT(other.err, HasSubstr("by/000.tar: was made of in/2023/000.tar, which is there still, "
                                   "and is not replaced by what in/2024/000.tar becomes"));
  EXPECT_EQ(read_tree(folder_ / "by"), made);
  const Ran anew = run({"batch", "in/2024/000.tar", "by", "--size", "32x"});
  EXPECT_EQ(anew.exit_code, 2);
  EXPECT_EQ(read_tree(folder_ / "by"), made);
  // A folder of that name with a shard of another size, too.
  fs::create_directories(folder_ / "in/else/2023");
  make_shard("else/2023/000", 3);
  EXPECT_EQ(resize("in/else/2023/000.tar", "by").exit_code, 1);
  EXPECT_EQ(read_tree(folder_ / "by"), made);
  fs::rename(folder_ / "in/2023", folder_ / "in/moved");
  EXPECT_EQ(shards(resize("in/moved/000.tar", "by"))["unchanged"], 1);
}

// Of shards that were moved since, and of names that no manifest can hold.
TEST_F(CliShardLists, ShardsToBeMadeAgainHaveThePathsThatAreGiven) {
  Archive bad;
  bad.file("1.jpg", "no JPEG").end();
  const std::string odd = "odd\xFF.tar";
  for (const std::string& name : {std::string("a.tar"), std::string("b.tar"), odd}) {
    write_file(folder_ / ("in/" + name), bad.bytes);
  }
  ASSERT_EQ(run_program({"batch", folder_ / "in/a.tar", folder_ / "in/b.tar",
                         folder_ / ("in/" + odd), folder_ / "out", "--size", "32x"})
                .exit_code,
            1);
  fs::rename(folder_ / "in", folder_ / "moved");
  const Ran list = run_program({"report", folder_ / "out", folder_ / "moved/{a,b}.tar",
                                folder_ / ("moved/" + odd), "--retry-list"});
  EXPECT_EQ(list.out, (folder_ / "moved/./a.tar") + "\n" + (folder_ / "moved/./b.tar") + "\n" +
                          (folder_ / ("moved/./" + odd)) + "\n");
  write_text(folder_ / "list", list.out);
  const Ran again = run_program({"batch", "@" + (folder_ / "list"), folder_ / "out", "--size",
                                 "32x", "--json", "--resume", "--retry", "failed"});
  EXPECT_EQ(shards(again)["written"], 3) << again.err;
  EXPECT_FALSE(fs::exists(folder_ / "out/tmp"));
  EXPECT_EQ(read_tree(folder_ / "out").size(), 6u);
}

TEST_F(CliShardLists, AListWithoutGoodNamesIsRefused) {
  const std::string list = folder_ / "list";
  for (const auto& [text, wanted] :
       {std::pair{"", "found no name"},
        {"../a.tar\n", "leads out of the current folder"},
        {"a.tar\na.tar\n", "like an earlier entry"},
        {"http://h/a.tar?s=secret\nhttp://h/a.tar?s=secret\n", "http://h/a.tar is named twice"}}) {
    write_text(list, text);
    for (const bool index : {true, false}) {
      const Ran ran = index ? run_program({"index", "@" + list})
                            : run_program({"report", std::string(folder_ / "in"), "@" + list});
      EXPECT_EQ(ran.exit_code, 2) << text;
      EXPECT_THAT(ran.err, HasSubstr(wanted));
      EXPECT_THAT(ran.err, Not(HasSubstr("secret")));
    }
  }
  EXPECT_EQ(run_program({"index", "@"}).exit_code, 2);
  const Ran beside = run_program({"report", std::string(folder_ / "in"), "@" + list, "a.tar"});
  EXPECT_EQ(beside.exit_code, 2) << "else the list would be a missing shard";
  EXPECT_THAT(beside.err, HasSubstr("@LIST alone"));
  EXPECT_EQ(run_program({"index", "@" + list + "-none"}).exit_code, 3) << "no such list";
  EXPECT_EQ(run_program({"index", "@" + (folder_ / "in")}).exit_code, 3) << "a folder";
}

}  // namespace
}  // namespace framewire::test
