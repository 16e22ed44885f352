// Listings page by page, from servers that may not want them to end.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tests/store/opened_store.hpp>
#include <tests/store/scripted_server.hpp>

namespace framewire::store {
namespace {

using namespace framewire::test;
using testing::HasSubstr;

std::string entry(const std::string& key) {
  return "<Contents><Key>" + key +
         "</Key><LastModified>2024-01-02T03:04:05Z</LastModified><ETag>\"e\"</ETag><Size>1</Size>"
         "</Contents>";
}

std::string page_of(const std::string& entries, const std::string& next) {
  return "<ListBucketResult><EncodingType>url</EncodingType>" + entries +
         (next.empty() ? "<IsTruncated>false</IsTruncated>"
                       : "<IsTruncated>true</IsTruncated><NextContinuationToken>" + next +
                             "</NextContinuationToken>") +
         "</ListBucketResult>";
}

Result<std::vector<std::string>> list_all(ScriptedServer& server, const std::string& prefix = "p/",
                                          const std::string& after = {}) {
  std::vector<std::string> keys;
  auto listed = opened(server.url())->list(prefix, after, [&](const ObjectInfo& object) {
    keys.push_back(object.key);
    return keys.size() < 5'000;
  });
  if (!listed) return fail(std::move(listed.error()));
  return keys;
}

TEST(ListingPages, FollowOneAnother) {
  std::vector<std::string> targets;
  ScriptedServer server([&](const Asked& asked) {
    targets.push_back(asked.target);
    if (targets.size() == 1) return reply(200, page_of(entry("p/a+b") + entry("p/b"), "x/y="));
    if (targets.size() == 2) return reply(503);
    return reply(200, page_of(entry("p/c%0A"), ""));
  });
  const auto keys = list_all(server, "p/", "p/A");
  ASSERT_TRUE(keys) << keys.error().to_string();
  EXPECT_THAT(*keys, testing::ElementsAre("p/a b", "p/b", "p/c\n"));
  EXPECT_EQ(targets[0], "/photos?encoding-type=url&list-type=2&prefix=p%2F&start-after=p%2FA");
  EXPECT_EQ(targets[2],
            "/photos?continuation-token=x%2Fy%3D&encoding-type=url&list-type=2&prefix=p%2F");
}

TEST(ListingPages, EndWhereTheCallerHasEnough) {
  ScriptedServer server(
      [](const Asked&) { return reply(200, page_of(entry("p/a") + entry("p/b"), "t")); });
  unsigned taken = 0;
  EXPECT_TRUE(opened(server.url())->list("p/", "", [&](const ObjectInfo&) { return ++taken < 2; }));
  EXPECT_EQ(server.requests(), 1U);
}

TEST(ListingPagesAttack, PagesWithoutEnd) {
  const std::vector<std::pair<std::string, const char*>> pages = {
      {page_of("", "t"), "no end"},
      {page_of(entry("p/a"), "t"), "out of order"},
      {page_of(entry("p/b") + entry("p/a"), "t"), "out of order"},
      {page_of(entry("q/b"), ""), "not asked for"},
      {"<html/>", "is no listing"}};
  for (const auto& [page, text] : pages) {
    ScriptedServer server([&, page = page](const Asked&) { return reply(200, page); });
    const auto keys = list_all(server);
    ASSERT_FALSE(keys) << page;
    EXPECT_EQ(keys.error().code(), StatusCode::kIoError);
    EXPECT_THAT(keys.error().to_string(), HasSubstr(text));
  }
}

TEST(ListingPagesAttack, APageThatIsTooLarge) {
  ScriptedServer server([](const Asked&) {
    return Scripted{"HTTP/1.1 200 x\r\n\r\n", entry("p/a"), SIZE_MAX, true, 0, false};
  });
  const auto keys = list_all(server);
  ASSERT_FALSE(keys);
  EXPECT_THAT(keys.error().to_string(), HasSubstr("larger than 8388608 bytes"));
}

TEST(ListingPages, ManyKeysInLittleMemory) {
  // Keys to 300,000; each page has a thousand.
  ScriptedServer server([](const Asked& asked) {
    const std::size_t at = asked.target.find("continuation-token=");
    const std::size_t first =
        at == std::string::npos ? 0 : std::stoul(asked.target.substr(at + 19));
    std::string entries;
    for (std::size_t i = first; i < first + 1'000; ++i) entries += entry(fmt::format("p/{:09}", i));
    return reply(200, page_of(entries, first < 299'000 ? std::to_string(first + 1'000) : ""));
  });
  std::size_t keys = 0;
  const auto listed =
      opened(server.url())->list("p/", "", [&](const ObjectInfo&) { return ++keys > 0; });
  ASSERT_TRUE(listed) << listed.error().to_string();
  EXPECT_EQ(keys, 300'000U);
}

}  // namespace
}  // namespace framewire::store
