// Where indices go in stores: nothing but an index is replaced, whatever else happens there.
#include <gtest/gtest.h>
#include <algorithm>
#include <commands/index/index_place.hpp>
#include <optional>
#include <tests/support/fake_store.hpp>

namespace framewire::app {
namespace {

using store::test::FakeStore;
using store::test::Request;
using store::test::to_bytes;

constexpr const char* kDali = "v1.2 1\njpg 512 3 a.jpg\n";
constexpr const char* kWids =
    "{\n  \"__kind__\": \"wids-shard-index-v1\",\n  \"wids_version\": 1}\n";
constexpr const char* kUrl = "s3://bucket/in/0.idx";

class IndexPlaces : public ::testing::Test {
 protected:
  Result<void> write(const std::string& text) { return write_index(kUrl, text, false, stores_); }
  [[nodiscard]] std::string there() const {
    const auto all = store_->all();
    const auto found = all.find("in/0.idx");
    return found == all.end() ? "" : std::string(found->second.begin(), found->second.end());
  }

  const std::shared_ptr<FakeStore> store_ = std::make_shared<FakeStore>();
  dataset::StoreSet stores_{
      [this](const std::string&) { return Result<std::shared_ptr<store::ObjectStore>>(store_); }};
};

TEST(IndexKinds, AreKnownByMoreThanTheirFirstLetters) {
  for (const char* index : {kDali, kWids, "v1.2 0", "v1.1 20\n"}) EXPECT_TRUE(is_index(index));
  std::string shard("v1.0/a.jpg");
  shard.resize(512);
  EXPECT_FALSE(is_index(shard)) << "a member's name";
  EXPECT_FALSE(is_index(std::string("shardindex.json\0 {\"wids_version\": 1}", 36)));
  EXPECT_FALSE(is_index("v1.2 of our notes")) << "a text";
  EXPECT_FALSE(is_index(""));
}

TEST_F(IndexPlaces, FreeNamesIndicesAndEmptyObjectsAreWrittenTo) {
  for (const char* before : {"", kDali, kWids}) {
    store_->erase("in/0.idx");
    if (before != kDali) store_->set("in/0.idx", to_bytes(before));
    EXPECT_TRUE(check_index_place(kUrl, stores_));
    EXPECT_TRUE(write(kDali));
    EXPECT_EQ(there(), kDali);
  }
}

TEST_F(IndexPlaces, WhatIsNoIndexStays) {
  const std::string shard(20'000, 's');
  store_->set("in/0.idx", to_bytes(shard));
  const auto checked = check_index_place(kUrl, stores_);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code(), StatusCode::kInvalidInput);
  EXPECT_EQ(checked.error().subject(), kUrl);
  EXPECT_FALSE(write(kDali));
  EXPECT_EQ(there(), shard);
  EXPECT_FALSE(remove_index(kUrl, stores_).value());
  EXPECT_EQ(there(), shard);
}

TEST_F(IndexPlaces, WhatComesMeanwhileIsLookedAt) {
  for (const char* comes : {"somebody's text", kWids}) {
    store_->erase("in/0.idx");
    bool done = false;
    store_->before = [&](Request what, const std::string& key) -> std::optional<Status> {
      if (what == Request::kPut && !std::exchange(done, true)) store_->set(key, to_bytes(comes));
      return std::nullopt;
    };
    const bool index = comes == kWids;
    EXPECT_EQ(write(kDali).has_value(), index);
    EXPECT_EQ(there(), index ? kDali : comes);
  }
}

// Also in the place of an index, which was to be replaced when it was looked at.
TEST_F(IndexPlaces, WhatTakesAnIndexsPlaceMeanwhileIsLookedAt) {
  for (const char* comes : {"somebody's text", kWids, ""}) {
    store_->set("in/0.idx", to_bytes("v1.2 0\n"));
    bool done = false;
    store_->before = [&](Request what, const std::string& key) -> std::optional<Status> {
      if (what != Request::kPut || std::exchange(done, true)) return std::nullopt;
      if (*comes == '\0') store_->erase(key);
      if (*comes != '\0') store_->set(key, to_bytes(comes));
      return std::nullopt;
    };
    const bool text = *comes == 's';
    EXPECT_EQ(write(kDali).has_value(), !text);
    EXPECT_EQ(there(), text ? comes : kDali);
  }
}

TEST_F(IndexPlaces, AStoreWithoutIfMatchIsToldOfOnceAndWrittenTo) {
  store_->knows_if_match = false;
  store_->set("in/0.idx", to_bytes(kWids));
  testing::internal::CaptureStderr();
  EXPECT_TRUE(write(kDali));
  EXPECT_TRUE(write(kDali));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(there(), kDali);
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
  EXPECT_NE(said.find("s3://bucket/in/0.idx: does not know If-Match"), std::string::npos) << said;
}

TEST_F(IndexPlaces, AnIndexIsRemoved) {
  EXPECT_FALSE(remove_index(kUrl, stores_).value()) << "there is none";
  store_->set("in/0.idx", to_bytes(kDali));
  EXPECT_TRUE(remove_index(kUrl, stores_).value());
  EXPECT_FALSE(store_->has("in/0.idx"));
}

TEST_F(IndexPlaces, WhatTheStoreSaysIsHandedOn) {
  store_->before = [](Request what, const std::string&) -> std::optional<Status> {
    if (what != Request::kFind) return std::nullopt;
    return Status(StatusCode::kDenied, "no");
  };
  EXPECT_EQ(check_index_place(kUrl, stores_).error().code(), StatusCode::kDenied);
  EXPECT_EQ(write(kDali).error().code(), StatusCode::kDenied);
  EXPECT_EQ(store_->count(Request::kPut), 0u);
}

}  // namespace
}  // namespace framewire::app
