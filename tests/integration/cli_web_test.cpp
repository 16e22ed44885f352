// framewire over a web server, as a process: shards and pictures that others publish.
#ifdef FRAMEWIRE_SERVICE
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tests/integration/loopback_server.hpp>
#include <tests/integration/support.hpp>
#include <tests/support/archive.hpp>

namespace framewire::test {
namespace {

using dataset::test::Archive;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

class CliWeb : public ::testing::Test {
 protected:
  CliWeb() : server_("python3", {FRAMEWIRE_WEB_SERVER, folder_ / "www"}) {}
  void SetUp() override {
    ASSERT_TRUE(server_.started()) << "python3 does not start";
    for (int i = 0; i < 3; ++i) {
      Archive archive;
      for (int k = 0; k < 5; ++k) {
        const Bytes jpeg = make_jpeg(64, 48, static_cast<unsigned>(5 * i + k));
        const std::string key = std::to_string(1000 + 5 * i + k);
        archive.file(key + ".jpg", {reinterpret_cast<const char*>(jpeg.data()), jpeg.size()});
        archive.file(key + ".txt", std::string(700'000, 't'));
        write_file(folder_ / ("www/p/" + key + ".jpg"), jpeg);
      }
      archive.end();
      write_file(folder_ / ("www/sh/t-" + std::to_string(i) + ".tar"), archive.bytes);
    }
  }
  [[nodiscard]] std::string url(const std::string& path) const { return server_.url() + path; }

  const TemporaryFolder folder_;
  const LoopbackServer server_;
};

TEST_F(CliWeb, ShardsComeOutAsFromFiles) {
  const auto batch = [&](const std::string& in, const std::string& out, const Words& more = {}) {
    Words all = {"batch", in, out, "--size", "32x", "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return run_program(all);
  };
  ASSERT_EQ(batch(folder_ / "www/sh/t-{0..2}.tar", folder_ / "out").exit_code, 0);
  const auto expected = read_tree(folder_ / "out");
  for (const std::string below : {"/sh/", "/busy/sh/", "/moved/sh/"}) {
    const std::string out = folder_ / ("got" + below.substr(0, 5));
    const Ran ran = batch(url(below + "t-{0..2}.tar?token=PASSWORD"), out);
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    for (const char* name : {"t-0.tar", "t-1.tar", "t-2.tar"}) {
      EXPECT_EQ(read_file(out + "/" + name), expected.at(name)) << name;
    }
    for (const auto& [name, bytes] : read_tree(out)) {
      const std::string text(bytes.begin(), bytes.end());
      EXPECT_THAT(text, Not(HasSubstr("PASSWORD"))) << name;
    }
    const Ran again = batch(url(below + "t-{0..2}.tar"), out, {"--resume"});
    EXPECT_EQ(json::parse(again.out)["shards"]["unchanged"], 3) << again.err;
  }
  const Ran unpacked = run_program({"batch", url("/sh/t-1.tar"), folder_ / "un", "--unpack"});
  ASSERT_EQ(unpacked.exit_code, 0) << unpacked.err;
  EXPECT_EQ(read_tree(folder_ / "un").size(), 5u);
  const Ran index = run_program({"index", url("/sh/t-{0..1}.tar"), "--out", folder_ / "idx"});
  ASSERT_EQ(index.exit_code, 0) << index.err;
  EXPECT_TRUE(fs::exists(folder_ / "idx/t-1.idx"));
  EXPECT_EQ(run_program({"report", folder_ / "out", url("/sh/t-{0..2}.tar")}).exit_code, 0);
}

// Who runs many such batches takes 1 for success: what fails would fail again.
TEST_F(CliWeb, AServerThatIsDownIsAReasonToTryAgain) {
  const auto ended = [&](const std::string& shard) {
    const Ran ran = run_program({"batch", url(shard), url("/sh/t-1.tar"), folder_ / ("out" + shard),
                                 "--size", "32x", "--json"});
    const json shards = json::parse(ran.out)["shards"];
    EXPECT_EQ(shards["written"], 1) << ran.err;
    EXPECT_EQ(shards["failed"], 1) << ran.err;
    return std::pair(ran.exit_code, shards["unreachable"].get<int>());
  };
  EXPECT_EQ(ended("/down/sh/t-0.tar"), std::pair(3, 1));
  EXPECT_EQ(ended("/sh/none.tar"), std::pair(1, 0));
}

TEST_F(CliWeb, AServerThatIsDownFailsPicturesForNoFaultOfTheirOwn) {
  const auto ended = [&](const Words& pictures) {
    Words words = {"batch"};
    for (const std::string& picture : pictures) words.push_back(url(picture));
    words.insert(words.end(), {folder_ / "out", "--size", "32x", "--quiet"});
    return run_program(words).exit_code;
  };
  EXPECT_EQ(ended({"/down/p/1000.jpg"}), 3);
  EXPECT_EQ(ended({"/p/none.jpg", "/p/1001.jpg"}), 1);
  EXPECT_EQ(ended({"/down/p/1000.jpg", "/p/none.jpg", "/p/1001.jpg"}), 3);
  // 403 is how such a server refuses one address.
  EXPECT_EQ(ended({"/signed/p/1000.jpg", "/p/1001.jpg"}), 1);
}

TEST_F(CliWeb, PicturesAreReadByName) {
  const Words names = {url("/moved/p/1000.jpg"), url("/whole/p/1001.jpg"),
                       url("/busy/p/1002.jpg?x=PASSWORD")};
  Words words = {"batch"};
  words.insert(words.end(), names.begin(), names.end());
  words.insert(words.end(),
               {folder_ / "out", "--size", "32x", "--json", "--manifest", folder_ / "rows.jsonl"});
  const Ran ran = run_program(words);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto made = read_tree(folder_ / "out");
  EXPECT_EQ(made.size(), 3u);
  EXPECT_TRUE(made.contains("busy/p/1002.jpg"));
  for (const json& row : read_rows(folder_ / "rows.jsonl")) {
    EXPECT_THAT(row.dump(), Not(HasSubstr("PASSWORD")));
    EXPECT_FALSE(row["version"].get<std::string>().empty());
  }
  words.emplace_back("--resume");
  EXPECT_EQ(json::parse(run_program(words).out)["unchanged"], 3);

  std::string text;
  for (int i = 1000; i < 1015; ++i) text += url("/p/" + std::to_string(i) + ".jpg") + "\n";
  write_file(folder_ / "list", Bytes(text.begin(), text.end()));
  const Ran listed =
      run_program({"batch", "@" + (folder_ / "list"), folder_ / "all", "--size", "32x"});
  ASSERT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_EQ(read_tree(folder_ / "all").size(), 15u);
  const Ran packed = run_program({"batch", url("/p/{1000..1009}.jpg"), folder_ / "sh/%02d.tar",
                                  "--pack", "64K", "--size", "32x"});
  ASSERT_EQ(packed.exit_code, 0) << packed.err;
}

// Each object has a signature of its own, as in a list that a store's owner hands out.
TEST_F(CliWeb, ListsOfSignedAddressesAreRead) {
  const std::string signature = "?X-Amz-Credential=key/aws4&X-Amz-Signature=";
  std::string text;
  for (const char* name : {"t-0.tar", "t-1.tar", "t-2.tar"}) {
    text += url(std::string("/signed/sh/") + name) + signature + name + "\n";
  }
  text += url("/signed/sh/t-3.tar") + signature + "t-4.tar\n";  // another's, so it is refused
  write_file(folder_ / "signed", Bytes(text.begin(), text.end()));
  const Words words = {"batch",         "@" + (folder_ / "signed"),
                       folder_ / "out", "--size",
                       "32x",           "--json",
                       "--progress",    "json",
                       "--resume"};
  const Ran ran = run_program(words);
  EXPECT_EQ(ran.exit_code, 1) << ran.err;
  EXPECT_EQ(json::parse(ran.out)["shards"]["written"], 3) << ran.out;
  EXPECT_EQ(json::parse(ran.out)["shards"]["failed"], 1) << ran.out;
  EXPECT_THAT(ran.err, HasSubstr("/signed/sh/t-3.tar"));
  EXPECT_THAT(ran.out + ran.err, Not(HasSubstr("X-Amz")));
  ASSERT_EQ(
      run_program({"batch", folder_ / "www/sh/t-{0..2}.tar", folder_ / "files", "--size", "32x"})
          .exit_code,
      0);
  const auto made = read_tree(folder_ / "out");
  for (const char* name : {"t-0.tar", "t-1.tar", "t-2.tar"}) {
    EXPECT_EQ(made.at(name), read_file(folder_ / ("files/" + std::string(name)))) << name;
  }
  for (const auto& [name, bytes] : made) {
    EXPECT_THAT(std::string(bytes.begin(), bytes.end()), Not(HasSubstr("X-Amz"))) << name;
    EXPECT_THAT(name, Not(HasSubstr("X-Amz")));
  }
  EXPECT_EQ(json::parse(run_program(words).out)["shards"]["unchanged"], 3);
}

TEST_F(CliWeb, WhatServersDoWrongIsSaid) {
  const auto failed = [&](const std::string& path, const char* message) {
    const Ran ran = run_program({"batch", url(path), folder_ / ("out" + path), "--size", "32x"});
    EXPECT_NE(ran.exit_code, 0) << path;
    EXPECT_THAT(ran.err, HasSubstr(message)) << path;
  };
  write_file(folder_ / "www/big.tar", Bytes(20'000'000));
  failed("/whole/big.tar", "accepted for tar shards: servers that know ranges");
  failed("/loop/sh/t-1.tar?x=PASSWORD", "accepted: up to 10 redirects (redirected to ");
  failed("/moved/sh/none.tar", "the server answered 404 (redirected to ");
  failed("/sh/none.tar", "is not there");
  failed("/p/none.jpg", "is not there");
  const auto misuse = [&](const Words& words, const char* message) {
    const Ran ran = run_program(words);
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(message));
  };
  misuse({"batch", folder_ / "www/p", url("/up/")}, "web servers can only be read");
  misuse({"batch", url("/sh/*.tar"), folder_ / "out"}, "web servers have no listing");
  misuse({"batch", url("/p/1000.jpg"), folder_ / "www/p/1000.jpg", folder_ / "out"},
         "accepted: either");
  misuse({"index", url("/sh/t-1.tar")}, "give --out");
  const std::string twice = url("/p/1000.jpg?x=PASSWORD\n") + url("/p/1000.jpg?x=PASSWORD\n");
  write_file(folder_ / "twice", Bytes(twice.begin(), twice.end()));
  const Words same = {"batch", "@" + (folder_ / "twice"), folder_ / "out"};
  misuse(same, "1000.jpg is named twice");
  EXPECT_THAT(run_program(same).err, Not(HasSubstr("PASSWORD")));
  misuse({"batch", url("/p/1000.jpg"), folder_ / "out", "--manifest", url("/rows")},
         "web servers can only be read");
  const Ran folder = run_program({"batch", url("/p/"), folder_ / "out", "--size", "32x"});
  EXPECT_NE(folder.exit_code, 0) << "a folder of a web server has no pictures by itself";
}

}  // namespace
}  // namespace framewire::test
#endif
