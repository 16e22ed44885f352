// Members of strangers' archives, as inputs that become files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <algorithm>
#include <dataset/unpack_source.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <tests/support/archive.hpp>
#include <tests/support/fake_store.hpp>

namespace framewire::dataset::test {
namespace {

namespace fs = std::filesystem;

/// Remembers what it is given.
class MemorySink final : public batch::Sink {
 public:
  std::string label(const std::string& name) const override { return prefix + name; }
  batch::WriteResult commit(const batch::Output& output,
                            std::span<const std::uint8_t> bytes) override {
    files[output.name] = std::string(bytes.begin(), bytes.end());
    return {};
  }
  Result<std::optional<std::uint64_t>> find(const std::string& name) const override {
    const auto found = files.find(name);
    if (found == files.end()) return std::nullopt;
    return found->second.size();
  }
  std::string prefix = "out/";
  std::map<std::string, std::string> files;
};

class Unpack : public ::testing::Test {
 protected:
  Unpack() {
    std::string name = (fs::temp_directory_path() / "framewire-unpack-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no folder";
    folder_ = name;
    options_.sidecars = {"txt"};
    options_.sink = &sink_;
  }
  ~Unpack() override {
    std::error_code error;
    fs::remove_all(folder_, error);
  }
  std::string write(const std::string& name, const Archive& archive) const {
    std::ofstream file(folder_ / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(archive.bytes.data()),
               static_cast<std::streamsize>(archive.bytes.size()));
    return (folder_ / name).string();
  }
  /// Lists all inputs: good ones by name and content, others by name and message.
  void list(const std::vector<std::string>& shards) {
    std::vector<NamedShard> named;
    for (const std::string& shard : shards) named.push_back({shard, shard});
    UnpackSource source(std::move(named), options_);
    for (;;) {
      const auto input = source.next();
      ASSERT_TRUE(input) << input.error().to_string();
      if (!*input) break;
      if ((*input)->error) {
        faults_.push_back((*input)->error->to_string());
        continue;
      }
      const auto open = source.open(**input);
      ASSERT_TRUE(open);
      std::vector<std::uint8_t> bytes((*open)->facts().bytes.value() + 1);
      const auto got = (*open)->read(bytes);
      ASSERT_TRUE(got);
      inputs_[(*input)->name] = std::string(bytes.begin(), bytes.begin() + static_cast<int>(*got));
    }
    written_ = source.sidecars_written();
  }

  fs::path folder_;
  MemorySink sink_;
  UnpackOptions options_;
  std::map<std::string, std::string> inputs_;
  std::vector<std::string> faults_;
  std::uint64_t written_ = 0;
};

using Files = std::map<std::string, std::string>;

TEST_F(Unpack, PicturesAreInputsAndSidecarsAreWritten) {
  Archive one;
  one.file("d/", "", '5').file("d/1.jpg", "one").file("d/1.txt", "text").file("d/1.json", "{}");
  one.file("./2.bin", "\xFF\xD8\xFF\xE0").file("3.txt", "three").end();
  Archive two;
  two.file("4.jpg", "four").end();
  list({write("1.tar", one), (folder_ / "missing.tar").string(), write("2.tar", two)});
  EXPECT_EQ(inputs_, (Files{{"d/1.jpg", "one"}, {"2.bin", "\xFF\xD8\xFF\xE0"}, {"4.jpg", "four"}}));
  EXPECT_EQ(sink_.files, (Files{{"d/1.txt", "text"}, {"3.txt", "three"}}));
  EXPECT_EQ(written_, 2u);
  ASSERT_EQ(faults_.size(), 1u);
  EXPECT_THAT(faults_[0], ::testing::HasSubstr("missing.tar"));

  // Resumed, what is there in its size stays; another part has other shards.
  sink_.files["3.txt"] = "3-3-3";
  options_.resume = true;
  options_.part = {0, 2};
  inputs_.clear();
  list({(folder_ / "1.tar").string(), (folder_ / "2.tar").string()});
  EXPECT_EQ(sink_.files.at("3.txt"), "3-3-3");
  EXPECT_EQ(inputs_.size(), 2u);
  EXPECT_EQ(written_, 0u);
}

TEST_F(Unpack, AShardThatIsCutSaysSoAndWhere) {
  Archive archive;
  archive.file("1.jpg", "one").header("2.jpg", '0', "00000002000").content("short");
  list({write("a.tar", archive)});
  EXPECT_EQ(inputs_, (Files{{"1.jpg", "one"}}));
  ASSERT_EQ(faults_.size(), 1u);
  EXPECT_THAT(faults_[0], ::testing::HasSubstr("a.tar: 2.jpg: the archive is cut short"));
  EXPECT_THAT(faults_[0], ::testing::HasSubstr("(at byte 1024)"));
}

TEST_F(Unpack, NothingIsWrittenOverAShard) {
  sink_.prefix = "s3://bucket/in/";
  const auto store = std::make_shared<store::test::FakeStore>();
  Archive one;
  one.file("2.tar", "\xFF\xD8\xFF\xE0").file("./1.tar", "\xFF\xD8\xFF").file("3.jpg", "3").end();
  store->set("in/1.tar", {one.bytes.begin(), one.bytes.end()});
  Archive two;
  two.file("1.txt", "text").end();
  store->set("in/2.tar", {two.bytes.begin(), two.bytes.end()});
  options_.stores = std::make_shared<StoreSet>(
      [store](const std::string&) -> Result<std::shared_ptr<store::ObjectStore>> {
        return std::shared_ptr<store::ObjectStore>(store);
      });
  list({"s3://bucket/in/1.tar", "s3://bucket/in/2.tar"});
  EXPECT_EQ(inputs_, (Files{{"3.jpg", "3"}}));
  ASSERT_EQ(faults_.size(), 2u);
  EXPECT_THAT(faults_[0], ::testing::HasSubstr("would replace a shard of this batch"));
}

TEST_F(Unpack, ShardsMayLieInAStore) {
  const auto store = std::make_shared<store::test::FakeStore>();
  Archive one;
  one.file("1.jpg", "one").file("1.txt", "text").end();
  store->set("in/1.tar", {one.bytes.begin(), one.bytes.end()});
  Archive two;
  two.file("2.jpg", std::string(20'000'000, '2')).file("3.jpg", "three").end();
  store->set("in/2.tar", {two.bytes.begin(), two.bytes.end()});
  options_.stores = std::make_shared<StoreSet>(
      [store](const std::string&) -> Result<std::shared_ptr<store::ObjectStore>> {
        return std::shared_ptr<store::ObjectStore>(store);
      });
  std::atomic<bool> unreachable{false};
  options_.unreachable = &unreachable;
  list({"s3://bucket/in/1.tar", "s3://bucket/in/none.tar", "s3://bucket/in/2.tar"});
  EXPECT_FALSE(unreachable) << "no other try would find it";
  EXPECT_EQ(inputs_.size(), 3u);
  EXPECT_EQ(inputs_.at("2.jpg"), std::string(20'000'000, '2'));
  EXPECT_EQ(inputs_.at("3.jpg"), "three");
  EXPECT_EQ(sink_.files, (Files{{"1.txt", "text"}}));
  ASSERT_EQ(faults_.size(), 1u);
  EXPECT_THAT(faults_[0], ::testing::HasSubstr("s3://bucket/in/none.tar: is not there"));

  // A shard that is lost halfway is one error, and the next one follows.
  inputs_.clear();
  store->before = [](store::test::Request what, const std::string& key) -> std::optional<Status> {
    if (what != store::test::Request::kRead || key != "in/1.tar") return std::nullopt;
    return Status(StatusCode::kIoError, "is gone");
  };
  list({"s3://bucket/in/1.tar", "s3://bucket/in/2.tar"});
  EXPECT_EQ(inputs_.size(), 2u);
  ASSERT_EQ(faults_.size(), 2u);
  EXPECT_THAT(faults_[1], ::testing::HasSubstr("s3://bucket/in/1.tar"));
  EXPECT_TRUE(unreachable);
}

class UnpackAttack : public Unpack {};

TEST_F(UnpackAttack, NamesOfStrangersStayBelowTheFolder) {
  Archive archive;
  for (const char* name : {"../up.jpg", "/abs.jpg", "a/../b.jpg", "a//b.jpg", "../up.txt", "..",
                           ".framewire-1-2.tmp", "./../x.jpg"}) {
    archive.file(name, "\xFF\xD8\xFF");
  }
  archive.pax("path", std::string("nul\0.jpg", 8)).file("x", "\xFF\xD8\xFF");
  archive.pax("path", std::string(5000, 'n') + ".jpg").file("x", "\xFF\xD8\xFF");
  archive.file("twice.jpg", "1").file("./twice.jpg", "2").file("twice.txt", "1");
  archive.file("twice.txt", "2");
  archive.header("link.jpg", '2', "00000000000").field(157, "/etc/passwd");
  archive.header("hard.jpg", '1', "00000000000").field(157, "twice.jpg");
  archive.header("device.jpg", '3', "00000000000").end();
  list({write("a.tar", archive)});
  EXPECT_EQ(inputs_, (Files{{"twice.jpg", "1"}}));
  EXPECT_EQ(sink_.files, (Files{{"twice.txt", "1"}}));
  EXPECT_EQ(faults_.size(), 12u);
}

TEST_F(UnpackAttack, WhatIsTooLargeForMemoryIsRefusedBeforeItIsRead) {
  constexpr std::uint64_t kBytes = 80u << 20;
  Archive archive;
  archive.header("huge.txt", '0', "00500000000");
  const std::string shard = write("a.tar", archive);
  fs::resize_file(shard, tar::kBlockBytes + kBytes + 2 * tar::kBlockBytes);
  list({shard});
  EXPECT_TRUE(sink_.files.empty());
  ASSERT_EQ(faults_.size(), 1u);
  EXPECT_THAT(faults_[0], ::testing::HasSubstr("too_large"));
}

}  // namespace
}  // namespace framewire::dataset::test
