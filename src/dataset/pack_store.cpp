#include <dataset/object_lines.hpp>
#include <dataset/pack_store.hpp>
#include <dataset/record_reader.hpp>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace framewire::dataset {
namespace {

using store::ObjectInfo;
using store::PutCondition;
using store::PutOutcome;

// A shard that cannot be written ends the batch, whatever the reason.
tl::unexpected<batch::WriteError> not_packed(Status status) {
  return tl::unexpected<batch::WriteError>({std::move(status), true});
}

class PackUpload final : public PackOutput {
 public:
  /// @param orphan  lies where the shard goes, and has no manifest: it may be replaced
  PackUpload(const PackStoreOptions& options, const std::string& name,
             std::optional<ObjectInfo> orphan, std::unique_ptr<store::ObjectUpload> data,
             std::unique_ptr<store::ObjectUpload> rows)
      : options_(options),
        key_(options.outputs.prefix + name),
        manifest_key_(options.manifests.prefix + manifest_name(name)),
        orphan_(std::move(orphan)),
        data_(std::move(data)),
        rows_(std::move(rows)) {}

 private:
  batch::WriteResult write(std::span<const std::uint8_t> bytes) override {
    if (auto added = data_->append(bytes); !added) return not_packed(added.error());
    return {};
  }
  batch::WriteResult write_rows(std::span<const std::uint8_t> bytes) override {
    if (auto added = rows_->append(bytes); !added) return not_packed(added.error());
    return {};
  }

  batch::WriteResult publish(ShardRecord& record) override {
    auto condition = PutCondition::kIfAbsent;
    if (orphan_) {
      const auto manifest = options_.manifests.store->find(manifest_key_);
      if (!manifest) return not_packed(manifest.error());
      if (*manifest) return packed_elsewhere();
      condition = PutCondition::kNone;
    }
    const auto made = data_->complete(condition);
    if (!made) return not_packed(made.error());
    if (*made == PutOutcome::kExists) return packed_elsewhere();
    auto etag = etag_of_stored(*options_.outputs.store, key_, *data_);
    if (!etag) return not_packed(etag.error());
    record.version_out = std::move(*etag);
    if (auto ended = end_rows(record); !ended) return ended;
    return publish_rows(record);
  }

  // A manifest that is there tells of a shard that was deleted, or is a slow process'. It goes
  // where the shard that lies there is ours.
  batch::WriteResult publish_rows(const ShardRecord& record) {
    auto made = rows_->complete(PutCondition::kIfAbsent);
    if (!made) return not_packed(made.error());
    if (*made == PutOutcome::kStored) return {};
    const auto output = options_.outputs.store->find(key_);
    if (!output) return not_packed(output.error());
    if (!*output || (*output)->etag != record.version_out) return packed_elsewhere();
    made = rows_->complete(PutCondition::kNone);
    if (!made) return not_packed(made.error());
    return {};
  }

  [[nodiscard]] tl::unexpected<batch::WriteError> packed_elsewhere() const {
    return not_packed(
        Status(StatusCode::kBusy,
               "has been made meanwhile: another batch packs by this pattern; accepted: a pattern "
               "for each process, such as 'part-3-%06d.tar'")
            .about(options_.outputs.store->label(key_)));
  }

  const PackStoreOptions& options_;
  const std::string key_;
  const std::string manifest_key_;
  const std::optional<ObjectInfo> orphan_;
  const std::unique_ptr<store::ObjectUpload> data_;
  const std::unique_ptr<store::ObjectUpload> rows_;
};

class PackStore final : public PackOutputs {
 public:
  explicit PackStore(PackStoreOptions options) : options_(std::move(options)) {}

  std::string label(const std::string& name) const override {
    return options_.outputs.store->label(options_.outputs.prefix + name);
  }

  Result<EarlierPacks> read_earlier(const EarlierPackOptions& options) override {
    auto shards = list(options_.outputs, "");
    if (!shards) return fail(shards.error());
    if (!options.resume && !shards->empty()) {
      auto refused = check_earlier(label(options_.pattern.name(shards->begin()->first)),
                                   std::nullopt, options);
      return fail(std::move(refused.error()));
    }
    auto manifests = list(options_.manifests, kRowsEnding);
    if (!manifests) return fail(manifests.error());
    if (auto good = check_alone(*shards, *manifests, options.resume); !good) {
      return fail(good.error());
    }
    if (!shards->empty() && !manifests->contains(shards->rbegin()->first)) {
      orphan_ = std::move(shards->extract(std::prev(shards->end())).mapped());
    }
    return read_manifests(*shards, *manifests, options);
  }

  tl::expected<std::unique_ptr<PackOutput>, batch::WriteError> open(
      const std::string& name) override {
    const std::string key = options_.outputs.prefix + name;
    const std::string manifest_key = options_.manifests.prefix + manifest_name(name);
    auto keys = check_shard_keys(options_.outputs, options_.manifests, name);
    if (!keys) return not_packed(std::move(keys.error()));
    auto data = options_.outputs.store->upload(key);
    if (!data) return not_packed(data.error());
    auto rows = options_.manifests.store->upload(manifest_key);
    if (!rows) return not_packed(rows.error());
    const bool replaces = orphan_ && orphan_->key == key;
    return std::make_unique<PackUpload>(options_, name, replaces ? orphan_ : std::nullopt,
                                        std::move(*data), std::move(*rows));
  }

  batch::WriteResult add_failures(const std::string& name,
                                  std::span<const FailedRowLine> rows) override {
    store::ObjectStore& store = *options_.manifests.store;
    const std::string key = options_.manifests.prefix + manifest_name(name);
    const auto manifest = store.find(key);
    if (!manifest) return not_packed(manifest.error());
    if (!*manifest) return not_packed(is_no_manifest(store.label(key)));
    auto upload = store.upload(key);
    if (!upload) return not_packed(upload.error());
    LateFailures failures(rows);
    Result<void> added;
    const auto read = read_object_lines(store, **manifest, [&](std::string_view line) {
      const std::string text = failures.take(line);
      if (added) {
        added =
            (*upload)->append({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
      }
    });
    if (!read) return not_packed(read.error());
    if (!added) return not_packed(added.error());
    if (!failures.complete()) return not_packed(is_no_manifest(store.label(key)));
    const auto made = (*upload)->complete(PutCondition::kNone);
    if (!made) return not_packed(made.error());
    return {};
  }

 private:
  static constexpr std::string_view kRowsEnding = ".jsonl";
  using ByNumber = std::map<std::uint64_t, ObjectInfo>;

  // Objects of the pattern, with an ending.
  [[nodiscard]] Result<ByNumber> list(const ObjectPrefix& where, std::string_view ending) const {
    ByNumber objects;
    const std::string beginning = where.prefix + options_.pattern.last_part().substr(
                                                     0, options_.pattern.last_part().find('%'));
    const auto listed = where.store->list(beginning, "", [&](const ObjectInfo& object) {
      const std::string_view name = std::string_view(object.key).substr(where.prefix.size());
      if (!name.ends_with(ending)) return true;
      const auto number = options_.pattern.number_of(name.substr(0, name.size() - ending.size()));
      if (number) objects[*number] = object;
      return true;
    });
    if (!listed) return fail(listed.error());
    return objects;
  }

  /// Manifests without their shards: those of shards that were deleted are replaced by batches that
  /// resume, and nothing else is.
  [[nodiscard]] Result<void> check_alone(const ByNumber& shards, const ByNumber& manifests,
                                         bool resume) const {
    store::ObjectStore& store = *options_.manifests.store;
    std::vector<ObjectInfo> alone;
    for (const auto& [number, manifest] : manifests) {
      if (!shards.contains(number)) alone.push_back(manifest);
    }
    if (!resume && !alone.empty()) {
      return fail(Status(StatusCode::kInvalidInput,
                         "is a manifest without its shard; accepted: another pattern or "
                         "--manifest, or --resume of the same batch")
                      .about(store.label(alone.front().key)));
    }
    RecordReader records(store, alone);
    for (const ObjectInfo& manifest : alone) {
      const auto record = records.next();
      if (!record) return fail(record.error());
      if (!*record) return fail(is_no_manifest(store.label(manifest.key)));
    }
    return {};
  }

  [[nodiscard]] Result<EarlierPacks> read_manifests(const ByNumber& shards,
                                                    const ByNumber& manifests,
                                                    const EarlierPackOptions& options) const {
    EarlierPacks earlier;
    std::vector<ObjectInfo> infos;
    for (const auto& [number, shard] : shards) {
      if (const auto manifest = manifests.find(number); manifest != manifests.end()) {
        infos.push_back(manifest->second);
      }
    }
    RecordReader records(*options_.manifests.store, std::move(infos));
    for (const auto& [number, shard] : shards) {
      std::optional<ShardRecord> record;
      const auto manifest = manifests.find(number);
      if (manifest != manifests.end()) {
        auto read = records.next();
        if (!read) return fail(read.error());
        record = std::move(*read);
      }
      const bool fits =
          record && record->bytes_out == shard.bytes && record->version_out == shard.etag;
      if (!fits) record.reset();
      if (auto good = check_earlier(options_.outputs.store->label(shard.key), record, options);
          !good) {
        return fail(good.error());
      }
      const auto rows = read_object_lines(
          *options_.manifests.store, manifest->second,
          [&](std::string_view line) { add_earlier_row(line, options.retry_failed, earlier); });
      if (!rows) return fail(rows.error());
      earlier.next = number + 1;
    }
    return earlier;
  }

  const PackStoreOptions options_;
  std::optional<ObjectInfo> orphan_;  ///< the last shard, where it has no manifest
};

}  // namespace

std::unique_ptr<PackOutputs> open_pack_store(PackStoreOptions options) {
  return std::make_unique<PackStore>(std::move(options));
}

}  // namespace framewire::dataset
