// Sources, sinks and manifests of one's own: what a batch asks of them, and what it makes of
// faults.
#include <gtest/gtest.h>
#include <tests/support/sample_jpeg.hpp>
#include <tests/unit/batch/memory_batch.hpp>

namespace framewire::batch {
namespace {

const Bytes& jpeg() {
  static const Bytes bytes = [] {
    sample::Spec spec;
    spec.width_px = 32;
    spec.height_px = 24;
    return sample::make(spec, [](int, double x, double y) { return 4 * x + 2 * y; });
  }();
  return bytes;
}

/// A listing that has no end.
class EndlessSource final : public Source {
 public:
  Result<std::optional<Input>> next() override {
    return Input{"endless", std::to_string(++count_) + ".jpg"};
  }
  Result<std::unique_ptr<OpenInput>> open(const Input& /*input*/) const override {
    return fail(StatusCode::kDenied, "access denied");
  }

 private:
  std::uint64_t count_ = 0;
};

class MemoryBatch : public ::testing::Test {
 protected:
  MemoryBatch() {
    EngineOptions options;
    options.codec = CodecKind::kTurbo;
    options.callers_thread = true;
    engine_ = Engine::make(options);
    EXPECT_TRUE(engine_);
    settings_.options.width_px = 8;
    settings_.jobs = 2;
    with_.on_row = [this](const Row& row) { rows_.push_back(row); };
  }

  // Every third without a size, every other without a time: as stores know them.
  void make_objects(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      Object object{"shard/" + std::to_string(i) + ".jpg", jpeg()};
      if (i % 3 != 0) object.facts.bytes = object.bytes.size();
      if (i % 2 != 0) object.facts.mtime_ns = static_cast<std::int64_t>(1000 + i);
      if (i % 5 == 0) object.facts.version = "etag-" + std::to_string(i);
      objects_.push_back(std::move(object));
    }
  }

  Summary run(MemorySource& source) {
    rows_.clear();
    auto summary = batch::run(source, sink_, *engine_, settings_, with_);
    EXPECT_TRUE(summary) << summary.error().to_string();
    return summary ? *summary : Summary{};
  }
  Summary run() {
    MemorySource source(objects_);
    return run(source);
  }
  [[nodiscard]] const Row& row_of(const std::string& input) const {
    const auto found = std::ranges::find(rows_, input, &Row::input);
    EXPECT_NE(found, rows_.end()) << input;
    return found == rows_.end() ? rows_.front() : *found;
  }

  std::vector<Object> objects_;
  MemorySink sink_;
  Settings settings_;
  RunOptions with_;
  std::vector<Row> rows_;
  Result<Engine> engine_ = fail(StatusCode::kInternal, "not made");
};

TEST_F(MemoryBatch, AThousandInputsBecomeAThousandOutputs) {
  make_objects(1000);
  const Summary summary = run();
  EXPECT_EQ(summary.ok, 1000u);
  EXPECT_EQ(summary.jobs, 2u);
  EXPECT_FALSE(summary.stopped_by);
  ASSERT_EQ(sink_.objects.size(), 1000u);
  const auto expected = engine_->resize(jpeg(), settings_.options);
  ASSERT_TRUE(expected);
  for (const auto& [name, bytes] : sink_.objects) ASSERT_EQ(bytes, expected->bytes) << name;
  EXPECT_EQ(row_of("store://7/shard/7.jpg").output, "bucket/shard/7.jpg");
  EXPECT_EQ(row_of("store://9/shard/9.jpg").bytes_in, jpeg().size()) << "unknown until it is read";
  EXPECT_EQ(sink_.finished, 1);
  EXPECT_EQ(sink_.asked, 0) << "without a manifest nothing is looked for";
}

TEST_F(MemoryBatch, FaultsOfOneInputAreItsRow) {
  make_objects(20);
  objects_[1].bytes.clear();
  objects_[2].bytes = {'w', 'o', 'r', 'd', 's'};
  objects_[3].bytes = {'w'};
  objects_[3].expected = false;
  MemorySource source(objects_);
  source.opening_fails = {4};
  source.opening_throws = {5};
  source.opening_gives_nothing = {6};
  source.reading_fails = {{7, 0}, {8, 300}};
  source.unlistable = {9};
  const Summary summary = run(source);
  EXPECT_EQ(summary.ok, 11u);
  EXPECT_EQ(summary.failed, 8u);
  EXPECT_EQ(summary.errors.at("io_error"), 1u);
  EXPECT_EQ(row_of("store://9/shard/9.jpg").name, "shard/9.jpg");
  EXPECT_EQ(summary.skipped, 1u);
  EXPECT_EQ(summary.errors.at("peer_lost"), 2u);
  EXPECT_EQ(summary.errors.at("denied"), 1u);
  EXPECT_EQ(summary.errors.at("internal"), 2u);
  EXPECT_EQ(row_of("store://8/shard/8.jpg").error->to_string(),
            "peer_lost: store://8/shard/8.jpg: connection reset");
  EXPECT_FALSE(summary.stopped_by);
}

TEST_F(MemoryBatch, TheLimitHoldsForSizesThatNobodyKnows) {
  make_objects(6);
  settings_.options.limits.max_input_bytes = jpeg().size();
  objects_[0].bytes.resize(jpeg().size() + 1);   // says no size
  objects_[1].bytes.resize(jpeg().size() + 50);  // says too small a one
  objects_[2].facts.bytes = std::uint64_t{1} << 60;
  const Summary summary = run();
  EXPECT_EQ(summary.errors.at("too_large"), 3u);
  EXPECT_EQ(summary.ok, 3u);
}

TEST_F(MemoryBatch, AListingThatEndsHalfwayLeavesNothingUndoneThatItListed) {
  make_objects(200);
  MemorySource source(objects_);
  source.listing_fails_at = 120;
  const Summary summary = run(source);
  EXPECT_EQ(summary.ok, 120u);
  EXPECT_FALSE(summary.interrupted);
  ASSERT_TRUE(summary.stopped_by);
  EXPECT_EQ(summary.stopped_by->code(), StatusCode::kPeerLost);
  MemorySource throwing(objects_);
  throwing.listing_throws_at = 7;
  const Summary thrown = run(throwing);
  EXPECT_EQ(thrown.ok, 7u);
  ASSERT_TRUE(thrown.stopped_by);
  EXPECT_EQ(thrown.stopped_by->code(), StatusCode::kBusy);
}

TEST_F(MemoryBatch, ACommitThatFailsForOneIsItsRow) {
  make_objects(50);
  sink_.fault = [](const Output& output) -> std::optional<WriteError> {
    if (output.name == "shard/9.jpg") throw std::runtime_error("surprise");
    if (output.name != "shard/8.jpg") return std::nullopt;
    return WriteError{Status(StatusCode::kDenied, "precondition failed"), false};
  };
  const Summary summary = run();
  EXPECT_EQ(summary.ok, 48u);
  EXPECT_EQ(summary.failed, 2u);
  EXPECT_FALSE(summary.stopped_by);
  EXPECT_EQ(row_of("store://8/shard/8.jpg").error->to_string(),
            "denied: bucket/shard/8.jpg: precondition failed");
  EXPECT_EQ(row_of("store://8/shard/8.jpg").output, "");
}

TEST_F(MemoryBatch, ACommitThatWouldFailForAllStopsTheBatch) {
  make_objects(500);
  sink_.fault = [this](const Output&) -> std::optional<WriteError> {
    if (sink_.objects.size() < 5) return std::nullopt;
    return WriteError{Status(StatusCode::kDenied, "keys have expired"), true};
  };
  settings_.jobs = 1;
  const Summary summary = run();
  EXPECT_EQ(summary.ok, 5u);
  EXPECT_EQ(summary.failed, 1u);
  ASSERT_TRUE(summary.stopped_by);
  EXPECT_EQ(summary.stopped_by->code(), StatusCode::kDenied);
  EXPECT_EQ(sink_.finished, 1) << "also of a batch that was stopped";
}

TEST_F(MemoryBatch, ASinkMayRefuseToBeginAndFailToEnd) {
  make_objects(3);
  sink_.end_fails = true;
  const Summary summary = run();
  EXPECT_EQ(summary.ok, 3u);
  ASSERT_TRUE(summary.stopped_by);
  EXPECT_EQ(summary.stopped_by->message(), "no room for the end");
  sink_.refuses = true;
  MemorySource source(objects_);
  const auto refused = batch::run(source, sink_, *engine_, settings_, with_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kDenied);
  EXPECT_EQ(sink_.finished, 1) << "what has not begun does not end";
}

TEST_F(MemoryBatch, ACountAheadMayFailAndNeedNotEnd) {
  make_objects(10);
  std::optional<std::uint64_t> total;
  with_.on_progress = [&](const Progress& progress) { total = progress.total; };
  MemorySource whole(objects_);
  with_.count_ahead = &whole;
  EXPECT_EQ(run().ok, 10u);
  EXPECT_EQ(total, 10u);
  for (const bool throws : {false, true}) {
    MemorySource broken(objects_);
    (throws ? broken.listing_throws_at : broken.listing_fails_at) = 5;
    with_.count_ahead = &broken;
    const Summary summary = run();
    EXPECT_EQ(summary.ok, 10u);
    EXPECT_FALSE(summary.stopped_by);
    EXPECT_EQ(total, 10u) << "the run itself has listed all";
  }
  EndlessSource endless;
  with_.count_ahead = &endless;
  EXPECT_EQ(run().ok, 10u);
  EXPECT_EQ(total, 10u);
}

// Eight commits of 20 ms at a time: nobody waits for another's.
TEST_F(MemoryBatch, SlowCommitsRunSideBySide) {
  make_objects(32);
  settings_.jobs = 8;
  sink_.takes = std::chrono::milliseconds(20);
  EXPECT_EQ(run().ok, 32u);
  EXPECT_GT(sink_.most, 1);
  EXPECT_LE(sink_.most, 8);
}

TEST_F(MemoryBatch, AStopFinishesWhatIsInWork) {
  make_objects(300);
  std::atomic<bool> stop{false};
  with_.stop = &stop;
  sink_.takes = std::chrono::milliseconds(1);
  sink_.fault = [&](const Output&) -> std::optional<WriteError> {
    if (sink_.commits == 10) stop = true;
    return std::nullopt;
  };
  settings_.jobs = 1;
  const Summary summary = run();
  EXPECT_TRUE(summary.interrupted);
  EXPECT_FALSE(summary.stopped_by);
  EXPECT_EQ(summary.ok, sink_.objects.size());
  EXPECT_EQ(rows_.size(), sink_.objects.size()) << "each output has its row";
  EXPECT_LT(summary.ok, 20u);
}

TEST_F(MemoryBatch, ResumingDoesWhatIsMissingFailedOrChanged) {
  make_objects(60);
  MemoryManifest first;
  with_.manifest = &first;
  sink_.fault = [](const Output& output) -> std::optional<WriteError> {
    if (output.name != "shard/3.jpg") return std::nullopt;
    return WriteError{Status(StatusCode::kPeerLost, "reset"), false};
  };
  EXPECT_EQ(run().ok, 59u);
  sink_.fault = nullptr;

  sink_.objects.erase("shard/11.jpg");
  sink_.objects["shard/13.jpg"].pop_back();
  objects_[10].facts.version = "etag-new";  // the same content all the same
  objects_[20].facts.version = "etag-new";  // and other content
  objects_[20].bytes.insert(objects_[20].bytes.end() - 2, {0xFF, 0xFF});
  objects_[5].facts.mtime_ns = 7;  // known by its version, whatever its time
  MemoryManifest second(&first.lines);
  with_.manifest = &second;
  const Summary resumed = run();
  std::set<std::string> done;
  for (const Row& row : rows_) done.insert(row.name);
  EXPECT_EQ(done,
            (std::set<std::string>{"shard/11.jpg", "shard/13.jpg", "shard/20.jpg", "shard/3.jpg"}));
  EXPECT_EQ(resumed.ok, 4u);
  EXPECT_EQ(resumed.unchanged, 56u);
  EXPECT_EQ(sink_.begun, (std::vector<bool>{false, true}));
  EXPECT_EQ(sink_.asked, 59) << "only what a row says was made is looked for";
}

TEST_F(MemoryBatch, AManifestThatTakesNoMoreRowsStopsTheBatch) {
  make_objects(300);
  MemoryManifest manifest;
  manifest.room = 10;
  with_.manifest = &manifest;
  settings_.jobs = 1;
  const Summary summary = run();
  ASSERT_TRUE(summary.stopped_by);
  EXPECT_EQ(summary.stopped_by->message(), "the table is full");
  EXPECT_LT(summary.inputs, 20u);
}

/// A table whose third row does not get in, by an error or by an exception.
class FaultyManifest final : public Manifest {
 public:
  explicit FaultyManifest(bool throws) : throws_(throws) {}
  [[nodiscard]] Result<void> append(const Row& row) override {
    tried.push_back(row.name);
    if (tried.size() != 3) return {};
    if (throws_) throw std::runtime_error("the table is locked");
    return fail(StatusCode::kIoError, "the table is locked");
  }
  std::vector<std::string> tried;

 private:
  const bool throws_;
};

/// What is in its place has its row: a resumed batch, and the summary, go by the rows.
TEST_F(MemoryBatch, ARowThatFailsCostsNoOtherOutputItsRow) {
  make_objects(100);
  settings_.jobs = 1;
  settings_.group = 16;
  for (const bool throws : {false, true}) {
    FaultyManifest manifest(throws);
    with_.manifest = &manifest;
    sink_.commits = 0;
    const Summary summary = run();
    ASSERT_TRUE(summary.stopped_by);
    EXPECT_EQ(summary.stopped_by->message(), "the table is locked");
    EXPECT_EQ(sink_.commits, 16) << "those in work";
    EXPECT_EQ(manifest.tried.size(), 16u);
    EXPECT_EQ(rows_.size(), 16u);
    EXPECT_EQ(summary.ok, 16u);
  }
}

TEST_F(MemoryBatch, AnObserverThatThrowsCostsNoOutputItsRow) {
  make_objects(100);
  settings_.jobs = 1;
  settings_.group = 16;
  MemoryManifest manifest;
  with_.manifest = &manifest;
  std::size_t seen = 0;
  with_.on_row = [&](const Row&) {
    if (++seen == 3) throw std::runtime_error("no terminal");
  };
  const Summary summary = run();
  ASSERT_TRUE(summary.stopped_by);
  EXPECT_EQ(summary.stopped_by->message(), "no terminal");
  EXPECT_EQ(sink_.commits, 16);
  EXPECT_EQ(seen, 16u);
  EXPECT_EQ(manifest.lines.size(), 16u);
  EXPECT_EQ(summary.ok, 16u);
}

TEST_F(MemoryBatch, HostileNamesNeverReachTheSink) {
  using namespace std::string_literals;
  for (const std::string& name :
       {"../x.jpg"s, ""s, "a/../../x.jpg"s, "/etc/x.jpg"s, "a//b.jpg"s, "a/"s, "."s, "./x.jpg"s,
        "good.jpg\0.txt"s, ".framewire-a.tmp"s, "a/.framewire-b.tmp"s, std::string(5000, 'n'),
        "twice.jpg"s, "twice.jpg"s, "sub/fine..jpg"s}) {
    objects_.push_back({name, jpeg()});
  }
  MemoryManifest manifest;
  with_.manifest = &manifest;
  const Summary summary = run();
  EXPECT_EQ(summary.ok, 2u);
  EXPECT_EQ(summary.errors.at("invalid_input"), 13u);
  std::set<std::string> names;
  for (const auto& [name, bytes] : sink_.objects) names.insert(name);
  EXPECT_EQ(names, (std::set<std::string>{"sub/fine..jpg", "twice.jpg"}));
  for (const std::string& line : manifest.lines) EXPECT_TRUE(parse_row(line)) << line;
  // A repetition, and a name that cannot be one, do not undo what was done.
  MemoryManifest second(&manifest.lines);
  with_.manifest = &second;
  const Summary again = run();
  EXPECT_EQ(again.unchanged, 2u);
  EXPECT_EQ(again.ok, 0u);
}

TEST_F(MemoryBatch, WhatIsOutOfRangeIsRefused) {
  make_objects(1);
  const auto refused = [&](auto change) {
    Settings settings = settings_;
    change(settings);
    MemorySource source(objects_);
    const auto summary = batch::run(source, sink_, *engine_, settings, with_);
    return !summary && summary.error().code() == StatusCode::kInvalidInput;
  };
  EXPECT_TRUE(refused([](Settings& s) { s.shard = {0, 0}; }));
  EXPECT_TRUE(refused([](Settings& s) { s.shard = {2, 2}; }));
  EXPECT_TRUE(refused([](Settings& s) { s.jobs = 1025; }));
  EXPECT_TRUE(refused([](Settings& s) { s.group = 1025; }));
  EXPECT_TRUE(sink_.begun.empty());
}

TEST_F(MemoryBatch, ShardsMakeTheWholeTogether) {
  make_objects(90);
  for (std::uint32_t index = 0; index < 3; ++index) {
    settings_.shard = {index, 3};
    run();
  }
  EXPECT_EQ(sink_.commits, 90);
  EXPECT_EQ(sink_.objects.size(), 90u);
}

TEST_F(MemoryBatch, WhatObserversThrowStopsTheBatch) {
  make_objects(100);
  with_.on_progress = [](const Progress&) { throw std::runtime_error("no terminal"); };
  const Summary begun = run();
  ASSERT_TRUE(begun.stopped_by);
  EXPECT_EQ(begun.stopped_by->message(), "no terminal");
  with_.on_progress = nullptr;
  with_.on_row = [](const Row&) { throw std::bad_alloc(); };
  const Summary stopped = run();
  ASSERT_TRUE(stopped.stopped_by);
  EXPECT_EQ(stopped.stopped_by->code(), StatusCode::kBusy);
}

}  // namespace
}  // namespace framewire::batch
