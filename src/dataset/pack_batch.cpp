#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <base/clock.hpp>
#include <base/nanoseconds.hpp>
#include <batch/caught.hpp>
#include <batch/engine_gone.hpp>
#include <batch/input_error.hpp>
#include <charconv>
#include <dataset/budget.hpp>
#include <dataset/object_names.hpp>
#include <dataset/pack_batch.hpp>
#include <dataset/pack_folder.hpp>
#include <dataset/pack_listing.hpp>
#include <dataset/pack_sample.hpp>
#include <dataset/pack_store.hpp>
#include <dataset/passing_error.hpp>
#include <deque>
#include <mutex>
#include <utility>

namespace framewire::dataset {
namespace {

/// Pictures whose rows wait for one before them, although they hold no bytes.
constexpr std::size_t kMaxWaitingPictures = 65'536;

/// Rows of failures that wait for the next sample; some 40,000. With more a shard is begun for
/// them.
constexpr std::size_t kMaxHeldRowBytes = 16u << 20;

class CountedSource final : public batch::Source {
 public:
  /// @param passed_over  told how many inputs the listing has passed over
  CountedSource(PackListing listing, std::atomic<std::uint64_t>& passed_over)
      : listing_(std::move(listing)), passed_over_(passed_over) {}
  Result<std::optional<batch::Input>> next() override {
    auto entry = listing_.next();
    passed_over_ = listing_.unchanged();
    if (!entry) return fail(entry.error());
    if (!*entry) return std::nullopt;
    return std::move((*entry)->input);
  }
  Result<std::unique_ptr<batch::OpenInput>> open(const batch::Input& input) const override {
    return listing_.inputs().open(input);
  }

 private:
  PackListing listing_;
  std::atomic<std::uint64_t>& passed_over_;
};

}  // namespace

/// All of it; the three that batch::run() takes only hand on.
class PackBatch::PackState {
 public:
  PackState(std::unique_ptr<batch::Source> inputs, const PackOptions& options,
            std::unique_ptr<PackOutputs> outputs, std::shared_ptr<const EarlierPacks> earlier)
      : options_(options),
        outputs_(std::move(outputs)),
        earlier_(std::move(earlier)),
        next_shard_(earlier_->next),
        listing_(std::move(inputs), options.dots, options.part, *earlier_),
        budget_(options.waiting_bytes, options.stop) {}

  [[nodiscard]] std::unique_ptr<batch::Source> count_ahead(std::unique_ptr<batch::Source> inputs) {
    return std::make_unique<CountedSource>(
        PackListing(std::move(inputs), options_.dots, options_.part, *earlier_),
        passed_over_ahead_);
  }
  [[nodiscard]] PackTotals totals() const {
    PackTotals totals = totals_;
    totals.shards = shards_written_;
    totals.unchanged = listing_.unchanged();
    totals.failed_before = listing_.failed_before();
    return totals;
  }
  [[nodiscard]] std::uint64_t shards_written() const noexcept { return shards_written_; }
  [[nodiscard]] std::uint64_t passed_over() const noexcept {
    return std::max(passed_over_.load(), passed_over_ahead_.load());
  }

 private:
  /// What an Input takes along. Where it is dropped before its picture is decided, which only a
  /// batch does that ends, the budget is told.
  struct HandedOut {
    HandedOut(PackState& whose, std::uint64_t which, batch::Input input)
        : state(whose), number(which), original(std::move(input)) {}
    ~HandedOut() { state.give_up(number); }
    HandedOut(const HandedOut&) = delete;
    HandedOut& operator=(const HandedOut&) = delete;
    PackState& state;
    const std::uint64_t number;
    const batch::Input original;
  };
  /// Notes what the store says, which a row does not tell from what the engine says.
  class RemoteInput final : public batch::OpenInput {
   public:
    RemoteInput(std::unique_ptr<batch::OpenInput> open, std::shared_ptr<const HandedOut> whose)
        : open_(std::move(open)), whose_(std::move(whose)) {}
    const batch::InputFacts& facts() const noexcept override { return open_->facts(); }
    Result<std::size_t> read(std::span<std::uint8_t> into) override {
      auto got = open_->read(into);
      if (!got) whose_->state.note_lost(whose_->number, whose_->original.label, got.error());
      return got;
    }

   private:
    const std::unique_ptr<batch::OpenInput> open_;
    const std::shared_ptr<const HandedOut> whose_;
  };
  struct PackSource final : batch::Source {
    explicit PackSource(PackState& whose) : state(whose) {}
    Result<std::optional<batch::Input>> next() override { return state.next(); }
    Result<std::unique_ptr<batch::OpenInput>> open(const batch::Input& input) const override {
      const auto handed_out = std::static_pointer_cast<const HandedOut>(input.data);
      auto open = state.listing_.inputs().open(handed_out->original);
      if (!store::is_remote_url(input.label)) return open;
      if (open) return std::make_unique<RemoteInput>(std::move(*open), handed_out);
      state.note_lost(handed_out->number, input.label, open.error());
      return open;
    }
    bool checks_names() const noexcept override { return true; }
    PackState& state;
  };
  struct PackSink final : batch::Sink {
    explicit PackSink(PackState& whose) : state(whose) {}
    std::string label(const std::string& name) const override { return state.label(name); }
    batch::WriteResult commit(const batch::Output& output,
                              std::span<const std::uint8_t> bytes) override {
      return state.keep(output, bytes);
    }
    Result<void> finish() override { return state.finish(); }
    PackState& state;
  };
  struct PackManifest final : batch::Manifest {
    explicit PackManifest(PackState& whose) : state(whose) {}
    Result<void> append(const batch::Row& row) override { return state.decide(row); }
    PackState& state;
  };

  [[nodiscard]] Result<std::optional<batch::Input>> next();
  [[nodiscard]] std::string label(const std::string& name);
  [[nodiscard]] PackSample* find(const std::string& name);
  [[nodiscard]] PackSample* find(std::uint64_t number);
  void note_lost(std::uint64_t number, const std::string& label, const Status& error);
  [[nodiscard]] batch::WriteResult keep(const batch::Output& output,
                                        std::span<const std::uint8_t> bytes);
  [[nodiscard]] Result<std::vector<PackMember>> read_sidecars(const std::string& label,
                                                              const std::string& member) const;
  [[nodiscard]] Result<void> decide(const batch::Row& row);
  [[nodiscard]] batch::WriteResult write(PackSample& sample);
  [[nodiscard]] batch::WriteResult write_failure(const batch::Row& row);
  [[nodiscard]] batch::WriteResult make_room(std::uint64_t bytes);
  [[nodiscard]] batch::WriteResult end_shard();
  [[nodiscard]] batch::WriteResult end_batch();
  [[nodiscard]] Result<void> finish();
  void give_up(std::uint64_t number);

  const PackOptions options_;
  const std::unique_ptr<PackOutputs> outputs_;
  const std::shared_ptr<const EarlierPacks> earlier_;

  // Of whoever writes.
  std::uint64_t next_shard_;
  std::unique_ptr<PackOutput> output_;
  ShardRecord record_;
  std::vector<FailedRowLine> held_rows_;  ///< of failures, while no shard is begun
  std::size_t held_row_bytes_ = 0;
  base::Clock::time_point begun_;
  PackTotals totals_;
  std::atomic<std::uint64_t> shards_written_{0};
  std::atomic<std::uint64_t> passed_over_{0};
  std::atomic<std::uint64_t> passed_over_ahead_{0};  ///< by who only counts

  PackListing listing_;  ///< of the thread that lists
  ResultBudget budget_;
  mutable std::mutex mutex_;
  std::deque<PackSample> samples_;       ///< not written yet
  std::uint64_t first_ = 0;              ///< number of samples_[0]
  std::atomic<std::size_t> waiting_{0};  ///< samples_.size(), and the one that is being written
  bool listed_ = false;                  ///< to the end
  bool writing_ = false;                 ///< somebody does

 public:
  PackSource source_{*this};
  PackSink sink_{*this};
  PackManifest manifest_{*this};
};

Result<std::optional<batch::Input>> PackBatch::PackState::next() {
  if (!budget_.wait([this] { return waiting_ < kMaxWaitingPictures; })) return std::nullopt;
  auto entry = listing_.next();
  passed_over_ = listing_.unchanged();
  const std::lock_guard lock(mutex_);
  if (!entry || !*entry) {
    listed_ = true;
    if (!entry) return fail(entry.error());
    return std::nullopt;
  }
  const std::uint64_t number = first_ + samples_.size();
  PackSample& sample = samples_.emplace_back();
  ++waiting_;
  sample.label = (*entry)->input.label;
  sample.member = (*entry)->member;
  batch::Input input = (*entry)->input;
  input.name = fmt::format("{}", number);
  input.data = std::make_shared<const HandedOut>(*this, number, std::move((*entry)->input));
  return input;
}

// @return null for a number that is not waiting any more; call with the lock held
PackSample* PackBatch::PackState::find(std::uint64_t number) {
  const bool known = number >= first_ && number - first_ < samples_.size();
  return known ? &samples_[static_cast<std::size_t>(number - first_)] : nullptr;
}

PackSample* PackBatch::PackState::find(const std::string& name) {
  std::uint64_t number = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data(), end, number);
  return error == std::errc{} && stop == end ? find(number) : nullptr;
}

// @param label  what the error is about, where it does not say so itself
void PackBatch::PackState::note_lost(std::uint64_t number, const std::string& label,
                                     const Status& error) {
  const bool lost = error.subject().empty()
                        ? is_store_fault(Status(error.code(), std::string()).about(label))
                        : is_store_fault(error);
  const std::lock_guard lock(mutex_);
  PackSample* sample = find(number);
  if (sample != nullptr) sample->lost = sample->lost || lost;
}

std::string PackBatch::PackState::label(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const PackSample* sample = find(name);
  return options_.pattern.text() + (sample == nullptr ? "" : ": " + sample->member);
}

batch::WriteResult PackBatch::PackState::keep(const batch::Output& output,
                                              std::span<const std::uint8_t> bytes) {
  std::string label;
  std::string member;
  {
    const std::lock_guard lock(mutex_);
    const PackSample* sample = find(output.name);
    if (sample == nullptr) return {};
    label = sample->label;
    member = sample->member;
  }
  auto members = read_sidecars(label, member);
  if (!members) {
    const std::lock_guard lock(mutex_);
    if (PackSample* sample = find(output.name)) sample->lost = is_store_fault(members.error());
    // A row has no place for what its error is about, which is no picture here.
    return tl::unexpected<batch::WriteError>({batch::about_file(members.error(), label), false});
  }
  members->insert(members->begin(),
                  PackMember{member, {bytes.begin(), bytes.end()}, output.permissions, 0});
  const std::lock_guard lock(mutex_);
  PackSample* sample = find(output.name);
  if (sample == nullptr) return {};
  sample->members = std::move(*members);
  budget_.add(held_bytes(*sample));
  return {};
}

Result<std::vector<PackMember>> PackBatch::PackState::read_sidecars(
    const std::string& label, const std::string& member) const {
  std::vector<PackMember> members;
  for (const std::string& extension : options_.sidecars) {
    auto sidecar = options_.read_sidecar(with_extension(label, extension));
    if (!sidecar) return fail(sidecar.error());
    if (!*sidecar) continue;
    members.push_back({with_extension(member, extension), std::move((*sidecar)->bytes),
                       (*sidecar)->permissions, (*sidecar)->mtime_s});
  }
  return members;
}

// One thread at a time writes, without the lock; the others only add to what waits.
Result<void> PackBatch::PackState::decide(const batch::Row& row) {
  std::unique_lock lock(mutex_);
  PackSample* decided = find(row.name);
  if (decided == nullptr || decided->row) return {};
  decided->row = row;
  if (writing_) return {};
  writing_ = true;
  while (!samples_.empty() && samples_.front().row) {
    PackSample sample = std::move(samples_.front());
    samples_.pop_front();
    ++first_;
    lock.unlock();
    const std::uint64_t bytes = held_bytes(sample);
    auto written = batch::caught([&]() -> Result<void> {
      auto done = write(sample);
      if (!done) return fail(std::move(done.error().status));
      return {};
    });
    // A shard that cannot be written ends the batch: the next number would leave a gap. Nobody
    // writes any more.
    if (!written) {
      budget_.give_up();
      return written;
    }
    --waiting_;
    budget_.release(bytes);
    lock.lock();
  }
  writing_ = false;
  return {};
}

batch::WriteResult PackBatch::PackState::write(PackSample& sample) {
  batch::Row& row = *sample.row;
  row.name = sample.member;
  if (row.outcome == batch::Outcome::kSkipped) return {};
  // All that come would fail likewise: the shard in work is left to a batch that resumes, which
  // then makes the very shards that this one would have made.
  if (row.error && !sample.lost && batch::is_engine_gone(*row.error)) {
    return tl::unexpected<batch::WriteError>({*row.error, true});
  }
  if (row.error && (sample.lost || is_engine_fault(*row.error))) {
    ++totals_.put_off;
    return {};
  }
  if (row.outcome != batch::Outcome::kOk) return write_failure(row);
  sample.members.front().mtime_s = row.mtime_ns / base::kNanosecondsPerSecond;
  std::uint64_t bytes = 0;
  for (const PackMember& member : sample.members) {
    bytes += PackOutput::bytes_of(header_of(member));
  }
  if (auto ready = make_room(bytes); !ready) return ready;
  for (const PackMember& member : sample.members) {
    if (auto added = output_->append(header_of(member), member.bytes); !added) return added;
    if (member.permissions) output_->narrow(*member.permissions);
  }
  row.output = outputs_->label(record_.shard) + ": " + sample.member;
  record_.bytes_in += row.bytes_in;
  record_.copied += sample.members.size() - 1;
  ++record_.samples;
  ++record_.ok;
  return output_->append_row(to_json_line(row));
}

// A failure alone begins no shard: its row waits for the next sample, which may never come.
batch::WriteResult PackBatch::PackState::write_failure(const batch::Row& row) {
  std::string line = to_json_line(row);
  if (output_ == nullptr && held_row_bytes_ < kMaxHeldRowBytes) {
    held_row_bytes_ += line.size() + row.name.size();
    held_rows_.push_back({row.name, std::move(line)});
    return {};
  }
  if (auto ready = make_room(0); !ready) return ready;
  ++record_.failed;
  ++record_.dropped;
  return output_->append_row(line);
}

// Ends the shard that has no room, and begins one where none is begun, with the rows that wait. A
// shard is only ended for a sample that follows.
batch::WriteResult PackBatch::PackState::make_room(std::uint64_t bytes) {
  const bool full = output_ != nullptr && bytes > 0 && record_.samples > 0 &&
                    output_->bytes() + bytes > options_.shard_bytes;
  if (full) {
    if (auto ended = end_shard(); !ended) return ended;
  }
  if (output_ != nullptr) return {};
  record_ = ShardRecord();
  record_.shard = options_.pattern.name(next_shard_);
  record_.input = options_.input;
  record_.options_hash = options_.options_hash;
  begun_ = base::Clock::now();
  auto output = outputs_->open(record_.shard);
  if (!output) return tl::unexpected<batch::WriteError>(std::move(output.error()));
  output_ = std::move(*output);
  record_.failed = record_.dropped = held_rows_.size();
  for (const FailedRowLine& row : held_rows_) {
    if (auto added = output_->append_row(row.line); !added) return added;
  }
  held_rows_.clear();
  held_row_bytes_ = 0;
  return {};
}

batch::WriteResult PackBatch::PackState::end_shard() {
  record_.seconds = base::elapsed_us(begun_) / 1e6;
  const auto output = std::move(output_);
  if (auto done = output->commit(record_); !done) return done;
  ++next_shard_;
  ++shards_written_;
  totals_.samples += record_.samples;
  totals_.sidecars += record_.copied;
  return {};
}

// What a batch that ended early has in its last shard is left for one that resumes: its shards are
// then those of a batch that was never stopped.
Result<void> PackBatch::PackState::finish() {
  const std::lock_guard lock(mutex_);
  const bool whole = listed_ && samples_.empty() && !writing_;
  const auto done = whole ? end_batch() : batch::WriteResult();
  output_.reset();
  if (!done) return fail(done.error().status);
  return {};
}

// Rows of failures behind the last sample go to the last shard's manifest. Where there is none, or
// where they are very many, they have a shard without samples.
batch::WriteResult PackBatch::PackState::end_batch() {
  if (output_ == nullptr && held_rows_.empty()) return {};
  if (output_ == nullptr && next_shard_ > 0) {
    return outputs_->add_failures(options_.pattern.name(next_shard_ - 1), held_rows_);
  }
  if (auto ready = make_room(0); !ready) return ready;
  return end_shard();
}

void PackBatch::PackState::give_up(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const bool waits = number >= first_ && number - first_ < samples_.size() &&
                     !samples_[static_cast<std::size_t>(number - first_)].row;
  if (waits) budget_.give_up();
}

namespace {

Result<std::unique_ptr<PackOutputs>> open_outputs(const PackOptions& options) {
  const bool remote = store::is_object_url(options.pattern.text());
  if (store::is_object_url(options.manifests) != remote) {
    return fail(Status(StatusCode::kInvalidInput,
                       "and the shards do not both lie in folders or both in stores; accepted: "
                       "manifests where their shards are")
                    .about(options.manifests));
  }
  if (!remote) {
    return open_pack_folder({options.pattern, options.manifests, options.mode, options.resume});
  }
  auto outputs = open_prefix(options.pattern.folder(), *options.stores);
  if (!outputs) return fail(outputs.error());
  auto manifests = open_prefix(options.manifests, *options.stores);
  if (!manifests) return fail(manifests.error());
  return open_pack_store({options.pattern, std::move(*outputs), std::move(*manifests),
                          options.options_hash + '\n' + options.input});
}

}  // namespace

Result<std::unique_ptr<PackBatch>> PackBatch::open(const OpenInputs& inputs,
                                                   const PackOptions& options) {
  auto outputs = open_outputs(options);
  if (!outputs) return fail(outputs.error());
  auto read =
      (*outputs)->read_earlier({options.resume, options.retry_failed, options.options_hash});
  if (!read) return fail(read.error());
  const auto earlier = std::make_shared<const EarlierPacks>(std::move(*read));
  auto source =
      inputs([earlier, dots = options.dots, part = options.part](const std::string& name) {
        return is_to_pack(name, dots, part, *earlier);
      });
  if (!source) return fail(source.error());
  return std::unique_ptr<PackBatch>(new PackBatch(
      std::make_unique<PackState>(std::move(*source), options, std::move(*outputs), earlier)));
}

PackBatch::PackBatch(std::unique_ptr<PackState> state) : state_(std::move(state)) {}
PackBatch::~PackBatch() = default;
batch::Source& PackBatch::source() noexcept { return state_->source_; }
batch::Sink& PackBatch::sink() noexcept { return state_->sink_; }
batch::Manifest& PackBatch::manifest() noexcept { return state_->manifest_; }
std::unique_ptr<batch::Source> PackBatch::count_ahead(std::unique_ptr<batch::Source> inputs) const {
  return state_->count_ahead(std::move(inputs));
}
std::uint64_t PackBatch::shards_written() const noexcept { return state_->shards_written(); }
std::uint64_t PackBatch::passed_over() const noexcept { return state_->passed_over(); }
PackTotals PackBatch::totals() const { return state_->totals(); }

}  // namespace framewire::dataset
