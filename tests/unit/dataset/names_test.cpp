// Names: keys of samples, and braces; and the indices that are made of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <dataset/braces.hpp>
#include <dataset/sample_key.hpp>
#include <dataset/shard_index.hpp>
#include <nlohmann/json.hpp>
#include <tests/support/archive.hpp>

namespace framewire::dataset::test {
namespace {

using ::testing::ElementsAre;

TEST(SampleKey, IsCutAtTheFirstDotOfTheLastPart) {
  const auto cut = [](std::string_view name) {
    const SampleName parts = split_sample_name(name);
    return std::string(parts.key) + "|" + std::string(parts.extension);
  };
  EXPECT_EQ(cut("000123.jpg"), "000123|jpg");
  EXPECT_EQ(cut("a.b/000123.seg.png"), "a.b/000123|seg.png");
  EXPECT_EQ(cut("./1.jpg"), "./1|jpg");
  EXPECT_EQ(cut("README"), "|");
  EXPECT_EQ(cut("a.b/README"), "|");
  EXPECT_EQ(cut("a/.hidden"), "|");
  EXPECT_EQ(cut(""), "|");
}

TEST(SampleKey, JpegIsToldByItsName) {
  for (const char* name : {"a.jpg", "a.JPG", "a.b.jpeg", "a.jpe", "d/a.JfIf"}) {
    EXPECT_TRUE(named_like_jpeg(name)) << name;
  }
  for (const char* name : {".jpg", "a.png", "a.jpg.txt", "jpg", ""}) {
    EXPECT_FALSE(named_like_jpeg(name)) << name;
  }
}

TEST(Braces, CountAndCombine) {
  const auto names = [](const std::string& word) { return expand_braces(word).value(); };
  EXPECT_THAT(names("a"), ElementsAre("a"));
  EXPECT_THAT(names("s-{08..11}.tar"), ElementsAre("s-08.tar", "s-09.tar", "s-10.tar", "s-11.tar"));
  EXPECT_THAT(names("{2..0}"), ElementsAre("2", "1", "0"));
  EXPECT_THAT(names("{9..11}"), ElementsAre("9", "10", "11"));
  EXPECT_THAT(names("{a,b}-{0..1}"), ElementsAre("a-0", "a-1", "b-0", "b-1"));
  EXPECT_THAT(names("{}{x}{1..}{..2}"), ElementsAre("{}{x}{1..}{..2}"));
  EXPECT_THAT(names("{{1..2}"), ElementsAre("{1", "{2"));
  EXPECT_THAT(names("a{"), ElementsAre("a{"));
}

TEST(BracesAttack, ManyNamesAreRefusedBeforeTheyAreMade) {
  for (const char* word : {"{0..4294967295}", "{0..9999}{0..9999}{0..9999}{0..9999}{0..9999}"}) {
    const auto names = expand_braces(word);
    ASSERT_FALSE(names);
    EXPECT_EQ(names.error().code(), StatusCode::kTooLarge);
  }
  EXPECT_FALSE(expand_braces("{0..9}", 9));
}

TEST(ShardIndex, IsWhatDaliAndWidsRead) {
  Archive archive;
  archive.file("d/", "", '5').file("d/1.jpg", "12345").file("d/1.cls.txt", "7");
  archive.file("README", "x").file(".hidden", "x").file("d/2.jpg", "1").end();
  MemoryBytes bytes(archive.bytes);
  const auto index = index_shard(bytes, bytes.size());
  ASSERT_TRUE(index);
  EXPECT_EQ(to_dali_index(*index).value(),
            "v1.2 2\n"
            "jpg 1024 5 d/1.jpg cls.txt 2048 1 d/1.cls.txt\n"
            "jpg 5120 1 d/2.jpg\n");
  EXPECT_EQ(md5_of(bytes).value().size(), 32u);
  const auto json =
      nlohmann::json::parse(to_wids_index({{"b.tar", "x", 2, 10}, {"a.tar", "y", 3, 20}}));
  EXPECT_EQ(json["__kind__"], "wids-shard-index-v1");
  EXPECT_EQ(json["shardlist"][0]["url"], "a.tar");
  EXPECT_EQ(json["shardlist"][0]["nsamples"], 3);
  EXPECT_EQ(json["shardlist"][1]["filesize"], 10);
}

TEST(ShardIndex, RefusesWhatCannotBeWritten) {
  Archive spaces;
  spaces.file("a b.jpg", "1").end();
  MemoryBytes bytes(spaces.bytes);
  const auto index = index_shard(bytes, bytes.size());
  ASSERT_TRUE(index);
  EXPECT_EQ(to_dali_index(*index).error().code(), StatusCode::kUnsupported);
  Archive sparse;
  sparse.header("s.jpg", 'S', "00000000000").end();
  MemoryBytes holes(sparse.bytes);
  const auto refused = index_shard(holes, holes.size());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("s.jpg"), std::string::npos);
}

TEST(ShardIndex, Md5IsThatOfRfc1321) {
  MemoryBytes abc({'a', 'b', 'c'});
  EXPECT_EQ(md5_of(abc).value(), "900150983cd24fb0d6963f7d28e17f72");
}

}  // namespace
}  // namespace framewire::dataset::test
