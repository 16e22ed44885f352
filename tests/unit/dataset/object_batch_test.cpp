// Batches over shards of a store, with hooks in place of an engine: what comes out, and what
// faults, races and ends at any moment leave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <filesystem>
#include <fstream>
#include <future>
#include <tests/unit/dataset/object_batch.hpp>

namespace framewire::dataset::test {
namespace {

using store::PutCondition;
using store::test::FakeStore;
using store::test::Request;
using store::test::to_bytes;
using ObjectBytes = store::test::Bytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Keys = std::vector<std::string>;

TEST_F(ObjectBatch, ADamagedManifestIsMadeAnewAndAForeignOneStays) {
  store_->set("in/0.tar", shard(2, 100));
  const auto run = [&] {
    auto worker = std::make_unique<BatchWorker>(store_);
    worker->options.resume = true;
    (void)worker->run({"s3://bucket/in/*.tar"});
    return worker->totals;
  };
  ASSERT_EQ(run().written, 1u);
  const ObjectBytes whole = store_->all().at("out/0.tar.jsonl");
  for (const std::size_t lost : {std::size_t{1}, std::size_t{30}, whole.size() - 40}) {
    ObjectBytes damaged = whole;
    damaged.resize(whole.size() - lost);
    store_->set("out/0.tar.jsonl", damaged);
    EXPECT_EQ(run().written, 1u) << lost;
    EXPECT_TRUE(committed("0.tar"));
  }
  const ObjectBytes foreign = to_bytes("{\"caption\":\"mine\"}\n");
  store_->set("out/0.tar.jsonl", foreign);
  EXPECT_EQ(run().failed, 1u);
  EXPECT_EQ(store_->all().at("out/0.tar.jsonl"), foreign);
}

TEST_F(ObjectBatch, AShardOfThatNameFromAnotherFolderReplacesNoOutput) {
  store_->set("2023/0.tar", shard(2, 100));
  store_->set("2024/0.tar", shard(3, 100));
  const auto run = [&](const std::string& url) {
    auto worker = std::make_unique<BatchWorker>(store_);
    worker->options.resume = true;
    (void)worker->run({url});
    return worker;
  };
  EXPECT_EQ(run("s3://bucket/2023/0.tar")->totals.written, 1u);
  const auto made = store_->all();
  const auto refused = run("s3://bucket/2024/0.tar");
  EXPECT_EQ(refused->totals.failed, 1u);
  EXPECT_EQ(refused->totals.unreachable, 0u);
  ASSERT_EQ(refused->errors.size(), 1u);
  EXPECT_THAT(refused->errors[0].to_string(), HasSubstr("was made of s3://bucket/2023/0.tar"));
  EXPECT_EQ(store_->all(), made);
  // What cannot be asked for now is left to another try.
  store_->before = [](Request request, const std::string& key) -> std::optional<Status> {
    const bool meant = request == Request::kFind && key == "2023/0.tar";
    return meant ? std::optional(Status(StatusCode::kBusy, "503")) : std::nullopt;
  };
  EXPECT_EQ(run("s3://bucket/2024/0.tar")->totals.unreachable, 1u);
  EXPECT_EQ(store_->all(), made);
  store_->before = nullptr;
  store_->erase("2023/0.tar");
  EXPECT_EQ(run("s3://bucket/2024/0.tar")->totals.written, 1u) << "the first is gone";
}

TEST_F(ObjectBatch, MakesOfObjectsWhatItMakesOfFiles) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / "framewire-object-batch";
  fs::remove_all(folder);
  fs::create_directories(folder / "in");
  Keys paths;
  for (int i = 0; i < 5; ++i) {
    const std::string name = "s-" + std::to_string(i) + ".tar";
    const ObjectBytes bytes = shard(20 * i, 900);
    store_->set("in/" + name, bytes);
    std::ofstream(folder / "in" / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
    paths.push_back(folder / "in" / name);
  }
  BatchWorker remote(store_);
  EXPECT_EQ(remote.run({"s3://bucket/in/*.tar"}).ok, 200u);
  EXPECT_EQ(remote.totals.written, 5u);
  EXPECT_EQ(store_->uploads, 0u);

  BatchWorker local(store_);
  local.options.outputs = local.options.manifests = folder / "out";
  EXPECT_EQ(local.run(paths).ok, 200u);
  BatchWorker fetched(store_);
  fetched.options.outputs = fetched.options.manifests = folder / "fetched";
  EXPECT_EQ(fetched.run({"s3://bucket/in/s-{0..4}.tar"}).ok, 200u);
  BatchWorker sent(store_);
  sent.options.outputs = sent.options.manifests = "s3://bucket/sent";
  EXPECT_EQ(sent.run(paths).ok, 200u);
  const auto all = store_->all();
  EXPECT_EQ(all.size(), 25u) << "inputs, and outputs with manifests twice";
  for (int i = 0; i < 5; ++i) {
    const std::string name = "s-" + std::to_string(i) + ".tar";
    const ObjectBytes& made = all.at("out/" + name);
    EXPECT_EQ(all.at("sent/" + name), made);
    for (const char* where : {"out", "fetched"}) {
      std::ifstream file(folder / where / name, std::ios::binary);
      EXPECT_EQ(ObjectBytes(std::istreambuf_iterator<char>(file), {}), made) << where << name;
    }
    EXPECT_TRUE(committed(name));
    EXPECT_EQ(record(name)->version, (*store_->find("in/" + name))->etag);
  }
  EXPECT_EQ(record("s-4.tar")->input, "s3://bucket/in/s-4.tar");
  fs::remove_all(folder);
}

TEST_F(ObjectBatch, IsDoneOnce) {
  for (const char* key : {"in/a.tar", "in/b.tar", "in/c.tar"}) store_->set(key, shard(9, 100));
  BatchWorker first(store_);
  first.run({"s3://bucket/in/*.tar"});
  ASSERT_EQ(first.totals.written, 3u);
  BatchWorker unaware(store_);
  const auto refused = TarBatch::open({"s3://bucket/in/*.tar"}, unaware.options);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().to_string(), HasSubstr("s3://bucket/out/a.tar.jsonl: is a manifest"));

  BatchWorker again(store_);
  again.options.resume = true;
  const std::uint64_t reads = store_->count(Request::kRead);
  EXPECT_EQ(again.run({"s3://bucket/in/*.tar"}).inputs, 0u);
  EXPECT_EQ(again.totals.unchanged, 3u);
  EXPECT_EQ(store_->count(Request::kRead), reads + 3) << "reads more than the manifests' ends";

  store_->set("in/a.tar", shard(8, 100));
  store_->erase("out/b.tar");
  store_->set("out/c.tar", to_bytes("another's"));
  again.run({"s3://bucket/in/*.tar"});
  EXPECT_EQ(again.totals.written, 3u)
      << "a new input, an output that is gone, one that is not ours";
  EXPECT_EQ(members("a.tar").size(), 16u);
  for (const char* name : {"a.tar", "b.tar", "c.tar"}) EXPECT_TRUE(committed(name)) << name;
}

TEST_F(ObjectBatch, NoOutputTakesTheNameOfAnInput) {
  store_->set("out/a.tar", shard(2, 100));
  BatchWorker worker(store_);
  const auto refused = TarBatch::open({"s3://bucket/out/*.tar"}, worker.options);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().to_string(), HasSubstr("would be replaced"));
}

TEST_F(ObjectBatch, AnObjectThatIsReplacedFailsItsShardAlone) {
  store_->set("in/a.tar", shard(400, 9000));
  store_->set("in/b.tar", shard(5, 100));
  BatchWorker worker(store_);
  worker.options.store_bytes = 8u << 20;  // one piece
  std::atomic<int> made{0};
  worker.during = [&] {
    if (++made == 3) {
      store_->set("in/a.tar", shard(3, 100));
      store_->set("in/a.tar", shard(4, 100));
    }
  };
  store_->before = [&](Request request, const std::string& key) -> std::optional<Status> {
    if (request == Request::kRead && key == "in/a.tar" && made > 0) {
      while (made < 3) std::this_thread::yield();
    }
    return std::nullopt;
  };
  // Larger than the piece, so that the rest is read from what has come in its place.
  store_->set("in/a.tar", shard(1000, 9000));
  EXPECT_FALSE(worker.run({"s3://bucket/in/*.tar"}).stopped_by);
  EXPECT_EQ(worker.totals.failed, 1u);
  EXPECT_EQ(worker.totals.errors.size(), 1u) << "progress tells it";
  EXPECT_EQ(worker.totals.written, 1u);
  ASSERT_EQ(worker.errors.size(), 1u) << "told once";
  EXPECT_THAT(worker.errors[0].to_string(), HasSubstr("s3://bucket/in/a.tar"));
  EXPECT_FALSE(store_->has("out/a.tar") || store_->has("out/a.tar.jsonl"));
  EXPECT_TRUE(committed("b.tar"));
  EXPECT_EQ(store_->uploads, 0u) << "an upload was left";

  BatchWorker again(store_);
  again.options.resume = true;
  again.run({"s3://bucket/in/*.tar"});
  EXPECT_EQ(again.totals.written, 1u);
  EXPECT_EQ(members("a.tar").size(), 8u);
}

TEST_F(ObjectBatch, AShardThatIsNotThereIsNamed) {
  store_->set("in/a.tar", shard(2, 100));
  BatchWorker worker(store_);
  const auto summary = worker.run({"s3://bucket/in/{a,b}.tar"});
  EXPECT_EQ(summary.failed, 1u);
  EXPECT_EQ(worker.totals.failed, 1u);
  EXPECT_TRUE(committed("a.tar"));
}

// Requests fail at random, as often as they do on a bad day.
TEST_F(ObjectBatch, AStormOfErrorsLeavesNothingHalf) {
  for (int i = 0; i < 12; ++i) store_->set("in/" + std::to_string(i) + ".tar", shard(12, 500));
  store_->page_keys = 1000;
  std::atomic<std::uint64_t> state{1};
  const auto storm = [&](Request, const std::string&) -> std::optional<Status> {
    const std::uint64_t value = state = state * 6364136223846793005u + 1442695040888963407u;
    if ((value >> 33) % 16 != 0) return std::nullopt;
    return Status(StatusCode::kBusy, "slow down");
  };
  std::uint64_t failed = 0;
  for (int run = 0; run < 40; ++run) {
    BatchWorker worker(store_);
    worker.options.resume = true;
    auto batch = TarBatch::open({"s3://bucket/in/{0..11}.tar"}, worker.options);
    ASSERT_TRUE(batch);
    batch::RunOptions with;
    with.manifest = &(*batch)->manifest();
    store_->before = storm;
    const auto summary =
        batch::run((*batch)->source(), (*batch)->sink(), worker.hooks, worker.settings, with);
    worker.totals = (*batch)->totals();
    batch->reset();
    store_->before = nullptr;
    failed += worker.totals.failed + worker.errors.size();
    EXPECT_EQ(store_->uploads, 0u);
    for (int i = 0; i < 12; ++i) {
      const std::string name = std::to_string(i) + ".tar";
      EXPECT_TRUE(!record(name) || committed(name)) << name << " in run " << run;
      EXPECT_TRUE(!store_->has("out/" + name) || members(name).size() == 24u) << name;
    }
  }
  EXPECT_GT(failed, 0u) << "no storm";
  BatchWorker last(store_);
  last.options.resume = true;
  last.run({"s3://bucket/in/{0..11}.tar"});
  EXPECT_EQ(last.totals.written + last.totals.unchanged, 12u);
  EXPECT_GE(last.totals.unchanged, 1u) << "nothing was made in the storm";
  for (int i = 0; i < 12; ++i) EXPECT_TRUE(committed(std::to_string(i) + ".tar")) << i;
}

// Dies at each request in turn: the next run makes what is missing, and nothing is half.
TEST_F(ObjectBatch, AnEndAtAnyRequestIsMadeGood) {
  store_->set("in/a.tar", shard(3, 500));
  bool ended = true;
  for (int last = 0; ended; ++last) {
    ASSERT_LT(last, 100);
    for (const auto& [key, bytes] : store_->all()) {
      if (key.starts_with("out/")) store_->erase(key);
    }
    int requests = 0;
    ended = false;
    store_->before = [&](Request, const std::string&) -> std::optional<Status> {
      if (requests++ < last) return std::nullopt;
      ended = true;
      return Status(StatusCode::kIoError, "the process is gone");
    };
    BatchWorker killed(store_);
    killed.settings.jobs = 1;
    if (auto batch = TarBatch::open({"s3://bucket/in/a.tar"}, killed.options)) {
      batch::RunOptions with;
      with.manifest = &(*batch)->manifest();
      (void)batch::run((*batch)->source(), (*batch)->sink(), killed.hooks, killed.settings, with);
    }
    store_->before = nullptr;
    EXPECT_TRUE(!record("a.tar") || committed("a.tar")) << last;
    BatchWorker next(store_);
    next.options.resume = true;
    next.run({"s3://bucket/in/a.tar"});
    EXPECT_EQ(next.totals.written + next.totals.unchanged, 1u);
    EXPECT_TRUE(committed("a.tar")) << "after an end at request " << last;
    EXPECT_EQ(members("a.tar").size(), 6u);
  }
}

/// Two workers with one shard: the second does all of its work at one moment of the first's.
class ObjectRaces : public ObjectBatch {
 protected:
  ObjectRaces() { store_->set("in/a.tar", shard(3, 500)); }
  /// @param second  runs before the first one's request number `at`
  void race(int at, BatchWorker& first, const std::function<void()>& second) {
    std::atomic<int> requests{0};
    std::atomic<bool> inside{false};
    happened_ = false;
    store_->before = [&](Request, const std::string&) -> std::optional<Status> {
      if (inside || requests++ != at) return std::nullopt;
      inside = happened_ = true;
      second();
      inside = false;
      return std::nullopt;
    };
    first.settings.jobs = 1;
    first.run({"s3://bucket/in/a.tar"});
    store_->before = nullptr;
  }
  void clear() {
    for (const auto& [key, bytes] : store_->all()) {
      if (key.starts_with("out/")) store_->erase(key);
    }
  }
  bool happened_ = true;
};

// Both make other bytes of the same input: what the manifest says must be what is there.
TEST_F(ObjectRaces, TwoWorkersCommitOneOutputAtAnyMoment) {
  for (const int kind : {0, 1, 2, 3}) {
    const bool leftover = kind % 2 == 1;
    happened_ = true;
    for (int at = 0; happened_; ++at) {
      ASSERT_LT(at, 100);
      clear();
      if (leftover) store_->set("out/a.tar", to_bytes("of one that died"));
      BatchWorker first(store_);
      first.options.resume = kind >= 2;
      first.may_be_refused = true;
      first.made_by = "first";
      BatchWorker second(store_);
      second.made_by = "second";
      second.options.resume = true;
      race(at, first, [&] { second.run({"s3://bucket/in/a.tar"}); });
      EXPECT_TRUE(committed("a.tar")) << "at request " << at << (leftover ? " with leftover" : "");
      EXPECT_EQ(first.totals.failed, 0u) << at;
      EXPECT_EQ(members("a.tar").size(), 6u);
      EXPECT_EQ(store_->uploads, 0u);
      if (!happened_) continue;
      EXPECT_EQ(second.totals.failed, 0u);
      EXPECT_EQ(second.totals.written, 1u);
    }
  }
}

// The second dies after its output and before its manifest.
TEST_F(ObjectRaces, OneThatDiesBetweenOutputAndManifestKeepsNobodyAway) {
  happened_ = true;
  for (int at = 1; happened_; ++at) {
    ASSERT_LT(at, 100);
    clear();
    BatchWorker first(store_);
    first.made_by = "first";
    race(at, first, [&] { store_->set("out/a.tar", to_bytes("of one that died")); });
    EXPECT_EQ(first.totals.failed, 0u) << at;
    BatchWorker next(store_);
    next.options.resume = true;
    next.run({"s3://bucket/in/a.tar"});
    EXPECT_TRUE(committed("a.tar")) << at;
    EXPECT_EQ(members("a.tar").size(), 6u);
  }
}

TEST_F(ObjectRaces, RetriesReplaceWhatFailedAndNothingElse) {
  Archive archive;
  archive.file("1.jpg", picture(1, 10)).file("2.jpg", "no picture").end();
  for (int at = 0; happened_; ++at) {
    ASSERT_LT(at, 100);
    store_->set("in/a.tar", archive.bytes);
    clear();
    BatchWorker before(store_);
    before.run({"s3://bucket/in/a.tar"});
    ASSERT_EQ(record("a.tar")->failed, 1u);
    BatchWorker plain(store_);
    plain.options.resume = true;
    plain.run({"s3://bucket/in/a.tar"});
    ASSERT_EQ(plain.totals.unchanged, 1u);
    BatchWorker first(store_);
    BatchWorker second(store_);
    first.made_by = "first";
    second.made_by = "second";
    for (BatchWorker* worker : {&first, &second}) {
      worker->options.resume = worker->options.retry_failed = true;
    }
    race(at, first, [&] { second.run({"s3://bucket/in/a.tar"}); });
    EXPECT_TRUE(committed("a.tar")) << at;
    EXPECT_EQ(members("a.tar"), Keys{"1.jpg"});
    EXPECT_EQ(first.totals.failed, 0u) << at;
  }
}

TEST_F(ObjectRaces, WhatIsNoManifestIsNotReplaced) {
  Archive archive;
  archive.file("1.jpg", picture(1, 10)).end();
  store_->set("in/a.tar", archive.bytes);
  store_->set("out/a.tar.jsonl", to_bytes("my own captions\n"));
  BatchWorker worker(store_);
  worker.options.resume = true;
  worker.run({"s3://bucket/in/a.tar"});
  EXPECT_EQ(worker.totals.failed, 1u);
  EXPECT_FALSE(store_->has("out/a.tar"));
  EXPECT_EQ(store_->all().at("out/a.tar.jsonl"), to_bytes("my own captions\n"));
}

// As of a web server. Within one run, what another process has made is the same all the same.
TEST_F(ObjectRaces, AShardWithoutVersionAndTimeIsMadeAgainByALaterBatchAlone) {
  store_->untold = "in/";
  Archive archive;
  archive.file("1.jpg", picture(1, 10)).end();
  store_->set("in/a.tar", archive.bytes);
  BatchWorker first(store_);
  BatchWorker other(store_);
  first.during = [&] { other.run({"s3://bucket/in/a.tar"}); };
  first.run({"s3://bucket/in/a.tar"});
  EXPECT_EQ(other.totals.written, 1u);
  EXPECT_EQ(first.totals.elsewhere, 1u);
  EXPECT_EQ(first.totals.failed, 0u);
  BatchWorker later(store_);
  later.options.resume = true;
  later.run({"s3://bucket/in/a.tar"});
  EXPECT_EQ(later.totals.written, 1u) << "its input may be another by now";
}

TEST_F(ObjectRaces, AnotherBatchIsNotReplaced) {
  BatchWorker first(store_);
  BatchWorker other(store_);
  other.options.resume = true;
  other.options.options_hash = "0000000000000002";
  other.made_by = "other";
  first.during = [&] {
    if (!store_->has("out/a.tar")) other.run({"s3://bucket/in/a.tar"});
  };
  first.settings.jobs = 1;
  first.run({"s3://bucket/in/a.tar"});
  EXPECT_EQ(first.totals.failed, 1u);
  ASSERT_EQ(first.errors.size(), 1u);
  EXPECT_THAT(first.errors[0].to_string(), HasSubstr("made meanwhile by another batch"));
  EXPECT_EQ(record("a.tar")->options_hash, other.options.options_hash);
  EXPECT_TRUE(committed("a.tar"));
}

TEST_F(ObjectBatch, AShardThatFailsDoesNotEndTheOthers) {
  for (int i = 0; i < 6; ++i) store_->set("in/" + std::to_string(i) + ".tar", shard(40, 500));
  store_->before = [&](Request what, const std::string& key) -> std::optional<Status> {
    if (what == Request::kPart && key == "out/1.tar") return Status(StatusCode::kIoError, "reset");
    return std::nullopt;
  };
  BatchWorker worker(store_);
  EXPECT_FALSE(worker.run({"s3://bucket/in/*.tar"}).stopped_by);
  EXPECT_EQ(worker.totals.failed, 1u);
  EXPECT_EQ(worker.totals.written, 5u);
  EXPECT_EQ(worker.errors.size(), 1u);
}

TEST_F(ObjectBatch, StoreErrorsWhileASampleIsWrittenFailTheShard) {
  store_->set("in/a.tar", shard(3, 500));
  for (const Request request : {Request::kUpload, Request::kPart, Request::kComplete}) {
    store_->before = [&](Request what, const std::string&) -> std::optional<Status> {
      if (what == request) return Status(StatusCode::kIoError, "connection reset");
      return std::nullopt;
    };
    BatchWorker worker(store_);
    EXPECT_FALSE(worker.run({"s3://bucket/in/a.tar"}).stopped_by);
    EXPECT_EQ(worker.totals.failed, 1u);
    store_->before = nullptr;
    EXPECT_FALSE(store_->has("out/a.tar.jsonl"));
  }
  // Keys that are refused are refused for all shards.
  store_->before = [&](Request what, const std::string&) -> std::optional<Status> {
    if (what == Request::kComplete) return Status(StatusCode::kDenied, "access denied");
    return std::nullopt;
  };
  BatchWorker worker(store_);
  const auto summary = worker.run({"s3://bucket/in/a.tar"});
  ASSERT_TRUE(summary.stopped_by);
  EXPECT_EQ(summary.stopped_by->code(), StatusCode::kDenied);
}

// What travels along is read when its turn comes, long after its pieces have gone.
TEST_F(ObjectBatch, MemoryStaysWithinItsBoundHoweverLongAPictureTakes) {
  Archive archive;
  archive.file("0.jpg", picture(0, 10));
  for (int i = 1; i < 40; ++i) {
    archive.file(std::to_string(i) + ".jpg", picture(i, 400'000));
    archive.file(std::to_string(i) + ".bin",
                 std::string(1'000'000, static_cast<char>('a' + i % 26)));
  }
  store_->set("in/a.tar", archive.end().bytes);
  BatchWorker worker(store_);
  worker.options.store_bytes = 16u << 20;  // two pieces of seven
  std::atomic<int> made{0};
  worker.during = [&] {
    // The first waits for nearly all others.
    if (made++ == 0) {
      for (int i = 0; made < 35 && i < 2000; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
  };
  EXPECT_EQ(worker.run({"s3://bucket/in/a.tar"}).ok, 40u);
  EXPECT_EQ(store_->all().at("out/a.tar"), archive.bytes) << "was not copied as it is";
  EXPECT_TRUE(committed("a.tar"));
}

}  // namespace
}  // namespace framewire::dataset::test
