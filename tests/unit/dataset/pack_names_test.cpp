// Names of packed shards and of their members.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <dataset/pack_names.hpp>
#include <dataset/sidecars.hpp>

namespace framewire::dataset::test {
namespace {

using ::testing::ElementsAre;

TEST(ShardPattern, NumbersNamesAndReadsThemBack) {
  const auto pattern = ShardPattern::parse("a/b/train-%06d.x.tar").value();
  EXPECT_EQ(pattern.folder(), "a/b");
  EXPECT_EQ(pattern.last_part(), "train-%06d.x.tar");
  EXPECT_EQ(pattern.name(7), "train-000007.x.tar");
  EXPECT_EQ(pattern.name(12345678), "train-12345678.x.tar");
  for (const std::uint64_t number : {0u, 7u, 999999u, 1000000u}) {
    EXPECT_EQ(pattern.number_of(pattern.name(number)), number);
  }
  for (const char* other :
       {"train-7.x.tar", "train-0000007.x.tar", "train-00000a.x.tar", "train-.x.tar",
        "train-000007.tar", "rain-000007.x.tar", "", "train-99999999999999999999.x.tar"}) {
    EXPECT_FALSE(pattern.number_of(other)) << other;
  }
  const auto plain = ShardPattern::parse("%d.tar").value();
  EXPECT_EQ(plain.folder(), ".");
  EXPECT_EQ(plain.name(12), "12.tar");
  EXPECT_FALSE(plain.number_of("012.tar"));
}

TEST(ShardPattern, TakesOneNumberInTheLastPart) {
  for (const char* bad :
       {"", "a.tar", "%d", "%d.zip", "%d-%d.tar", "%d/%d.tar", "%x.tar", "%0d.tar", "%00d.tar",
        "%020d.tar", "%-6d.tar", "%6d.tar", "%.tar", "%%d.tar"}) {
    const auto pattern = ShardPattern::parse(bad);
    ASSERT_FALSE(pattern) << bad;
    EXPECT_EQ(pattern.error().code(), StatusCode::kInvalidInput);
  }
}

TEST(MemberName, HasAKeyForWebDataset) {
  EXPECT_EQ(member_name("a.b/1.c.jpg", KeyDots::kKeep).value(), "a.b/1.c.jpg");
  EXPECT_EQ(member_name("a.b/1.c.d.jpg", KeyDots::kUnderscore).value(), "a.b/1_c_d.jpg");
  EXPECT_EQ(member_name("a.b/.1.jpg", KeyDots::kUnderscore).value(), "a.b/_1.jpg");
  EXPECT_EQ(member_name("1.jpg", KeyDots::kUnderscore).value(), "1.jpg");
  for (const char* keyless : {"README", "a.b/README", ".jpg", "a/.jpg"}) {
    EXPECT_FALSE(member_name(keyless, KeyDots::kKeep)) << keyless;
    EXPECT_FALSE(member_name(keyless, KeyDots::kUnderscore)) << keyless;
  }
  EXPECT_FALSE(member_name(".hidden.jpg", KeyDots::kKeep));
}

TEST(Sidecars, AreNamedByExtensions) {
  EXPECT_THAT(parse_sidecars("txt,json,seg.png").value(), ElementsAre("txt", "json", "seg.png"));
  for (const char* bad : {"", ",", "txt,", ".txt", "a/b", "txt,txt", "jpg", "JPEG", "x.jpg"}) {
    EXPECT_FALSE(parse_sidecars(bad)) << bad;
  }
  const std::vector<std::string> extensions = {"txt", "seg.png"};
  EXPECT_TRUE(named_like_sidecar("a/b.txt", extensions));
  EXPECT_TRUE(named_like_sidecar("b.seg.png", extensions));
  EXPECT_FALSE(named_like_sidecar("b.png", extensions));
  EXPECT_FALSE(named_like_sidecar(".txt", extensions));
  EXPECT_FALSE(named_like_sidecar("txt", extensions));
  EXPECT_EQ(with_extension("d.x/a.b.jpg", "txt"), "d.x/a.b.txt");
  EXPECT_EQ(with_extension("d.x/a", "txt"), "d.x/a.txt");
  EXPECT_EQ(with_extension("d.x/.a", "txt"), "d.x/.a.txt");
}

}  // namespace
}  // namespace framewire::dataset::test
