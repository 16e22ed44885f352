#include <fmt/format.h>
#include <sys/stat.h>
#include <algorithm>
#include <base/nanoseconds.hpp>
#include <charconv>
#include <dataset/folder_outputs.hpp>
#include <dataset/object_names.hpp>
#include <dataset/object_outputs.hpp>
#include <dataset/passing_error.hpp>
#include <dataset/shard_open.hpp>
#include <dataset/shard_work.hpp>
#include <dataset/tar_batch.hpp>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace framewire::dataset {
namespace {

/// How the name of an input ends that stands for a whole shard. Pictures have numbers there.
constexpr std::string_view kShardRow = "/shard";

/// Shards that are not written yet, whatever --jobs: each holds two to five open files.
constexpr unsigned kMaxOpenShards = 64;
/// And on their way to a store: what four parts of 16 MB in flight take, the one that is filled,
/// and a sample.
constexpr std::uint64_t kUploadBytes = 96u << 20;

/// Which picture an Input's name stands for.
struct PictureName {
  std::uint64_t shard = 0;
  std::uint64_t number = 0;
};

std::optional<PictureName> parse_picture_name(std::string_view name) {
  PictureName out;
  const char* end = name.data() + name.size();
  const auto shard = std::from_chars(name.data(), end, out.shard);
  if (shard.ec != std::errc{} || shard.ptr == end || *shard.ptr != '/') return std::nullopt;
  const auto number = std::from_chars(shard.ptr + 1, end, out.number);
  if (number.ec != std::errc{} || number.ptr != end) return std::nullopt;
  return out;
}

/// A picture's bytes, read from its shard.
class MemberInput final : public batch::OpenInput {
 public:
  explicit MemberInput(std::shared_ptr<const ShardWork::Picture> picture)
      : picture_(std::move(picture)) {
    facts_.bytes = picture_->bytes;
    facts_.mtime_ns = base::to_nanoseconds(picture_->mtime_s);
  }
  const batch::InputFacts& facts() const noexcept override { return facts_; }
  Result<std::size_t> read(std::span<std::uint8_t> into) override {
    const std::uint64_t left = picture_->bytes - done_;
    const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(left, into.size()));
    if (some == 0) return std::size_t{0};
    auto got = picture_->work->input().read_at(picture_->offset + done_, into.first(some));
    if (!got) return got;
    if (*got != some) {
      return fail(StatusCode::kIoError, "cannot be read: its shard has become shorter");
    }
    done_ += some;
    return some;
  }

 private:
  const std::shared_ptr<const ShardWork::Picture> picture_;
  batch::InputFacts facts_;
  std::uint64_t done_ = 0;
};

}  // namespace

/// All of it; the three that batch::run() takes only hand on.
class TarBatch::State {
 public:
  State(std::vector<NamedShard> shards, std::unique_ptr<ShardOutputs> outputs,
        const TarBatchOptions& options)
      : options_(options),
        shards_(std::move(shards)),
        outputs_(std::move(outputs)),
        budget_(options.waiting_bytes, options.stop),
        pieces_({.max_bytes = options.store_bytes, .objects = options.in_work}) {
    settings_.failed_samples = options.failed_samples;
    settings_.options_hash = options.options_hash;
    if (store::is_object_url(options.outputs)) {
      max_open_ = static_cast<unsigned>(std::clamp<std::uint64_t>(
          options.store_bytes / kUploadBytes, options.in_work, kMaxOpenShards));
    }
  }

  [[nodiscard]] Result<void> check_outputs() const;
  [[nodiscard]] Result<void> check_unused() const;
  [[nodiscard]] Result<std::optional<batch::Input>> next();
  [[nodiscard]] std::string label(const std::string& name);
  void commit(const std::string& name, std::span<const std::uint8_t> bytes);
  [[nodiscard]] Result<void> append(const batch::Row& row);
  [[nodiscard]] Result<void> begin();
  void drop_unfinished();
  [[nodiscard]] std::size_t shards() const noexcept { return shards_.size(); }
  [[nodiscard]] ShardTotals totals() const {
    const std::lock_guard lock(mutex_);
    return totals_;
  }

 private:
  struct TarSource final : batch::Source {
    explicit TarSource(State& whose) : state(whose) {}
    Result<std::optional<batch::Input>> next() override { return state.next(); }
    Result<std::unique_ptr<batch::OpenInput>> open(const batch::Input& input) const override {
      return std::make_unique<MemberInput>(
          std::static_pointer_cast<const ShardWork::Picture>(input.data));
    }
    bool checks_names() const noexcept override { return true; }
    State& state;
  };
  struct TarSink final : batch::Sink {
    explicit TarSink(State& whose) : state(whose) {}
    std::string label(const std::string& name) const override { return state.label(name); }
    Result<void> begin(const batch::BeginSink&) override { return state.begin(); }
    batch::WriteResult commit(const batch::Output& output,
                              std::span<const std::uint8_t> bytes) override {
      state.commit(output.name, bytes);
      return {};
    }
    Result<void> finish() override {
      state.drop_unfinished();
      return {};
    }
    State& state;
  };
  struct TarManifest final : batch::Manifest {
    explicit TarManifest(State& whose) : state(whose) {}
    Result<void> append(const batch::Row& row) override { return state.append(row); }
    State& state;
  };

  [[nodiscard]] bool is_ours(std::size_t shard) const {
    return shard % options_.part.count == options_.part.index;
  }
  [[nodiscard]] std::vector<std::string> our_names() const;
  [[nodiscard]] Result<bool> find_done(const ShardOutput::Earlier& earlier, const NamedShard& shard,
                                       const ShardInput& input) const;
  [[nodiscard]] bool is_done(const ShardOutput::Earlier& earlier, const ShardRecord& wanted) const;
  [[nodiscard]] bool has_more() const {
    return next_shard_ < shards_.size() || next_again_ < again_.size();
  }
  [[nodiscard]] bool may_open() const;
  [[nodiscard]] Result<std::optional<batch::Input>> open_shard(std::uint64_t id);
  [[nodiscard]] Result<void> meet(batch::WriteError error);
  [[nodiscard]] std::shared_ptr<ShardWork> find(std::uint64_t id);
  void settle(const std::shared_ptr<ShardWork>& work);
  void tell(const Status& error);
  void count(std::uint64_t ShardTotals::*what) {
    const std::lock_guard lock(mutex_);
    ++(totals_.*what);
  }
  void count_error(const Status& error) {
    const std::lock_guard lock(mutex_);
    ++totals_.errors[std::string(to_string(error.code()))];
  }
  void note_unreachable(const Status& error) {
    if (is_passing(error)) count(&ShardTotals::unreachable);
  }

  const TarBatchOptions options_;
  const std::vector<NamedShard> shards_;
  const std::unique_ptr<ShardOutputs> outputs_;
  unsigned max_open_ = kMaxOpenShards;
  ShardSettings settings_;
  ResultBudget budget_;
  PieceCache pieces_;

  // Of the thread that lists.
  std::size_t next_shard_ = 0;
  std::vector<std::size_t> again_;  ///< what other processes had, to be looked at once more
  std::size_t next_again_ = 0;
  std::vector<std::shared_ptr<ShardWork>> listings_;
  std::size_t turn_ = 0;

  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::shared_ptr<ShardWork>> works_;
  std::atomic<unsigned> open_{0};  ///< works_.size(), without the lock
  ShardTotals totals_;
  std::mutex tell_mutex_;

 public:
  TarSource source_{*this};
  TarSink sink_{*this};
  TarManifest manifest_{*this};
};

// No output takes the place of an object that is read. Of files this is seen when they get names.
Result<void> TarBatch::State::check_outputs() const {
  if (!store::is_object_url(options_.outputs)) return {};
  std::unordered_set<std::string_view> inputs;
  for (const NamedShard& shard : shards_) inputs.insert(shard.path);
  for (const NamedShard& shard : shards_) {
    const std::string output = outputs_->label(shard.name);
    if (!inputs.contains(output)) continue;
    return fail(Status(StatusCode::kInvalidInput,
                       "would be replaced by an output of this batch; accepted: another OUT_DIR")
                    .about(output));
  }
  return {};
}

std::vector<std::string> TarBatch::State::our_names() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    if (is_ours(i)) names.push_back(shards_[i].name);
  }
  return names;
}

// Before anything is begun: what is there may be another batch's.
Result<void> TarBatch::State::check_unused() const {
  if (options_.resume) return {};
  const auto manifest = outputs_->find_manifest(our_names());
  if (!manifest) return fail(manifest.error());
  if (!*manifest) return {};
  return fail(Status(StatusCode::kInvalidInput,
                     "is a manifest already; give --resume to go on from it, or another folder")
                  .about(**manifest));
}

Result<void> TarBatch::State::begin() {
  if (!options_.resume) return {};
  return outputs_->resume(our_names());
}

// What failed once more in another process of this run is not tried a third time.
bool TarBatch::State::is_done(const ShardOutput::Earlier& earlier,
                              const ShardRecord& wanted) const {
  if (!is_same_work(earlier.record, wanted)) return false;
  if (earlier.meanwhile) return true;
  // A web server may tell neither of a version nor of a time: the shard may be another by now.
  const bool may_be_another =
      wanted.version.empty() && wanted.mtime_ns == 0 && store::is_remote_url(wanted.input);
  const bool clean = earlier.record.failed == 0 && !earlier.record.damaged_at;
  return !may_be_another && (clean || !options_.retry_failed);
}

// @return an error where the output is another shard's
Result<bool> TarBatch::State::find_done(const ShardOutput::Earlier& earlier,
                                        const NamedShard& shard, const ShardInput& input) const {
  const auto another = is_another_shard(earlier.record, input.facts(), options_.stores.get());
  if (!another) return fail(another.error());
  if (*another) {
    return fail(belongs_to_another(outputs_->label(shard.name), earlier.record, input.path()));
  }
  return is_done(earlier, begin_record(shard.name, input, settings_));
}

// An error of one shard, or one that ends the batch.
Result<void> TarBatch::State::meet(batch::WriteError error) {
  if (error.environment) return fail(std::move(error.status));
  note_unreachable(error.status);
  tell(error.status);
  return {};
}

void TarBatch::State::tell(const Status& error) {
  count_error(error);
  const std::lock_guard lock(tell_mutex_);
  if (options_.on_error) options_.on_error(error);
}

// @return an input where the shard itself has an error, to have its row
Result<std::optional<batch::Input>> TarBatch::State::open_shard(std::uint64_t id) {
  const NamedShard& shard = shards_[static_cast<std::size_t>(id)];
  auto shard_input = open_shard_input(shard, options_.stores.get(), pieces_);
  if (!shard_input) {
    count(&ShardTotals::failed);
    count_error(shard_input.error());
    note_unreachable(shard_input.error());
    batch::Input input;
    input.label = store::without_query(shard.path);
    input.name = std::to_string(id) + std::string(kShardRow);
    input.error = shard_input.error();
    return input;
  }
  auto output = outputs_->open(shard.name);
  if (!output) {
    count(&ShardTotals::failed);
    if (auto good = meet(std::move(output.error())); !good) return fail(good.error());
    return std::nullopt;
  }
  if (*output == nullptr) {
    if (next_again_ == 0) {
      again_.push_back(static_cast<std::size_t>(id));
    } else {
      count(&ShardTotals::elsewhere);
    }
    return std::nullopt;
  }
  // Also without resume: another process may have done it since this one began.
  const auto earlier = (*output)->earlier();
  const auto done = !earlier   ? Result<bool>(fail(earlier.error()))
                    : *earlier ? find_done(**earlier, shard, **shard_input)
                               : Result<bool>(false);
  if (!done) {
    count(&ShardTotals::failed);
    note_unreachable(done.error());
    tell(done.error());
    return std::nullopt;
  }
  if (*done) {
    count((*earlier)->meanwhile ? &ShardTotals::elsewhere : &ShardTotals::unchanged);
    return std::nullopt;
  }
  const auto work =
      std::make_shared<ShardWork>(id, shard.name, outputs_->label(shard.name),
                                  std::move(*shard_input), std::move(*output), settings_, budget_);
  {
    const std::lock_guard lock(mutex_);
    works_[id] = work;
    open_ = static_cast<unsigned>(works_.size());
  }
  listings_.push_back(work);
  return std::nullopt;
}

// What other processes had is looked at again when all else has been listed: one of them may have
// died since.
bool TarBatch::State::may_open() const {
  if (listings_.size() >= options_.in_work || open_ >= max_open_) return false;
  return next_shard_ < shards_.size() || (listings_.empty() && next_again_ < again_.size());
}

Result<std::optional<batch::Input>> TarBatch::State::next() {
  for (;;) {
    const bool goes_on = budget_.wait([&] {
      if (may_open()) return true;
      if (listings_.empty()) return !has_more();
      return std::ranges::any_of(listings_, [](const auto& work) { return work->may_list(); });
    });
    if (!goes_on) return std::nullopt;
    if (may_open()) {
      const bool first = next_shard_ < shards_.size();
      const std::size_t id = first ? next_shard_++ : again_[next_again_++];
      if (!is_ours(id)) continue;
      auto opened = open_shard(id);
      if (!opened || *opened) return opened;
      continue;
    }
    if (listings_.empty()) {
      if (!has_more()) return std::nullopt;
      continue;
    }
    const std::size_t index = turn_++ % listings_.size();
    const std::shared_ptr<ShardWork> work = listings_[index];
    if (!work->may_list()) continue;
    auto listed = work->list();
    if (listed.input) return std::move(listed.input);
    if (listed.waits) continue;
    listings_.erase(listings_.begin() + static_cast<std::ptrdiff_t>(index));
    settle(work);
    if (!listed.problem) continue;
    if (auto good = meet(std::move(*listed.problem)); !good) return fail(good.error());
  }
}

std::shared_ptr<ShardWork> TarBatch::State::find(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = works_.find(id);
  return found == works_.end() ? nullptr : found->second;
}

// Once a shard is written, or has failed, it is counted and let go.
void TarBatch::State::settle(const std::shared_ptr<ShardWork>& work) {
  const auto errors = work->take_copy_errors();
  for (const Status& error : errors) tell(error);
  const ShardWork::State state = work->state();
  {
    const std::lock_guard lock(mutex_);
    totals_.copy_errors += errors.size();
    const auto same = [&](const auto& entry) { return entry.second == work; };
    const auto found = std::ranges::find_if(works_, same);
    if (state == ShardWork::State::kInWork || found == works_.end()) return;
    works_.erase(found);
    open_ = static_cast<unsigned>(works_.size());
    if (state == ShardWork::State::kFailed) {
      ++totals_.failed;
    } else if (state == ShardWork::State::kElsewhere) {
      ++totals_.elsewhere;
    } else {
      ++totals_.written;
      if (work->record().damaged_at) ++totals_.damaged;
      totals_.samples += work->record().samples;
      totals_.dropped += work->record().dropped;
    }
  }
  budget_.notify();
  if (state != ShardWork::State::kWritten) return;
  const std::lock_guard lock(tell_mutex_);
  if (options_.on_written) options_.on_written(work->input().path(), work->rows());
}

std::string TarBatch::State::label(const std::string& name) {
  const auto picture = parse_picture_name(name);
  const auto work = picture ? find(picture->shard) : nullptr;
  return work ? work->label(picture->number) : options_.outputs;
}

void TarBatch::State::commit(const std::string& name, std::span<const std::uint8_t> bytes) {
  const auto picture = parse_picture_name(name);
  if (const auto work = picture ? find(picture->shard) : nullptr) {
    work->commit(picture->number, bytes);
  }
}

Result<void> TarBatch::State::append(const batch::Row& row) {
  const auto picture = parse_picture_name(row.name);
  const auto work = picture ? find(picture->shard) : nullptr;
  if (!work) return {};
  auto decided = work->decide(picture->number, row);
  settle(work);
  if (!decided) return meet(std::move(decided.error()));
  return {};
}

// What they have written so far is deleted with them.
void TarBatch::State::drop_unfinished() {
  listings_.clear();
  const std::lock_guard lock(mutex_);
  works_.clear();
}

namespace {

Result<std::unique_ptr<ShardOutputs>> open_outputs(const std::vector<NamedShard>& shards,
                                                   const TarBatchOptions& options) {
  const bool remote = store::is_object_url(options.outputs);
  if (store::is_object_url(options.manifests) != remote) {
    return fail(Status(StatusCode::kInvalidInput,
                       "and the output shards do not both lie in folders or both in stores; "
                       "accepted: manifests where their shards are")
                    .about(options.manifests));
  }
  if (remote) {
    auto outputs = open_prefix(options.outputs, *options.stores);
    if (!outputs) return fail(outputs.error());
    auto manifests = open_prefix(options.manifests, *options.stores);
    if (!manifests) return fail(manifests.error());
    return open_object_outputs(
        {std::move(*outputs), std::move(*manifests), options.patience, options.stop});
  }
  FolderOutputsOptions folders{options.outputs, options.manifests, options.mode, {}};
  for (const NamedShard& shard : shards) {
    struct stat facts {};
    if (!shard.object && ::stat(shard.path.c_str(), &facts) == 0) {
      folders.inputs.insert({facts.st_dev, facts.st_ino});
    }
  }
  return open_folder_outputs(std::move(folders));
}

}  // namespace

bool is_row_of_shard(const batch::Row& row) noexcept { return row.name.ends_with(kShardRow); }

Result<std::unique_ptr<TarBatch>> TarBatch::open(const std::vector<std::string>& shards,
                                                 const TarBatchOptions& options) {
  auto named = name_all_shards(shards, options.naming, options.stores.get());
  if (!named) return fail(named.error());
  auto outputs = open_outputs(*named, options);
  if (!outputs) return fail(outputs.error());
  auto state = std::make_unique<State>(std::move(*named), std::move(*outputs), options);
  if (auto good = state->check_outputs(); !good) return fail(good.error());
  if (auto unused = state->check_unused(); !unused) return fail(unused.error());
  return std::unique_ptr<TarBatch>(new TarBatch(std::move(state)));
}

TarBatch::TarBatch(std::unique_ptr<State> state) : state_(std::move(state)) {}
TarBatch::~TarBatch() = default;
batch::Source& TarBatch::source() noexcept { return state_->source_; }
batch::Sink& TarBatch::sink() noexcept { return state_->sink_; }
batch::Manifest& TarBatch::manifest() noexcept { return state_->manifest_; }
ShardTotals TarBatch::totals() const { return state_->totals(); }
std::size_t TarBatch::shards() const noexcept { return state_->shards(); }

}  // namespace framewire::dataset
