// Reports of what lies in a store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <dataset/report.hpp>
#include <dataset/row_lines.hpp>
#include <tests/support/fake_store.hpp>

namespace framewire::dataset::test {
namespace {

using store::test::FakeStore;
using store::test::Request;
using store::test::to_bytes;
using ::testing::ElementsAre;
using ::testing::Field;

class ObjectReport : public ::testing::Test {
 protected:
  ObjectReport() {
    options_.manifests = options_.outputs = "s3://bucket/out";
    options_.stores = std::make_shared<StoreSet>(
        [this](const std::string&) -> Result<std::shared_ptr<store::ObjectStore>> {
          return std::shared_ptr<store::ObjectStore>(store_);
        });
  }
  /// A shard that is done, with rows that failed.
  void put_shard(const std::string& name, int failed) {
    store_->set("out/" + name, to_bytes("the output of " + name));
    ShardRecord record;
    record.shard = name;
    record.input = "s3://bucket/in/" + name;
    record.ok = 10;
    record.failed = static_cast<std::uint64_t>(failed);
    record.bytes_out = (*store_->find("out/" + name))->bytes;
    record.version_out = (*store_->find("out/" + name))->etag;
    record.options_hash = "1";
    std::string rows;
    for (int i = 0; i < failed; ++i) {
      rows += R"({"input": ")" + record.input + R"(: 1.jpg", "status": "failed", )" +
              R"("error_class": "busy", "message": "slow down"})" + "\n" + R"({"status": "ok"})" +
              "\n";
    }
    store_->set("out/" + name + ".jsonl", to_bytes(rows + to_json_line(record)));
  }
  const std::shared_ptr<FakeStore> store_ = std::make_shared<FakeStore>();
  ReportOptions options_;
};

TEST_F(ObjectReport, SaysWhatIsDoneFailedAndMissing) {
  for (int i = 0; i < 150; ++i) put_shard("d/" + std::to_string(i) + ".tar", 0);
  put_shard("failed.tar", 3);
  put_shard("gone.tar", 0);
  store_->erase("out/gone.tar");
  put_shard("other.tar", 0);
  store_->set("out/other.tar", to_bytes("the OUTPUT of other.tar"));
  store_->set("out/torn.tar.jsonl", to_bytes("{\"shard\": "));
  options_.expected = {"d/1.tar", "failed.tar", "never.tar"};
  int failed = 0;
  options_.on_failed = [&](const FailedRow& row) {
    ++failed;
    EXPECT_EQ(row.input, "s3://bucket/in/failed.tar: 1.jpg");
  };
  const auto report = make_report(options_);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(report->shards, 151u);
  EXPECT_EQ(report->ok, 1510u);
  EXPECT_EQ(report->failed, 3u);
  EXPECT_EQ(failed, 3);
  EXPECT_EQ(report->errors.at("busy"), 3u);
  EXPECT_THAT(report->without_output, ElementsAre(Field(&ShardRecord::shard, "gone.tar"),
                                                  Field(&ShardRecord::shard, "other.tar")))
      << "of the same size, and not the one that the manifest tells of";
  EXPECT_THAT(report->unreadable, ElementsAre("torn.tar.jsonl"));
  EXPECT_THAT(report->missing, ElementsAre("never.tar"));
}

TEST_F(ObjectReport, AStoreThatCannotBeReadIsAnError) {
  put_shard("a.tar", 0);
  for (const Request request : {Request::kList, Request::kRead}) {
    store_->before = [request](Request what, const std::string&) -> std::optional<Status> {
      if (what == request) return Status(StatusCode::kDenied, "access denied");
      return std::nullopt;
    };
    const auto report = make_report(options_);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code(), StatusCode::kDenied);
  }
  options_.outputs = "out";
  EXPECT_FALSE(make_report(options_)) << "a folder beside a store";
}

TEST_F(ObjectReport, ManifestsWithoutEndAreRefused) {
  for (int i = 0; i < 12; ++i) put_shard(std::to_string(i) + ".tar", 0);
  options_.max_manifests = 12;
  EXPECT_EQ(make_report(options_)->shards, 12u);
  options_.max_manifests = 5;
  const std::uint64_t pages = store_->count(Request::kList);
  const auto report = make_report(options_);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), StatusCode::kTooLarge);
  EXPECT_LE(store_->count(Request::kList) - pages, 4u) << "listed on";
}

TEST_F(ObjectReport, ClassesOfStrangersAreBounded) {
  put_shard("a.tar", 1);
  const auto good = store_->all().at("out/a.tar.jsonl");
  std::string rows = "{\"status\": \"failed\", \"error_class\": \"io_error\"}\n";
  for (int i = 0; i < 1000; ++i) {
    rows += R"({"status": "failed", "error_class": "class)" + std::to_string(i) + "\"}\n";
  }
  auto bytes = to_bytes(rows);
  bytes.insert(bytes.end(), good.begin(), good.end());
  store_->set("out/a.tar.jsonl", bytes);
  const auto report = make_report(options_);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(report->errors.at("io_error"), 1u);
  EXPECT_EQ(report->errors.size(), 65u);
  EXPECT_GT(report->errors.at("other"), 900u);
}

TEST(RowsOfManifests, AreCutAtAnyByte) {
  const std::string text = "one\n\n" + std::string(kMaxRowBytes, 'y') + "\nlast\nno end";
  for (const std::size_t step : {std::size_t{4093}, std::size_t{1} << 20, text.size()}) {
    RowLines lines;
    std::vector<std::string> got;
    for (std::size_t at = 0; at < text.size(); at += step) {
      EXPECT_TRUE(lines.add(std::string_view(text).substr(at, step),
                            [&](std::string_view line) { got.emplace_back(line); }));
    }
    const std::vector<std::string> wanted = {"one", "", std::string(kMaxRowBytes, 'y'), "last"};
    EXPECT_TRUE(got == wanted) << "in pieces of " << step;
  }
}

TEST(RowsOfManifests, AreBounded) {
  const std::string piece(64u << 10, 'x');
  RowLines lines;
  std::size_t taken = 0;
  while (taken <= kMaxRowBytes && lines.add(piece, [](std::string_view) {})) taken += piece.size();
  EXPECT_EQ(taken, kMaxRowBytes);
}

}  // namespace
}  // namespace framewire::dataset::test
