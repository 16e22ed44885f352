#include <fmt/format.h>
#include <algorithm>
#include <base/running_hash.hpp>
#include <base/utf8.hpp>
#include <batch/names.hpp>
#include <dataset/object_outputs.hpp>
#include <dataset/record_reader.hpp>
#include <dataset/tar/header.hpp>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace framewire::dataset {
namespace {

using store::ObjectInfo;
using store::PutCondition;
using store::PutOutcome;

// Keys that are refused are so for every shard.
tl::unexpected<batch::WriteError> not_stored(Status status) {
  const bool environment = status.code() == StatusCode::kDenied;
  return tl::unexpected<batch::WriteError>({std::move(status), environment});
}

bool tells_of(const ShardRecord& record, const ObjectInfo& output) {
  return record.bytes_out == output.bytes && record.version_out == output.etag;
}

// @return nothing where the object does not end in a record
Result<std::optional<ShardRecord>> read_record_of(store::ObjectStore& store,
                                                  const ObjectInfo& manifest) {
  const std::uint64_t tail = std::min<std::uint64_t>(manifest.bytes, kRecordTailBytes);
  std::string text(static_cast<std::size_t>(tail), '\0');
  auto* bytes = reinterpret_cast<std::uint8_t*>(text.data());
  const auto got = store.read_at(manifest, manifest.bytes - tail, {bytes, text.size()});
  if (!got) return fail(got.error());
  if (*got != text.size()) return std::nullopt;
  return record_at_end(text);
}

// @return whether the object, which does not end in a record, is a manifest all the same
Result<bool> is_damaged_manifest(store::ObjectStore& store, const ObjectInfo& manifest) {
  std::string head(std::min<std::size_t>(manifest.bytes, kManifestHeadBytes), '\0');
  const auto got =
      store.read_at(manifest, 0, {reinterpret_cast<std::uint8_t*>(head.data()), head.size()});
  if (!got) return fail(got.error());
  return *got == head.size() && begins_like_manifest(head, head.size() == manifest.bytes);
}

/// An object on its way that is begun with its first bytes.
class LazyUpload {
 public:
  LazyUpload(store::ObjectStore& store, std::string key) : store_(store), key_(std::move(key)) {}
  [[nodiscard]] Result<void> append(std::span<const std::uint8_t> bytes) {
    if (upload_ == nullptr) {
      auto upload = store_.upload(key_);
      if (!upload) return fail(upload.error());
      upload_ = std::move(*upload);
    }
    return upload_->append(bytes);
  }
  /// After append().
  [[nodiscard]] store::ObjectUpload& get() noexcept { return *upload_; }

 private:
  store::ObjectStore& store_;
  const std::string key_;
  std::unique_ptr<store::ObjectUpload> upload_;
};

/// What was found of a shard before the batch began.
struct Found {
  std::optional<ObjectInfo> manifest;
  std::optional<ShardRecord> record;
  std::optional<ObjectInfo> output;
};
using FoundByName = std::unordered_map<std::string, Found>;

class ObjectOutput final : public ShardOutput {
 public:
  /// @param known  null: nobody has looked
  ObjectOutput(const ObjectOutputsOptions& options, const std::string& name, const Found* known)
      : options_(options),
        key_(options.outputs.prefix + name),
        manifest_key_(options.manifests.prefix + manifest_name(name)),
        data_(*options.outputs.store, key_),
        rows_(*options.manifests.store, manifest_key_) {
    if (known != nullptr) known_ = *known;
    looked_ = known != nullptr;
  }

  Result<std::optional<Earlier>> earlier() override {
    // A manifest without a record may have been replaced while it was read.
    if (looked_ && (!known_.manifest || known_.record)) {
      manifest_ = known_.manifest;
      output_ = known_.output;
      const bool whole = known_.record && output_ && tells_of(*known_.record, *output_);
      if (!whole) return std::nullopt;
      return Earlier{*known_.record};
    }
    if (auto looked = look(); !looked) return fail(looked.error());
    if (!manifest_) return std::nullopt;
    auto record = read_record_of(manifests(), *manifest_);
    if (!record) {
      // It has changed since: what is there then is looked at before the commit.
      if (record.error().code() == StatusCode::kInvalidInput) return std::nullopt;
      return fail(record.error());
    }
    if (!*record && manifest_->bytes == 0) return std::nullopt;
    if (!*record) {
      const auto damaged = is_damaged_manifest(manifests(), *manifest_);
      if (!damaged) return fail(damaged.error());
      if (*damaged) return std::nullopt;
      return fail(is_no_manifest(manifests().label(manifest_key_)));
    }
    if (!output_ || !tells_of(**record, *output_)) return std::nullopt;
    return Earlier{std::move(**record), true};
  }

  void begin_sample() override {
    hash_.copy_to(mark_);
    position_ = bytes_;
    partly_sent_ = false;
    send_error_ = send();
  }

  batch::WriteResult drop_sample() override {
    if (partly_sent_) {
      return not_stored(Status(StatusCode::kUnsupported,
                               fmt::format("a sample of more than {} bytes failed after its "
                                           "beginning had been sent; accepted: an output folder",
                                           kMaxSampleBytes))
                            .about(label()));
    }
    pending_.clear();
    bytes_ = position_;
    mark_.copy_to(hash_);
    return {};
  }

  batch::WriteResult append(std::span<const std::uint8_t> bytes) override {
    if (auto room = make_room(); !room) return room;
    pending_.insert(pending_.end(), bytes.begin(), bytes.end());
    return take(bytes);
  }

  tl::expected<Copied, batch::WriteError> copy(ShardInput& from, std::uint64_t begin,
                                               std::uint64_t end,
                                               std::optional<Status>& problem) override {
    constexpr std::uint64_t kStepBytes = 4u << 20;
    while (begin < end) {
      if (auto room = make_room(); !room) return tl::unexpected<batch::WriteError>(room.error());
      const auto some = static_cast<std::size_t>(std::min(end - begin, kStepBytes));
      const std::size_t at = pending_.size();
      pending_.resize(at + some);
      const std::span<std::uint8_t> into(pending_.data() + at, some);
      const auto got = from.read_at(begin, into);
      if (!got || *got != some) {
        problem = got ? Status(StatusCode::kIoError, "cannot be read: the shard has become shorter")
                      : got.error();
        return Copied::kUnreadable;
      }
      if (auto taken = take(into); !taken) return tl::unexpected<batch::WriteError>(taken.error());
      begin += some;
    }
    return Copied::kAll;
  }

  batch::WriteResult append_row(std::string_view line) override {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(line.data());
    if (auto added = rows_.append({bytes, line.size()}); !added) return not_stored(added.error());
    return {};
  }

  tl::expected<Committed, batch::WriteError> commit(ShardRecord& record,
                                                    const batch::Permissions*) override {
    const std::vector<std::uint8_t> end(2 * tar::kBlockBytes);
    if (auto ended = append(end); !ended) return tl::unexpected<batch::WriteError>(ended.error());
    if (auto sent = send(); !sent) return tl::unexpected<batch::WriteError>(sent.error());
    record.bytes_out = bytes_;
    record.hash_out = hash_.value();
    auto committed = publish(record);
    if (!committed) return not_stored(std::move(committed.error()));
    return *committed;
  }

 private:
  [[nodiscard]] store::ObjectStore& outputs() const { return *options_.outputs.store; }
  [[nodiscard]] store::ObjectStore& manifests() const { return *options_.manifests.store; }
  [[nodiscard]] std::string label() const { return outputs().label(key_); }

  batch::WriteResult take(std::span<const std::uint8_t> bytes) {
    hash_.add(bytes);
    bytes_ += bytes.size();
    return {};
  }

  // Before more of a sample is kept.
  batch::WriteResult make_room() {
    if (!send_error_) return send_error_;
    if (pending_.size() < kMaxSampleBytes) return {};
    partly_sent_ = true;
    return send();
  }

  batch::WriteResult send() {
    if (pending_.empty()) return {};
    if (auto sent = data_.append(pending_); !sent) return not_stored(sent.error());
    // Memory of one large sample is not kept for all others.
    constexpr std::size_t kKeptBytes = 4u << 20;
    pending_.clear();
    if (pending_.capacity() > kKeptBytes) pending_.shrink_to_fit();
    return {};
  }

  Result<void> look() {
    auto manifest = manifests().find(manifest_key_);
    if (!manifest) return fail(manifest.error());
    auto output = outputs().find(key_);
    if (!output) return fail(output.error());
    manifest_ = std::move(*manifest);
    output_ = std::move(*output);
    return {};
  }

  // What is there now, if it is whole: a manifest and the output that it tells of.
  Result<std::optional<ShardRecord>> read_committed() {
    if (!manifest_ || !output_) return std::nullopt;
    auto record = read_record_of(manifests(), *manifest_);
    if (record && *record && !tells_of(**record, *output_)) record->reset();
    return record;
  }

  // Whether another process has committed since this one looked. @return what came of the shard, if
  // so
  Result<std::optional<Committed>> find_newer(const ShardRecord& record) {
    const std::string manifest_before = manifest_ ? manifest_->etag : "";
    const std::string output_before = output_ ? output_->etag : "";
    if (auto looked = look(); !looked) return fail(looked.error());
    if (manifest_ && manifest_->etag != manifest_before) {
      const auto other = read_committed();
      if (!other) return fail(other.error());
      if (*other && is_same_work(**other, record)) return Committed::kElsewhere;
      if (*other) {
        return fail(Status(StatusCode::kInvalidInput,
                           "was made meanwhile by another batch, of another input or with other "
                           "options; that one is kept")
                        .about(label()));
      }
    }
    just_made_ = output_ && output_->etag != output_before && !manifest_;
    return std::nullopt;
  }

  // The output first, and then the manifest: that is the commit. At every step another process may
  // do the same, or this one may die: docs/decisions/0035.
  Result<Committed> publish(ShardRecord& record) {
    // Once for a process that is about to commit, and once more for what it did instead.
    constexpr int kMaxWaits = 2;
    for (int waits = 0;;) {
      const auto newer = find_newer(record);
      if (!newer) return fail(newer.error());
      if (*newer) return **newer;
      if (just_made_ && waits < kMaxWaits) {
        ++waits;
        std::this_thread::sleep_for(options_.patience);
        continue;
      }
      // It must never tell of the new output.
      if (manifest_) {
        if (auto removed = manifests().remove(manifest_key_); !removed) {
          return fail(removed.error());
        }
        manifest_.reset();
      }
      const bool condition = !output_ && waits < kMaxWaits;
      const auto made =
          data_.get().complete(condition ? PutCondition::kIfAbsent : PutCondition::kNone);
      if (!made) return fail(made.error());
      if (*made == PutOutcome::kStored) break;
      ++waits;
      std::this_thread::sleep_for(options_.patience);
    }
    auto etag = etag_of_stored(outputs(), key_, data_.get());
    if (!etag) return fail(etag.error());
    record.version_out = std::move(*etag);
    return publish_manifest(record);
  }

  Result<Committed> publish_manifest(const ShardRecord& record) {
    const std::string line = to_json_line(record);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(line.data());
    if (auto added = rows_.append({bytes, line.size()}); !added) return fail(added.error());
    auto made = rows_.get().complete(PutCondition::kIfAbsent);
    if (!made) return fail(made.error());
    if (*made == PutOutcome::kStored) return Committed::kWritten;
    if (auto looked = look(); !looked) return fail(looked.error());
    const auto other = read_committed();
    if (!other) return fail(other.error());
    // Another process' output is there: its manifest tells of it, or is about to.
    if (*other || !output_ || output_->etag != record.version_out) return Committed::kElsewhere;
    // Ours has taken the place of the one that the manifest tells of.
    made = rows_.get().complete(PutCondition::kNone);
    if (!made) return fail(made.error());
    return Committed::kWritten;
  }

  const ObjectOutputsOptions& options_;
  const std::string key_;
  const std::string manifest_key_;
  LazyUpload data_;
  LazyUpload rows_;
  std::vector<std::uint8_t> pending_;  ///< not sent: what has come of the sample
  batch::WriteResult send_error_;      ///< of what begin_sample() sent
  bool partly_sent_ = false;           ///< the sample's beginning is not in pending_ any more
  std::uint64_t bytes_ = 0;
  std::uint64_t position_ = 0;  ///< where the sample begins
  base::RunningHash hash_;
  base::RunningHash mark_;
  Found known_;
  bool looked_ = false;
  bool just_made_ = false;              ///< an output without its manifest appeared meanwhile
  std::optional<ObjectInfo> manifest_;  ///< as they were last seen
  std::optional<ObjectInfo> output_;
};

class ObjectOutputs final : public ShardOutputs {
 public:
  explicit ObjectOutputs(ObjectOutputsOptions options) : options_(std::move(options)) {}

  std::string label(const std::string& name) const override {
    return options_.outputs.store->label(options_.outputs.prefix + name);
  }

  Result<std::optional<std::string>> find_manifest(const std::vector<std::string>& names) override {
    std::unordered_set<std::string> wanted;
    for (const std::string& name : names) {
      wanted.insert(options_.manifests.prefix + manifest_name(name));
    }
    std::optional<std::string> found;
    auto listed = options_.manifests.store->list(options_.manifests.prefix, "",
                                                 [&](const ObjectInfo& object) {
                                                   if (wanted.contains(object.key)) {
                                                     found = object.key;
                                                   }
                                                   return !found;
                                                 });
    if (!listed) return fail(listed.error());
    if (found) found = options_.manifests.store->label(*found);
    return found;
  }

  Result<void> resume(const std::vector<std::string>& names) override {
    known_.emplace();
    for (const std::string& name : names) (*known_)[name];
    std::vector<ObjectInfo> manifests;
    std::vector<Found*> found;
    auto listed = list(options_.manifests, kManifestEnding, [&](Found& shard, ObjectInfo object) {
      manifests.push_back(object);
      found.push_back(&shard);
      shard.manifest = std::move(object);
    });
    if (!listed) return listed;
    listed = list(options_.outputs, "",
                  [](Found& shard, ObjectInfo object) { shard.output = std::move(object); });
    if (!listed) return listed;
    RecordReader records(*options_.manifests.store, std::move(manifests));
    for (Found* shard : found) {
      if (stopped()) return {};  // nothing is begun any more
      auto record = records.next();
      if (!record) return fail(record.error());
      shard->record = std::move(*record);
    }
    return {};
  }

  tl::expected<std::unique_ptr<ShardOutput>, batch::WriteError> open(
      const std::string& name) override {
    if (auto good = batch::check_name(name); !good) return not_stored(Status(good.error()));
    auto keys = check_shard_keys(options_.outputs, options_.manifests, name);
    if (!keys) return not_stored(std::move(keys.error()));
    return std::make_unique<ObjectOutput>(options_, name, known_ ? &(*known_)[name] : nullptr);
  }

 private:
  static constexpr std::string_view kManifestEnding = ".jsonl";

  // What belongs to a shard that is known.
  template <typename Take>
  Result<void> list(const ObjectPrefix& where, std::string_view ending, Take take) {
    return where.store->list(where.prefix, "", [&](const ObjectInfo& object) {
      std::string name = object.key.substr(where.prefix.size());
      if (stopped()) return false;
      if (!name.ends_with(ending)) return true;
      name.resize(name.size() - ending.size());
      if (const auto shard = known_->find(name); shard != known_->end()) {
        take(shard->second, object);
      }
      return true;
    });
  }
  [[nodiscard]] bool stopped() const { return options_.stop != nullptr && *options_.stop; }

  const ObjectOutputsOptions options_;
  std::optional<FoundByName> known_;  ///< nothing: nobody has looked
};

}  // namespace

Result<void> check_shard_keys(const ObjectPrefix& outputs, const ObjectPrefix& manifests,
                              const std::string& name) {
  const std::size_t longest = std::max(outputs.prefix.size() + name.size(),
                                       manifests.prefix.size() + manifest_name(name).size());
  if (!base::is_utf8(name)) {
    return fail(Status(StatusCode::kInvalidInput,
                       "would have a key that is not UTF-8, as S3 has all keys; accepted: another "
                       "name, or an output folder")
                    .about(outputs.store->label(outputs.prefix + name)));
  }
  if (longest <= kMaxObjectKeyBytes) return {};
  return fail(Status(StatusCode::kInvalidInput,
                     fmt::format("would have a key of {} bytes, it or its manifest; S3 accepts {}",
                                 longest, kMaxObjectKeyBytes))
                  .about(outputs.store->label(outputs.prefix + name)));
}

Result<std::string> etag_of_stored(store::ObjectStore& store, const std::string& key,
                                   const store::ObjectUpload& upload) {
  std::string etag = upload.etag();
  if (!etag.empty()) return etag;
  const auto object = store.find(key);
  if (!object) return fail(object.error());
  if (*object) etag = (*object)->etag;
  return etag;
}

std::unique_ptr<ShardOutputs> open_object_outputs(ObjectOutputsOptions options) {
  return std::make_unique<ObjectOutputs>(std::move(options));
}

}  // namespace framewire::dataset
