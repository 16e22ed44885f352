// framewire batch, index and report over object stores, as processes: against moto and OpenStack
// Swift, which others wrote.
#ifdef FRAMEWIRE_SERVICE
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <store/object_store.hpp>
#include <tests/integration/loopback_server.hpp>
#include <tests/integration/support.hpp>
#include <tests/support/archive.hpp>
#include <thread>

namespace framewire::test {
namespace {

using dataset::test::Archive;
using dataset::test::walk;
using nlohmann::json;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

/// The Python in which both are installed, if it is there.
std::string python_of_moto() {
  const char* named = std::getenv("FRAMEWIRE_MOTO_SERVER");
  const fs::path python =
      fs::path(named != nullptr ? named : FRAMEWIRE_MOTO_SERVER).parent_path() / "python";
  return fs::exists(python) ? python.string() : "false";
}

/// One of the servers.
struct StoreServer {
  const char* name;
  const char* program;  ///< in Python
  const char* key;
  const char* secret;
};
constexpr StoreServer kMoto = {"Moto", FRAMEWIRE_OBJECT_SERVER, "key", "a/very+secret/key"};
constexpr StoreServer kSwift = {"Swift", FRAMEWIRE_SWIFT_SERVER, "test:tester", "testing"};

class CliStore : public ::testing::TestWithParam<StoreServer> {
 protected:
  void SetUp() override {
    if (!server_.started()) {
      GTEST_SKIP() << GetParam().name << " does not start by " << python_of_moto()
                   << "; accepted: what ./dev test installs";
    }
    ::setenv("AWS_ACCESS_KEY_ID", GetParam().key, 1);
    ::setenv("AWS_SECRET_ACCESS_KEY", GetParam().secret, 1);
    ::setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    store::StoreSettings settings;
    settings.endpoint = server_.url();
    for (const char* bucket : {"photos", "thumbs"}) {
      auto opened = store::open_store(bucket, settings);
      ASSERT_TRUE(opened) << opened.error().to_string();
      stores_[bucket] = *opened;
    }
  }
  [[nodiscard]] Words words(const Words& some) const {
    Words all = some;
    all.insert(all.end(), {"--endpoint", server_.url()});
    return all;
  }
  Ran run(const Words& some) {
    Ran ran = run_program(words(some));
    EXPECT_THAT(ran.out + ran.err, ::testing::Not(HasSubstr(GetParam().secret)));
    return ran;
  }
  void put(const std::string& bucket, const std::string& key, const Bytes& bytes) {
    const auto put = stores_[bucket]->put(key, bytes, store::PutCondition::kNone);
    ASSERT_TRUE(put) << put.error().to_string();
  }
  std::map<std::string, Bytes> all(const std::string& bucket, const std::string& prefix = "") {
    std::vector<store::ObjectInfo> found;
    EXPECT_TRUE(stores_[bucket]->list(prefix, "", [&](const store::ObjectInfo& object) {
      found.push_back(object);
      return true;
    }));
    std::map<std::string, Bytes> objects;
    for (const store::ObjectInfo& object : found) {
      Bytes bytes(object.bytes);
      const auto got = stores_[bucket]->read_at(object, 0, bytes);
      EXPECT_TRUE(got && *got == bytes.size());
      objects[object.key] = std::move(bytes);
    }
    return objects;
  }
  static Bytes shard(int samples, int width, std::size_t other_bytes = 20) {
    Archive archive;
    for (int i = 0; i < samples; ++i) {
      const std::string key = std::to_string(1000 + i);
      const Bytes jpeg = make_jpeg(width, width * 3 / 4, static_cast<unsigned>(i));
      archive.file(key + ".jpg", {reinterpret_cast<const char*>(jpeg.data()), jpeg.size()});
      archive.file(key + ".json", std::string(other_bytes, 'j'));
    }
    return archive.end().bytes;
  }
  /// Puts shards into the store and into the folder "in".
  void make_shards(int count, int samples, int width, std::size_t other_bytes = 20) {
    for (int i = 0; i < count; ++i) {
      const std::string name = "s-" + std::to_string(i) + ".tar";
      const Bytes bytes = shard(samples, width, other_bytes);
      write_file(folder_ / ("in/" + name), bytes);
      put("photos", "2024/" + name, bytes);
    }
  }
  static json shards(const Ran& ran) { return json::parse(ran.out)["shards"]; }

  const LoopbackServer server_{python_of_moto(), {GetParam().program}};
  const TemporaryFolder folder_;
  std::map<std::string, std::shared_ptr<store::ObjectStore>> stores_;
};

TEST_P(CliStore, ShardsComeOutAsFromFiles) {
  make_shards(2, 6, 64);
  // Several ranges, and several parts.
  const Bytes large = shard(30, 200, 1'500'000);
  write_file(folder_ / "in/s-2.tar", large);
  put("photos", "2024/s-2.tar", large);
  const Words options = {"--size", "32x", "--jobs", "2", "--json"};
  const auto batch = [&](const std::string& in, const std::string& out, const Words& more = {}) {
    Words all = {"batch", in, out};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  ASSERT_EQ(run_program(batch(folder_ / "in/s-{0..2}.tar", folder_ / "out")).exit_code, 0);
  const auto expected = read_tree(folder_ / "out");

  const Ran ran = run(batch("s3://photos/2024/*.tar", "s3://thumbs/2024"));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(shards(ran)["written"], 3);
  auto made = all("thumbs");
  ASSERT_EQ(made.size(), 6u);
  const Ran mixed = run(batch("s3://photos/2024/s-{0..2}.tar", folder_ / "mixed"));
  ASSERT_EQ(mixed.exit_code, 0) << mixed.err;
  const Ran sent = run(batch(folder_ / "in/s-{0..2}.tar", "s3://thumbs/sent/"));
  ASSERT_EQ(sent.exit_code, 0) << sent.err;
  const auto sent_objects = all("thumbs", "sent/");
  for (const char* name : {"s-0.tar", "s-1.tar", "s-2.tar"}) {
    EXPECT_EQ(made.at(std::string("2024/") + name), expected.at(name)) << name;
    EXPECT_EQ(read_file(folder_ / (std::string("mixed/") + name)), expected.at(name)) << name;
    EXPECT_EQ(sent_objects.at(std::string("sent/") + name), expected.at(name)) << name;
  }

  const Ran refused = run(batch("s3://photos/2024/*.tar", "s3://thumbs/2024/"));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("s3://thumbs/2024/s-0.tar.jsonl: is a manifest already"));
  const Ran again = run(batch("s3://photos/2024/*.tar", "s3://thumbs/2024/", {"--resume"}));
  EXPECT_EQ(shards(again)["unchanged"], 3);
  const Ran report = run({"report", "s3://thumbs/2024/", "s3://photos/2024/*.tar"});
  EXPECT_EQ(report.exit_code, 0) << report.out << report.err;
  EXPECT_THAT(report.out, HasSubstr("3 shards: 42 pictures resized, 0 failed"));

  put("photos", "2024/s-1.tar", shard(5, 64));
  put("photos", "2024/s-3.tar", shard(2, 64));
  const Ran missing =
      run({"report", "s3://thumbs/2024/", "s3://photos/2024/s-{0..3}.tar", "--retry-list"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_EQ(missing.out, "s3://photos/2024/s-3.tar\n");
  const Ran newer = run(batch("s3://photos/2024/*.tar", "s3://thumbs/2024/", {"--resume"}));
  EXPECT_EQ(shards(newer)["unchanged"], 2);
  EXPECT_EQ(shards(newer)["written"], 2) << "another version, and a new one";
  made = all("thumbs", "2024/");
  EXPECT_EQ(walk(made.at("2024/s-1.tar")).members.size(), 10u);
}

TEST_P(CliStore, SurviveKillAtAnyMoment) {
  make_shards(6, 12, 1200);
  const Words batch = {
      "batch", "s3://photos/2024/*.tar", "s3://thumbs/", "--size", "32x", "--jobs", "2", "--resume",
      "--json"};
  ASSERT_EQ(run_program({"batch", folder_ / "in/s-{0..5}.tar", folder_ / "out", "--size", "32x"})
                .exit_code,
            0);
  const auto expected = read_tree(folder_ / "out");
  const auto manifests = [&] {
    std::size_t count = 0;
    (void)stores_["thumbs"]->list("", "", [&](const store::ObjectInfo& object) {
      count += object.key.ends_with(".jsonl") ? 1 : 0;
      return true;
    });
    return count;
  };
  const auto kill_after = [&](std::size_t done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    const pid_t process = start_program(words(batch));
    while (manifests() < done && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ::kill(process, SIGKILL);
    return wait_for(process).signal == SIGKILL;
  };
  for (const std::size_t done : {1u, 2u, 4u}) {
    bool killed = kill_after(done);
    // Where it was at its end already, from the beginning again.
    for (int i = 0; i < 10 && !killed; ++i) {
      for (const auto& [key, bytes] : all("thumbs")) ASSERT_TRUE(stores_["thumbs"]->remove(key));
      killed = kill_after(done);
    }
    ASSERT_TRUE(killed) << "the batch ended before it could be killed: use more pictures";
    for (const auto& [key, bytes] : all("thumbs")) {
      if (key.ends_with(".tar")) {
        EXPECT_EQ(bytes, expected.at(key)) << "half a shard: " << key;
      }
    }
  }
  const Ran last = run(batch);
  ASSERT_EQ(last.exit_code, 0) << last.err;
  EXPECT_GE(shards(last)["unchanged"], 2) << "did again what had its manifest";
  const auto made = all("thumbs");
  EXPECT_EQ(made.size(), 12u);
  for (const auto& [name, bytes] : expected) {
    if (name.ends_with(".tar")) {
      EXPECT_EQ(made.at(name), bytes) << name;
    }
  }
}

TEST_P(CliStore, PicturesGoBothWays) {
  for (int i = 0; i < 5; ++i) {
    const std::string name = "d/" + std::to_string(i) + ".jpg";
    const Bytes jpeg = make_jpeg(64, 48, static_cast<unsigned>(i));
    write_file(folder_ / ("in/" + name), jpeg);
    put("photos", "raw/" + name, jpeg);
  }
  put("photos", "raw/notes.txt", {'n', 'o'});
  ASSERT_EQ(run_program({"batch", folder_ / "in", folder_ / "out", "--size", "32x"}).exit_code, 0);
  const auto expected = read_tree(folder_ / "out");
  const std::string manifest = folder_ / "rows.jsonl";
  const Words batch = {"batch", "s3://photos/raw/", "s3://thumbs/", "--size",
                       "32x",   "--manifest",       manifest,       "--json"};
  const Ran ran = run(batch);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(json::parse(ran.out)["ok"], 5);
  EXPECT_EQ(json::parse(ran.out)["skipped"], 1);
  ASSERT_EQ(run({"batch", folder_ / "in", "s3://thumbs/sent", "--size", "32x"}).exit_code, 0);
  ASSERT_EQ(run({"batch", "s3://photos/raw", folder_ / "got", "--size", "32x"}).exit_code, 0);
  EXPECT_EQ(read_tree(folder_ / "got"), expected);
  const auto made = all("thumbs");
  for (const auto& [name, bytes] : expected) {
    EXPECT_EQ(made.at(name), bytes) << name;
    EXPECT_EQ(made.at("sent/" + name), bytes) << name;
  }
  for (const json& row : read_rows(manifest)) {
    EXPECT_THAT(row["input"].get<std::string>(), HasSubstr("s3://photos/raw/"));
    if (row["status"] == "ok") {
      EXPECT_FALSE(row["version"].get<std::string>().empty());
    }
  }
  Words resumed = batch;
  resumed.emplace_back("--resume");
  put("photos", "raw/d/1.jpg", make_jpeg(80, 60, 9));
  EXPECT_TRUE(stores_["thumbs"]->remove("d/2.jpg"));
  const Ran again = run(resumed);
  EXPECT_EQ(json::parse(again.out)["unchanged"], 3) << again.err;
  EXPECT_EQ(json::parse(again.out)["ok"], 2);
}

TEST_P(CliStore, PacksAndUnpacksWhereverThingsLie) {
  for (int i = 0; i < 30; ++i) {
    const std::string key = "d/" + std::to_string(100 + i);
    const Bytes jpeg = make_jpeg(400, 300, static_cast<unsigned>(i));
    const std::string text = "text " + std::to_string(i);
    write_file(folder_ / ("in/" + key + ".jpg"), jpeg);
    write_file(folder_ / ("in/" + key + ".txt"), Bytes(text.begin(), text.end()));
    put("photos", "raw/" + key + ".jpg", jpeg);
    put("photos", "raw/" + key + ".txt", Bytes(text.begin(), text.end()));
  }
  const auto pack = [&](const std::string& in, const std::string& out, const Words& more = {}) {
    Words all = {"batch",  in,     out,          "--size", "200x",
                 "--pack", "100K", "--sidecars", "txt",    "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  const auto shards_in = [&](const std::map<std::string, Bytes>& files, const std::string& below) {
    std::vector<std::vector<std::string>> names;
    for (const auto& [name, bytes] : files) {
      if (name.starts_with(below) && name.ends_with(".tar")) names.push_back(walk(bytes).names());
    }
    return names;
  };
  const Ran local = run_program({"batch", folder_ / "in", folder_ / "sh/%03d.tar", "--size", "200x",
                                 "--pack", "100K", "--sidecars", "txt", "--json"});
  ASSERT_EQ(local.exit_code, 0) << local.err;
  const auto expected = shards_in(read_tree(folder_ / "sh"), "");
  ASSERT_GE(expected.size(), 2u);
  ASSERT_EQ(pack(folder_ / "in", "s3://thumbs/a/%03d.tar").exit_code, 0);
  const Ran within = pack("s3://photos/raw/", "s3://thumbs/b/%03d.tar");
  ASSERT_EQ(within.exit_code, 0) << within.err;
  EXPECT_EQ(json::parse(within.out)["pack"]["sidecars"], 30);
  ASSERT_EQ(pack("s3://photos/raw", folder_ / "got/%03d.tar").exit_code, 0);
  const auto made = all("thumbs");
  EXPECT_EQ(shards_in(made, "a/"), expected);
  EXPECT_EQ(shards_in(made, "b/"), expected);
  EXPECT_EQ(shards_in(read_tree(folder_ / "got"), ""), expected);
  const Ran again = pack("s3://photos/raw/", "s3://thumbs/b/%03d.tar", {"--resume"});
  EXPECT_EQ(json::parse(again.out)["pack"]["unchanged"], 30) << again.err;
  EXPECT_EQ(run({"report", "s3://thumbs/b"}).exit_code, 0);

  const auto unpack = [&](const std::string& in, const std::string& out, const Words& more = {}) {
    Words all = {"batch", in, out, "--unpack", "--sidecars", "txt", "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  ASSERT_EQ(run_program({"batch", folder_ / "sh/{000..001}.tar", folder_ / "back", "--unpack",
                         "--sidecars", "txt"})
                .exit_code,
            0);
  const auto back = read_tree(folder_ / "back");
  const Ran stored = unpack("s3://thumbs/b/{000..001}.tar", "s3://photos/back/",
                            {"--manifest", folder_ / "rows.jsonl"});
  ASSERT_EQ(stored.exit_code, 0) << stored.err;
  ASSERT_EQ(unpack(folder_ / "sh/{000..001}.tar", "s3://photos/back2").exit_code, 0);
  ASSERT_EQ(unpack("s3://thumbs/a/00?.tar", folder_ / "all").exit_code, 0);
  EXPECT_EQ(read_tree(folder_ / "all").size(), 60u);
  const auto in_store = all("photos", "back");
  EXPECT_EQ(in_store.size(), 2 * back.size());
  for (const auto& [name, bytes] : back) {
    EXPECT_EQ(in_store.at("back/" + name), bytes) << name;
    EXPECT_EQ(in_store.at("back2/" + name), bytes) << name;
  }
  ASSERT_TRUE(stores_["photos"]->remove("back/d/100.jpg"));
  const Ran resumed = unpack("s3://thumbs/b/{000..001}.tar", "s3://photos/back/",
                             {"--manifest", folder_ / "rows.jsonl", "--resume"});
  EXPECT_EQ(json::parse(resumed.out)["ok"], 1) << resumed.err;
}

TEST_P(CliStore, IndicesLieBesideShardsOrWhereTheyAreWanted) {
  make_shards(2, 6, 64, 3'000'000);
  ASSERT_EQ(run_program({"index", folder_ / "in/s-{0..1}.tar"}).exit_code, 0);
  const auto text_of = [](const Bytes& bytes) { return std::string(bytes.begin(), bytes.end()); };
  const Ran ran = run({"index", "s3://photos/2024/*.tar"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("2 shards, 12 samples"));
  auto made = all("photos", "2024/");
  EXPECT_EQ(made.size(), 5u);
  for (const char* name : {"s-0.idx", "s-1.idx", "shardindex.json"}) {
    EXPECT_EQ(text_of(made.at(std::string("2024/") + name)),
              text_of(read_file(folder_ / (std::string("in/") + name))))
        << name;
  }
  ASSERT_EQ(run({"index", "s3://photos/2024/s-{0..1}.tar", "--out", folder_ / "idx"}).exit_code, 0);
  EXPECT_EQ(read_file(folder_ / "idx/s-1.idx"), read_file(folder_ / "in/s-1.idx"));
  const auto list = json::parse(text_of(read_file(folder_ / "idx/shardindex.json")))["shardlist"];
  EXPECT_EQ(list[0]["url"], "s3://photos/2024/s-0.tar") << "no way leads there from a folder";
  ASSERT_EQ(
      run({"index", folder_ / "in/s-{0..1}.tar", "--out", "s3://thumbs/idx/", "--format", "dali"})
          .exit_code,
      0);
  EXPECT_EQ(all("thumbs").size(), 2u);

  put("photos", "2024/s-1.tar", {'n', 'o', 't', 'a', 'r'});
  const Ran damaged = run({"index", "s3://photos/2024/*.tar", "--out", folder_ / "idx2"});
  EXPECT_EQ(damaged.exit_code, 1);
  EXPECT_THAT(damaged.err, HasSubstr("s3://photos/2024/s-1.tar"));
  EXPECT_FALSE(fs::exists(folder_ / "idx2/shardindex.json"));
  EXPECT_EQ(run({"index", "s3://photos/none/*.tar"}).exit_code, 2);
  EXPECT_EQ(run({"index", "s3://photos/none.tar"}).exit_code, 1) << "a wrong name, no dead store";
  EXPECT_EQ(run({"index", folder_ / "in/s-0.tar"}).exit_code, 2) << "--endpoint without a store";
}

TEST_P(CliStore, IndicesReplaceNothingElse) {
  make_shards(2, 3, 64);
  put("photos", "2024/notes.txt", {'t', 'e', 'x', 't'});
  put("photos", "2024/s-0.idx", {'n', 'o', 'n', 'e'});
  const auto before = all("photos");
  const std::string shards = "s3://photos/2024/s-{0..1}.tar";
  for (const char* name : {"s-1.tar", "notes.txt", "s-0.idx"}) {
    const Ran ran = run({"index", shards, "--wids", std::string("s3://photos/2024/") + name});
    EXPECT_EQ(ran.exit_code, 2) << name << ran.err;
    EXPECT_EQ(all("photos"), before) << name;
  }
  EXPECT_EQ(run({"index", folder_ / "in/s-0.tar", "--wids", "s3://photos/2024/s-1.tar"}).exit_code,
            2);
  EXPECT_EQ(all("photos"), before);
  EXPECT_EQ(run({"index", shards}).exit_code, 1) << "one of two is written";
  auto made = all("photos");
  EXPECT_TRUE(made.erase("2024/s-1.idx"));
  EXPECT_EQ(made, before);
  ASSERT_TRUE(stores_["photos"]->remove("2024/s-0.idx"));
  EXPECT_EQ(run({"index", shards}).exit_code, 0);
  EXPECT_EQ(run({"index", shards}).exit_code, 0) << "indices are replaced";
}

// What reads the rows is Python; here a program that says what it was given.
TEST_P(CliStore, RowsOfStoresAreHandedToParquet) {
  make_shards(3, 4, 64);
  ASSERT_EQ(
      run({"batch", "s3://photos/2024/*.tar", "s3://thumbs/2024/", "--size", "32x"}).exit_code, 0);
  const std::string script = folder_ / "python";
  const std::string text = "#!/bin/sh\ntr '\\000' '@' > \"$3\"\n";
  write_file(script, Bytes(text.begin(), text.end()));
  fs::permissions(script, fs::perms::owner_all);
  ::setenv("FRAMEWIRE_PYTHON", script.c_str(), 1);
  const Ran ran = run({"report", "s3://thumbs/2024/", "--parquet", folder_ / "rows"});
  ::unsetenv("FRAMEWIRE_PYTHON");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const Bytes bytes = read_file(folder_ / "rows");
  const std::string given(bytes.begin(), bytes.end());
  EXPECT_TRUE(given.starts_with("s-0.tar@@{")) << given.substr(0, 100);
  EXPECT_THAT(given, HasSubstr("}\n@\ns-1.tar@@{"));
  EXPECT_TRUE(given.ends_with("}\n@\n"));
  EXPECT_EQ(std::ranges::count(given, '\n'), 3 * (4 + 1 + 1)) << "rows, a record and an end each";
}

TEST_P(CliStore, RowsOfPicturesMayLieInTheStore) {
  for (int i = 0; i < 6; ++i) {
    put("photos", "raw/" + std::to_string(i) + ".jpg", make_jpeg(64, 48, static_cast<unsigned>(i)));
  }
  const Words batch = {"batch", "s3://photos/raw/", "s3://thumbs/small/", "--size",
                       "32x",   "--manifest",       "s3://thumbs/rows",   "--json"};
  ASSERT_EQ(run(batch).exit_code, 0);
  const auto rows = all("thumbs", "rows/");
  ASSERT_EQ(rows.size(), 1u);
  const Bytes& part = rows.begin()->second;
  EXPECT_EQ(std::ranges::count(part, '\n'), 6);
  const Ran refused = run(batch);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("s3://thumbs/rows/: has rows already"));
  Words resumed = batch;
  resumed.emplace_back("--resume");
  put("photos", "raw/2.jpg", make_jpeg(80, 60, 9));
  ASSERT_TRUE(stores_["thumbs"]->remove("small/3.jpg"));
  const Ran again = run(resumed);
  EXPECT_EQ(json::parse(again.out)["unchanged"], 4) << again.err;
  EXPECT_EQ(json::parse(again.out)["ok"], 2);
  EXPECT_EQ(all("thumbs", "rows/").size(), 2u);
  EXPECT_EQ(json::parse(run(resumed).out)["unchanged"], 6) << "later rows count";
  ASSERT_EQ(run({"batch", "s3://photos/raw/", folder_ / "out", "--size", "32x", "--manifest",
                 "s3://thumbs/rows2/"})
                .exit_code,
            0);
  EXPECT_EQ(all("thumbs", "rows2/").size(), 1u);
}

TEST_P(CliStore, PicturesMayBeNamedOneByOne) {
  for (int i = 0; i < 4; ++i) {
    put("photos", "raw/" + std::to_string(i) + ".jpg", make_jpeg(64, 48, static_cast<unsigned>(i)));
  }
  const auto batch = [&](const Words& inputs, const std::string& out) {
    Words all = {"batch"};
    all.insert(all.end(), inputs.begin(), inputs.end());
    all.insert(all.end(), {folder_ / out, "--size", "32x"});
    return run(all);
  };
  EXPECT_EQ(batch({"s3://photos/raw/1.jpg"}, "one").exit_code, 0);
  EXPECT_EQ(read_tree(folder_ / "one").size(), 1u);
  EXPECT_EQ(batch({"s3://photos/raw/1.jpg", "s3://photos/raw/2.jpg"}, "two").exit_code, 0);
  EXPECT_EQ(read_tree(folder_ / "two").size(), 2u);
  EXPECT_EQ(batch({"s3://photos/raw/*.jpg"}, "all").exit_code, 0);
  EXPECT_EQ(read_tree(folder_ / "all").size(), 4u);
  const std::string list = "s3://photos/raw/0.jpg\ns3://photos/raw/none.jpg\n";
  write_file(folder_ / "list", Bytes(list.begin(), list.end()));
  const Ran listed = batch({"@" + (folder_ / "list")}, "listed");
  EXPECT_EQ(listed.exit_code, 1);
  EXPECT_THAT(listed.err, HasSubstr("s3://photos/raw/none.jpg: is not there"));
  EXPECT_EQ(read_tree(folder_ / "listed").size(), 1u);
}

TEST_P(CliStore, MisuseIsNamed) {
  const auto refused = [&](const Words& some, const char* message) {
    const Ran ran = run(some);
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(message));
  };
  refused({"batch", "s3://photos/", "s3://photos/small/", "--size", "32x"}, "hold one another");
  for (const char* out :
       {"s3://photos/a/../", "s3://photos/./b/", "s3://photos//y", "s3://photos/.."}) {
    refused({"batch", "s3://others/", out, "--size", "32x"}, "accepted: a prefix without");
  }
  refused({"batch", "s3://photos/*/a.jpg", "s3://photos/x/", "--size", "32x"}, "hold one another");
  refused({"batch", "s3://photos/x/a.jpg", "s3://photos/x/", "--size", "32x"}, "hold one another");
  refused({"batch", "s3://photos/a.jpg", folder_ / "in", folder_ / "out"}, "accepted: either");
  refused({"batch", folder_ / "in", "s3://thumbs/", "--mode", "644"}, "is for output folders");
  refused({"batch", folder_ / "in", folder_ / "out"}, "--endpoint is for object stores");
  refused({"batch", "s3://photos/", folder_ / "out", "--store-memory", "1M"}, "64M or more");
  refused({"batch", "s3://photos/none/*.tar", folder_ / "out"}, "matches no object");
  const Ran nowhere = run({"batch", "s3://nosuchbucket/*.tar", folder_ / "out", "--size", "32x"});
  EXPECT_NE(nowhere.exit_code, 0);
  EXPECT_THAT(nowhere.err, HasSubstr("s3://nosuchbucket"));
}

INSTANTIATE_TEST_SUITE_P(Servers, CliStore, ::testing::Values(kMoto, kSwift),
                         [](const auto& server) { return std::string(server.param.name); });

}  // namespace
}  // namespace framewire::test
#endif
