// Packing from and to stores, with hooks in place of an engine: whatever dies, and whenever.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <batch/runner.hpp>
#include <dataset/object_source.hpp>
#include <dataset/pack_batch.hpp>
#include <dataset/report.hpp>
#include <tests/support/archive.hpp>
#include <tests/support/fake_store.hpp>

namespace framewire::dataset::test {
namespace {

using store::test::FakeStore;
using store::test::Request;
using store::test::to_bytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Objects = std::map<std::string, store::test::Bytes>;

/// As the runner has it of a process that was killed: nothing goes on after that.
struct PackOutcome {
  batch::Summary summary;
  PackTotals totals;
  std::optional<Status> refused;  ///< before it began
};

class ObjectPack : public ::testing::Test {
 protected:
  ObjectPack() {
    for (int i = 0; i < 40; ++i) {
      const std::string key = fmt::format("in/{:02}", i);
      store_->set(key + ".jpg", to_bytes("\xFF\xD8\xFF" + std::string(9000, 'x')));
      if (i % 2 == 0) store_->set(key + ".txt", to_bytes(fmt::format("text {}", i)));
    }
    options_.pattern = ShardPattern::parse("s3://bucket/out/%02d.tar").value();
    options_.manifests = "s3://bucket/out";
    options_.shard_bytes = 100 * 1024;
    options_.sidecars = {"txt"};
    options_.input = "s3://bucket/in/";
    options_.options_hash = "1";
    options_.stores = stores_of(store_);
    options_.read_sidecar = [this](const std::string& label) {
      return read_object_sidecar(*store_, label.substr(store_->label("").size()));
    };
  }
  static std::shared_ptr<StoreSet> stores_of(const std::shared_ptr<FakeStore>& store) {
    return std::make_shared<StoreSet>(
        [store](const std::string&) -> Result<std::shared_ptr<store::ObjectStore>> {
          return std::shared_ptr<store::ObjectStore>(store);
        });
  }
  PackOutcome pack() {
    PackOutcome outcome;
    const auto opened = PackBatch::open(
        [this](std::function<bool(const std::string&)> wanted) {
          ObjectSourceOptions reading;
          reading.wanted = std::move(wanted);
          return Result<std::unique_ptr<batch::Source>>(
              open_object_source({store_, "in/"}, reading));
        },
        options_);
    if (!opened) {
      outcome.refused = opened.error();
      return outcome;
    }
    batch::Hooks hooks;
    hooks.resize = [this](std::span<const std::uint8_t> jpeg,
                          const ResizeOptions&) -> Result<Resized> {
      if (fails_with_) return fail(*fails_with_, "not made");
      Resized resized;
      resized.bytes.assign(jpeg.begin(), jpeg.end());
      return resized;
    };
    batch::Settings settings;
    settings.jobs = 3;
    settings.group = 1;
    batch::RunOptions with;
    with.manifest = &(*opened)->manifest();
    const auto summary = batch::run((*opened)->source(), (*opened)->sink(), hooks, settings, with);
    EXPECT_TRUE(summary);
    if (summary) outcome.summary = *summary;
    outcome.totals = (*opened)->totals();
    return outcome;
  }
  /// Shards alone, without what their manifests say of times.
  [[nodiscard]] Objects shards() const {
    Objects found;
    for (auto& [key, bytes] : store_->all()) {
      if (key.starts_with("out/") && key.ends_with(".tar")) found[key] = bytes;
    }
    return found;
  }
  DatasetReport report() {
    ReportOptions options;
    options.manifests = options.outputs = "s3://bucket/out";
    options.stores = options_.stores;
    const auto made = make_report(options);
    EXPECT_TRUE(made);
    return made ? *made : DatasetReport();
  }

  const std::shared_ptr<FakeStore> store_ = std::make_shared<FakeStore>();
  PackOptions options_;
  std::optional<StatusCode> fails_with_;  ///< each picture, once it is read
};

TEST_F(ObjectPack, PicturesAndTheirTextsBecomeShards) {
  const PackOutcome outcome = pack();
  ASSERT_FALSE(outcome.refused) << outcome.refused->to_string();
  EXPECT_EQ(outcome.summary.ok, 40u);
  EXPECT_EQ(outcome.totals.sidecars, 20u);
  EXPECT_EQ(outcome.totals.shards, 5u);
  std::vector<std::string> names;
  for (const auto& [key, bytes] : shards()) {
    const Walk all = walk(bytes);
    EXPECT_FALSE(all.error);
    for (std::string& name : all.names()) names.push_back(std::move(name));
  }
  ASSERT_EQ(names.size(), 60u);
  EXPECT_EQ(names[0], "00.jpg");
  EXPECT_EQ(names[1], "00.txt");
  EXPECT_EQ(names[2], "01.jpg");
  const DatasetReport all = report();
  EXPECT_EQ(all.shards, 5u);
  EXPECT_EQ(all.ok, 40u);
  EXPECT_TRUE(all.without_output.empty());

  const auto reads = store_->count(Request::kRead);
  const PackOutcome refused = pack();
  ASSERT_TRUE(refused.refused);
  EXPECT_THAT(refused.refused->to_string(),
              HasSubstr("s3://bucket/out/00.tar: is a shard already"));
  options_.resume = true;
  const PackOutcome again = pack();
  EXPECT_EQ(again.totals.unchanged, 40u);
  EXPECT_EQ(again.totals.shards, 0u);
  EXPECT_EQ(store_->count(Request::kRead) - reads, 10u)
      << "the end and the rows of five manifests; no picture";
  options_.options_hash = "2";
  ASSERT_TRUE(pack().refused);
}

TEST_F(ObjectPack, FailuresBehindTheLastSampleGoToItsManifest) {
  ASSERT_EQ(pack().summary.ok, 40u);
  const Objects before = shards();
  store_->set("in/98.jpg", to_bytes("no picture"));
  store_->set("in/99.jpg", to_bytes(""));
  options_.resume = true;
  EXPECT_EQ(pack().summary.failed, 2u);
  EXPECT_EQ(report().failed, 2u);
  EXPECT_EQ(report().ok, 40u);
  EXPECT_EQ(shards(), before);
  const PackTotals again = pack().totals;
  EXPECT_EQ(again.unchanged, 42u);
  EXPECT_EQ(again.failed_before, 2u);
  options_.retry_failed = true;
  EXPECT_EQ(pack().summary.failed, 2u);
  EXPECT_EQ(report().failed, 2u);
  store_->set("in/98.jpg", store_->all().at("in/00.jpg"));
  EXPECT_EQ(pack().summary.ok, 1u);
  options_.retry_failed = false;
  EXPECT_EQ(pack().totals.failed_before, 1u) << "what was packed since is no failure";
}

// A store that is gone for seconds: what it did not hand out is packed by a batch that resumes.
TEST_F(ObjectPack, WhatTheStoreDoesNotHandOutIsLeftToABatchThatResumes) {
  for (const StatusCode code : {StatusCode::kIoError, StatusCode::kDeadline, StatusCode::kBusy,
                                StatusCode::kDenied, StatusCode::kPeerLost}) {
    for (const auto& [key, bytes] : store_->all()) {
      if (key.starts_with("out/")) store_->erase(key);
    }
    store_->before = [code](Request what, const std::string& key) -> std::optional<Status> {
      const bool lost = key == "in/07.jpg" || key == "in/30.jpg" || key == "in/20.txt";
      if (what != Request::kRead || !lost) return std::nullopt;
      return Status(code, "is gone").about("s3://bucket/" + key);
    };
    options_.resume = false;
    const PackOutcome outcome = pack();
    ASSERT_FALSE(outcome.refused);
    EXPECT_FALSE(outcome.summary.stopped_by);
    EXPECT_EQ(outcome.totals.put_off, 3u);
    EXPECT_EQ(report().ok, 37u);
    EXPECT_EQ(report().failed, 0u);
    store_->before = nullptr;
    options_.resume = true;
    const PackOutcome again = pack();
    EXPECT_EQ(again.summary.ok, 3u);
    EXPECT_EQ(again.totals.put_off, 0u);
    EXPECT_EQ(report().ok, 40u);
  }
}

TEST_F(ObjectPack, APictureThatTakesTooLongHasFailedWhereverItLies) {
  fails_with_ = StatusCode::kDeadline;
  const PackOutcome outcome = pack();
  EXPECT_EQ(outcome.totals.put_off, 0u);
  EXPECT_EQ(report().failed, 40u);
}

TEST_F(ObjectPack, WhateverDiesWheneverResumedItIsAsIfNothingHad) {
  ASSERT_EQ(pack().summary.ok, 40u);
  const Objects expected = shards();
  const auto inputs = [&] {
    Objects found = store_->all();
    std::erase_if(found, [](const auto& entry) { return entry.first.starts_with("out/"); });
    return found;
  }();
  int died = 0;
  for (int last = 1;; ++last) {
    for (const auto& [key, bytes] : store_->all()) {
      if (!inputs.contains(key)) store_->erase(key);
    }
    std::atomic<int> writes{0};
    store_->before = [&](Request what, const std::string& key) -> std::optional<Status> {
      const bool writing = what == Request::kComplete || what == Request::kPart;
      if (!writing || !key.starts_with("out/") || ++writes < last) return std::nullopt;
      return Status(StatusCode::kIoError, "is gone");
    };
    options_.resume = false;
    const PackOutcome first = pack();
    store_->before = nullptr;
    if (!first.summary.stopped_by) break;
    ++died;
    for (const auto& [key, bytes] : shards()) EXPECT_EQ(bytes, expected.at(key)) << key;
    options_.resume = true;
    const PackOutcome second = pack();
    ASSERT_FALSE(second.refused) << last << ": " << second.refused->to_string();
    EXPECT_FALSE(second.summary.stopped_by);
    EXPECT_EQ(shards(), expected) << "after write " << last;
    const DatasetReport all = report();
    EXPECT_EQ(all.shards, 5u) << last;
    EXPECT_EQ(all.ok, 40u) << last;
    EXPECT_TRUE(all.unreadable.empty() && all.without_output.empty());
    EXPECT_EQ(store_->uploads, 0u);
  }
  EXPECT_GE(died, 5 * 4) << "two objects a shard, each in parts and completed";
}

TEST_F(ObjectPack, OfTwoBatchesByOnePatternTheSecondIsRefused) {
  std::optional<Status> other;
  bool done = false;
  store_->before = [&](Request what, const std::string& key) -> std::optional<Status> {
    if (what != Request::kComplete || key != "out/02.tar" || done) return std::nullopt;
    done = true;
    store_->set("out/02.tar", to_bytes("somebody's"));
    return std::nullopt;
  };
  const PackOutcome outcome = pack();
  ASSERT_TRUE(outcome.summary.stopped_by);
  EXPECT_EQ(outcome.summary.stopped_by->code(), StatusCode::kBusy);
  EXPECT_THAT(outcome.summary.stopped_by->to_string(),
              HasSubstr("s3://bucket/out/02.tar: has been made meanwhile"));
  EXPECT_EQ(shards().at("out/02.tar"), to_bytes("somebody's"));
  EXPECT_FALSE(store_->has("out/02.tar.jsonl"));
}

TEST_F(ObjectPack, AShardWithoutManifestIsReplacedOnlyWhereItIsTheLast) {
  ASSERT_EQ(pack().summary.ok, 40u);
  const Objects before = shards();
  options_.resume = true;
  store_->erase("out/01.tar.jsonl");
  const PackOutcome refused = pack();
  ASSERT_TRUE(refused.refused);
  EXPECT_THAT(refused.refused->to_string(), HasSubstr("s3://bucket/out/01.tar: has no manifest"));
  store_->erase("out/01.tar");
  store_->erase("out/04.tar.jsonl");
  // Its manifest appears while it is packed again: somebody else is at work.
  store_->before = [&](Request what, const std::string& key) -> std::optional<Status> {
    if (what == Request::kFind && key == "out/04.tar.jsonl") store_->set(key, to_bytes("{}"));
    return std::nullopt;
  };
  const PackOutcome met = pack();
  ASSERT_TRUE(met.summary.stopped_by);
  EXPECT_EQ(shards().at("out/04.tar"), before.at("out/04.tar"));
  store_->before = nullptr;
  store_->erase("out/04.tar.jsonl");
  const PackOutcome again = pack();
  EXPECT_FALSE(again.summary.stopped_by);
  EXPECT_NE(shards().at("out/04.tar"), before.at("out/04.tar")) << "what 01 held lies there, too";
  EXPECT_EQ(report().ok, 40u);
}

TEST_F(ObjectPack, AShardOfSomebodyElseIsNeverReplaced) {
  options_.resume = true;
  const auto expect_refused = [&](const char* why) {
    const Objects before = shards();
    const PackOutcome outcome = pack();
    ASSERT_TRUE(outcome.refused) << why;
    EXPECT_THAT(outcome.refused->to_string(), HasSubstr("has no manifest that fits")) << why;
    EXPECT_EQ(shards(), before) << why;
  };
  store_->set("out/00.tar", to_bytes("of another program"));
  expect_refused("the first run, too");
  store_->erase("out/00.tar");
  options_.manifests = "s3://bucket/rows";
  ASSERT_EQ(pack().summary.ok, 40u);
  for (const char* shard : {"00", "01", "02", "03"}) {
    store_->erase(fmt::format("out/{}.tar", shard));
    store_->erase(fmt::format("rows/{}.tar.jsonl", shard));
  }
  options_.manifests = "s3://bucket/out";
  expect_refused("its manifest lies below another --manifest");
  options_.manifests = "s3://bucket/rows";
  store_->erase("rows/04.tar.jsonl");
  options_.input = "s3://bucket/in2/";
  expect_refused("of other inputs");
  options_.input = "s3://bucket/in/";
  options_.options_hash = "2";
  expect_refused("made with other options");
  options_.options_hash = "1";
  // Another takes its place while its inputs are packed again.
  store_->before = [&](Request what, const std::string& key) -> std::optional<Status> {
    if (what == Request::kRead && key == "in/39.jpg") store_->set("out/04.tar", to_bytes("other"));
    return std::nullopt;
  };
  EXPECT_TRUE(pack().summary.stopped_by);
  EXPECT_EQ(shards().at("out/04.tar"), to_bytes("other"));
}

// After the last look at the shard, with the request that replaces it.
TEST_F(ObjectPack, WhatComesWhileAShardIsReplacedStays) {
  ASSERT_EQ(pack().summary.ok, 40u);
  options_.resume = true;
  store_->erase("out/04.tar.jsonl");
  store_->knows_if_match = false;
  const Objects before = shards();
  const PackOutcome unknown = pack();
  ASSERT_TRUE(unknown.summary.stopped_by);
  EXPECT_THAT(unknown.summary.stopped_by->to_string(), HasSubstr("accepted: without that shard"));
  EXPECT_EQ(shards(), before);
  store_->knows_if_match = true;
  store_->before = [&](Request what, const std::string& key) -> std::optional<Status> {
    if (what == Request::kComplete && key == "out/04.tar") store_->set(key, to_bytes("other"));
    return std::nullopt;
  };
  const PackOutcome met = pack();
  ASSERT_TRUE(met.summary.stopped_by);
  EXPECT_EQ(met.summary.stopped_by->code(), StatusCode::kBusy);
  EXPECT_EQ(shards().at("out/04.tar"), to_bytes("other"));
}

TEST_F(ObjectPack, ManifestsOfAnotherPatternStay) {
  options_.manifests = "s3://bucket/rows";
  ASSERT_EQ(pack().summary.ok, 40u);
  const auto rows = [&] {
    Objects found = store_->all();
    std::erase_if(found, [](const auto& entry) { return !entry.first.starts_with("rows/"); });
    return found;
  };
  const Objects before = rows();
  ASSERT_EQ(before.size(), 5u);
  options_.pattern = ShardPattern::parse("s3://bucket/out2/%02d.tar").value();
  for (const bool resume : {true, false}) {
    options_.resume = resume;
    const PackOutcome outcome = pack();
    ASSERT_TRUE(outcome.refused);
    EXPECT_THAT(outcome.refused->to_string(),
                HasSubstr("s3://bucket/rows/00.tar.jsonl: is a manifest without its shard"));
    EXPECT_EQ(rows(), before);
  }
  // They come while the other batch packs, or between its shard and its manifest.
  for (const Request when : {Request::kRead, Request::kComplete}) {
    for (const auto& [key, bytes] : before) store_->erase(key);
    store_->before = [&](Request what, const std::string& key) -> std::optional<Status> {
      const bool now = when == Request::kRead ? key == "in/00.jpg" : key == "rows/00.tar.jsonl";
      if (what == when && now) store_->set("rows/00.tar.jsonl", before.at("rows/00.tar.jsonl"));
      return std::nullopt;
    };
    EXPECT_TRUE(pack().summary.stopped_by);
    EXPECT_EQ(store_->all().at("rows/00.tar.jsonl"), before.at("rows/00.tar.jsonl"));
    store_->before = nullptr;
    store_->erase("out2/00.tar");
  }
  // Those of shards that were deleted give way to the same batch.
  for (const auto& [key, bytes] : before) store_->set(key, bytes);
  options_.pattern = ShardPattern::parse("s3://bucket/out/%02d.tar").value();
  store_->erase("out/04.tar");
  options_.resume = true;
  EXPECT_FALSE(pack().refused);
  EXPECT_TRUE(store_->has("out/04.tar"));
}

TEST_F(ObjectPack, WhatCannotBePackedIsSaid) {
  options_.manifests = "folder";
  ASSERT_TRUE(pack().refused);
  options_.pattern =
      ShardPattern::parse("s3://bucket/" + std::string(1014, 'k') + "/%02d.tar").value();
  options_.manifests = options_.pattern.folder();
  const PackOutcome outcome = pack();
  ASSERT_TRUE(outcome.summary.stopped_by);
  EXPECT_THAT(outcome.summary.stopped_by->to_string(), HasSubstr("S3 accepts 1024"));
}

TEST_F(ObjectPack, OthersPartsAreNotRead) {
  options_.part = {0, 4};
  const auto before = store_->count(Request::kRead);
  const PackOutcome outcome = pack();
  EXPECT_LT(outcome.summary.ok, 20u);
  EXPECT_GT(outcome.summary.ok, 0u);
  // A picture is one read, and at most a text.
  EXPECT_LE(store_->count(Request::kRead) - before, 2 * outcome.summary.ok);
}

}  // namespace
}  // namespace framewire::dataset::test
