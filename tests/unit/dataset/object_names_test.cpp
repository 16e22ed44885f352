// Shards by URLs: braces, wildcards, and the names that outputs get.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <dataset/object_names.hpp>
#include <tests/support/fake_store.hpp>

namespace framewire::dataset::test {
namespace {

using store::test::FakeStore;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ObjectPatterns, WildcardsStayWithinAPart) {
  for (const auto& [pattern, key] : std::vector<std::pair<const char*, const char*>>{
           {"a/*.tar", "a/1.tar"},
           {"a/*.tar", "a/.tar"},
           {"*", "x"},
           {"*", ""},
           {"a*b*c", "a1b2bc"},
           {"a*b*c", "abbbc"},
           {"?/x", "1/x"},
           {"*/*b", "a/cb"},
           {"a**b", "ab"},
       }) {
    EXPECT_TRUE(matches(pattern, key)) << pattern << " " << key;
  }
  for (const auto& [pattern, key] : std::vector<std::pair<const char*, const char*>>{
           {"a/*.tar", "a/b/1.tar"},
           {"a/*.tar", "a/1.tar.jsonl"},
           {"a*b", "a/b"},
           {"a?b", "a/b"},
           {"?", ""},
           {"a*b*c", "a1b2"},
           {"a", "ab"},
           {"ab", "a"},
       }) {
    EXPECT_FALSE(matches(pattern, key)) << pattern << " " << key;
  }
}

TEST(ObjectPatternsAttack, APatternOfManyWildcardsTakesLittleTime) {
  std::string pattern;
  for (int i = 0; i < 300; ++i) pattern += "a*";
  EXPECT_FALSE(matches(pattern + "b", std::string(1024, 'a')));
}

class ObjectNames : public ::testing::Test {
 protected:
  ObjectNames() {
    for (const char* key : {"in/2023/a.tar", "in/2024/a.tar", "in/2024/b.tar", "in/2024/c.txt",
                            "in/2024/deep/d.tar", "in/"}) {
      store_->set(key, store::test::to_bytes(key));
    }
  }
  Result<std::vector<NamedShard>> named(const std::vector<std::string>& urls) {
    return name_object_shards(urls, stores_);
  }
  std::vector<std::string> names(const std::vector<std::string>& urls) {
    const auto all = named(urls);
    EXPECT_TRUE(all) << all.error().to_string();
    std::vector<std::string> out;
    for (const NamedShard& shard : all ? *all : std::vector<NamedShard>()) {
      out.push_back(shard.path + " " + shard.name);
    }
    return out;
  }
  const std::shared_ptr<FakeStore> store_ = std::make_shared<FakeStore>("b01");
  StoreSet stores_{
      [this](const std::string& bucket) -> Result<std::shared_ptr<store::ObjectStore>> {
        if (bucket != "b01" && bucket != "b02") return fail(StatusCode::kDenied, "no such bucket");
        return std::shared_ptr<store::ObjectStore>(store_);
      }};
};

TEST_F(ObjectNames, ComeFromListingsAndBraces) {
  EXPECT_THAT(names({"s3://b01/in/2024/*.tar"}),
              ElementsAre("s3://b01/in/2024/a.tar a.tar", "s3://b01/in/2024/b.tar b.tar"));
  EXPECT_THAT(names({"s3://b01/in/{2023,2024}/*.tar"}),
              ElementsAre("s3://b01/in/2023/a.tar 2023/a.tar", "s3://b01/in/2024/a.tar 2024/a.tar",
                          "s3://b01/in/2024/b.tar 2024/b.tar"));
  EXPECT_THAT(names({"s3://b01/in/2024/*/*.tar"}),
              ElementsAre("s3://b01/in/2024/deep/d.tar deep/d.tar"))
      << "names do not depend on what a listing finds";
  EXPECT_THAT(names({"s3://b01/x/{0..1}.tar"}),
              ElementsAre("s3://b01/x/0.tar 0.tar", "s3://b01/x/1.tar 1.tar"));
  EXPECT_THAT(names({"s3://b01/x/0.tar", "s3://b02/x/0.tar"}),
              ElementsAre("s3://b01/x/0.tar b01/x/0.tar", "s3://b02/x/0.tar b02/x/0.tar"));
  const auto listed = named({"s3://b01/in/2024/*.tar"});
  ASSERT_TRUE(listed);
  ASSERT_TRUE(listed->at(0).object) << "the listing has said what is to be known";
  EXPECT_EQ(listed->at(0).object->bytes, std::string_view("in/2024/a.tar").size());
}

TEST_F(ObjectNames, AreRefusedBeforeAnyWork) {
  EXPECT_THAT(named({"s3://b01/in/2022/*.tar"}).error().to_string(),
              HasSubstr("s3://b01/in/2022/*.tar: matches no object"));
  EXPECT_THAT(named({"s3://b01/x.tar", "s3://b01/x.tar"}).error().to_string(),
              HasSubstr("is named twice"));
  const auto twice = named({"https://h/x.tar?sig=SECRETTEST", "https://h/x.tar?sig=2SECRETTEST"});
  EXPECT_THAT(twice.error().to_string(), HasSubstr("https://h/x.tar: is named twice"));
  EXPECT_THAT(twice.error().to_string(), Not(HasSubstr("SECRETTEST")));
  EXPECT_EQ(named({"s3://other/*.tar"}).error().code(), StatusCode::kDenied);
  EXPECT_FALSE(named({"s3://-/x.tar"}));
  EXPECT_EQ(named({"s3://b01/{0..99999999}.tar"}).error().code(), StatusCode::kTooLarge);
}

TEST_F(ObjectNames, APrefixEndsInASlash) {
  EXPECT_EQ(open_prefix("s3://b01", stores_)->prefix, "");
  EXPECT_EQ(open_prefix("s3://b01/", stores_)->prefix, "");
  EXPECT_EQ(open_prefix("s3://b01/a/b", stores_)->prefix, "a/b/");
  EXPECT_EQ(open_prefix("s3://b01/a/b/", stores_)->prefix, "a/b/");
}

}  // namespace
}  // namespace framewire::dataset::test
