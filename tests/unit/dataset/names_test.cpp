// Names: keys of samples, and braces; and the indices that are made of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <dataset/braces.hpp>
#include <dataset/sample_key.hpp>
#include <dataset/shard_index.hpp>
#include <dataset/walked_shard.hpp>
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

// As bash 5.2 has them.
TEST(Braces, CountByStepsAndLieInOneAnother) {
  const auto names = [](const std::string& word) { return expand_braces(word).value(); };
  EXPECT_THAT(names("s-{0..5..2}.tar"), ElementsAre("s-0.tar", "s-2.tar", "s-4.tar"));
  EXPECT_THAT(names("{05..1..2}"), ElementsAre("05", "03", "01"));
  EXPECT_THAT(names("{1..3..-2}"), ElementsAre("1", "3"));
  EXPECT_THAT(names("{1..2..0}"), ElementsAre("1", "2"));
  EXPECT_THAT(names("{0..4294967295..4294967295}"), ElementsAre("0", "4294967295"));
  EXPECT_THAT(names("{1..2..x}{1..2..}{1..2..1..1}"), ElementsAre("{1..2..x}{1..2..}{1..2..1..1}"));
  EXPECT_THAT(names("{a-{0..1},b}.tar"), ElementsAre("a-0.tar", "a-1.tar", "b.tar"));
  EXPECT_THAT(names("{x,{a,b}{1..2},}z"), ElementsAre("xz", "a1z", "a2z", "b1z", "b2z", "z"));
  EXPECT_THAT(names("{x{a,b}}"), ElementsAre("{xa}", "{xb}"));
  EXPECT_THAT(names("{a,b}}{,c{"), ElementsAre("a}{,c{", "b}{,c{"));
  EXPECT_THAT(names("{a,{b}"), ElementsAre("{a,{b}"));
}

TEST(BracesAttack, ManyNamesAreRefusedBeforeTheyAreMade) {
  for (const char* word : {"{0..4294967295}", "{0..9999}{0..9999}{0..9999}{0..9999}{0..9999}"}) {
    const auto names = expand_braces(word);
    ASSERT_FALSE(names);
    EXPECT_EQ(names.error().code(), StatusCode::kTooLarge);
  }
  EXPECT_FALSE(expand_braces("{0..9}", 9));
  EXPECT_TRUE(expand_braces("{0..9}", 10));
  EXPECT_FALSE(expand_braces("{{0..4},{0..4}}", 9));
  const auto deep = [](std::size_t depth) {
    std::string word;
    for (std::size_t i = 0; i < depth; ++i) word += "{a,";
    return expand_braces(word + std::string(depth, '}'));
  };
  EXPECT_EQ(deep(kMaxBraceDepth).value().size(), kMaxBraceDepth + 1);
  ASSERT_FALSE(deep(100'000));
  EXPECT_EQ(deep(100'000).error().code(), StatusCode::kTooLarge);
  EXPECT_EQ(expand_braces(std::string(100'000, '{') + std::string(100'000, '}')).value().size(),
            1u);
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

/// A shard in memory, which counts how often its bytes are read.
class MemoryShard final : public ShardInput {
 public:
  explicit MemoryShard(std::vector<std::uint8_t> bytes)
      : ShardInput({"memory.tar", bytes.size(), 0, "", std::nullopt}),
        read(bytes.size()),
        bytes_(std::move(bytes)) {}
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::uint8_t> into) override {
    const std::size_t some = std::min<std::size_t>(into.size(), bytes_.size() - offset);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), some, into.begin());
    for (std::size_t i = 0; i < some; ++i) ++read[offset + i];
    return some;
  }
  void read_ahead(std::uint64_t) noexcept override {}
  void release_before(std::uint64_t offset) noexcept override { released = offset; }
  std::optional<Status> lost() const override { return std::nullopt; }

  std::vector<int> read;  ///< how often each byte was
  std::uint64_t released = 0;

 private:
  const std::vector<std::uint8_t> bytes_;
};

TEST(ShardIndex, Md5IsThatOfRfc1321) {
  MemoryShard abc({'a', 'b', 'c'});
  EXPECT_EQ(WalkedShard(abc, true).md5().value(), "900150983cd24fb0d6963f7d28e17f72");
}

TEST(ShardIndex, Md5IsComputedWhileHeadersAreRead) {
  Archive archive;
  for (int i = 0; i < 5; ++i) {
    archive.file(std::to_string(i) + ".jpg", std::string(700'000, static_cast<char>('a' + i)));
  }
  archive.end();
  const std::vector<std::uint8_t> bytes(archive.bytes.begin(), archive.bytes.end());
  MemoryShard shard(bytes);
  WalkedShard walked(shard, true);
  const auto index = index_shard(walked, shard.bytes());
  ASSERT_TRUE(index);
  EXPECT_EQ(index->samples.size(), 5u);
  MemoryShard again(bytes);
  EXPECT_EQ(walked.md5().value(), WalkedShard(again, true).md5().value());
  EXPECT_GT(shard.released, 2'000'000u) << "what is in the digest may go";
  EXPECT_LE(*std::ranges::max_element(shard.read), 2) << "once for the digest, once for a header";
  MemoryShard headers(bytes);
  WalkedShard alone(headers, false);
  ASSERT_TRUE(index_shard(alone, headers.bytes()));
  EXPECT_LT(std::ranges::count_if(headers.read, [](int times) { return times > 0; }), 100'000);
}

}  // namespace
}  // namespace framewire::dataset::test
