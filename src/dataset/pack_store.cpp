#include <fmt/format.h>
#include <base/running_hash.hpp>
#include <dataset/lone_manifest.hpp>
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

// Without the condition another's shard might be replaced, which is worse than to ask for help.
Status why_not_replaced(const Status& error) {
  if (error.code() != StatusCode::kUnsupported) return error;
  return Status(error.code(), error.message() +
                                  ", and the shard that lies there has no manifest; accepted: "
                                  "without that shard")
      .about(error.subject());
}

/// What lies where a shard and its manifest go, and may be replaced.
struct Replaceable {
  std::optional<ObjectInfo> orphan;  ///< a shard of this batch without its manifest
  std::string manifest;              ///< ETag of a manifest without its shard; empty: none
};

class PackUpload final : public PackOutput {
 public:
  PackUpload(const PackStoreOptions& options, const std::string& name, Replaceable replaceable,
             std::unique_ptr<store::ObjectUpload> data, std::unique_ptr<store::ObjectUpload> rows)
      : options_(options),
        key_(options.outputs.prefix + name),
        manifest_key_(options.manifests.prefix + manifest_name(name)),
        replaceable_(std::move(replaceable)),
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
    record.path = options_.outputs.store->label(key_);
    const auto orphan = find_orphan();
    if (!orphan) return tl::unexpected<batch::WriteError>(orphan.error());
    const auto made =
        *orphan ? data_->replace((*orphan)->etag) : data_->complete(PutCondition::kIfAbsent);
    if (!made) return not_packed(*orphan ? why_not_replaced(made.error()) : made.error());
    if (*made == PutOutcome::kExists) return packed_elsewhere();
    auto etag = etag_of_stored(*options_.outputs.store, key_, *data_);
    if (!etag) return not_packed(etag.error());
    record.version_out = std::move(*etag);
    if (auto ended = end_rows(record); !ended) return ended;
    return publish_rows(record);
  }

  // Before the shard is made known: it must not lie there beside another's manifest.
  // @return what is replaced; nothing where nothing may be there
  tl::expected<std::optional<ObjectInfo>, batch::WriteError> find_orphan() const {
    const auto manifest = options_.manifests.store->find(manifest_key_);
    if (!manifest) return not_packed(manifest.error());
    if (*manifest && (*manifest)->etag != replaceable_.manifest) return packed_elsewhere();
    if (!replaceable_.orphan) return std::nullopt;
    const auto orphan = options_.outputs.store->find(key_);
    if (!orphan) return not_packed(orphan.error());
    if (*orphan && (*orphan)->etag != replaceable_.orphan->etag) return packed_elsewhere();
    return *orphan;
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
    const auto ours = is_ours_to_replace(record);
    if (!ours) return not_packed(ours.error());
    if (!*ours) return packed_elsewhere();
    made = rows_->complete(PutCondition::kNone);
    if (!made) return not_packed(made.error());
    return {};
  }

  // Batches that pack elsewhere may have the same --manifest.
  [[nodiscard]] Result<bool> is_ours_to_replace(const ShardRecord& record) const {
    store::ObjectStore& store = *options_.manifests.store;
    const auto manifest = store.find(manifest_key_);
    if (!manifest) return fail(manifest.error());
    if (!*manifest || (*manifest)->etag == replaceable_.manifest) return true;
    auto other = RecordReader(store, {**manifest}).next();
    if (!other) return fail(other.error());
    return *other && (*other)->path == record.path;
  }

  [[nodiscard]] tl::unexpected<batch::WriteError> packed_elsewhere() const {
    return not_packed(
        Status(StatusCode::kBusy,
               "has been made meanwhile, or its manifest: another batch packs by this pattern, or "
               "into this --manifest; accepted: a pattern for each process, such as "
               "'part-3-%06d.tar'")
            .about(options_.outputs.store->label(key_)));
  }

  const PackStoreOptions& options_;
  const std::string key_;
  const std::string manifest_key_;
  const Replaceable replaceable_;
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
    if (auto good = check_lone(*shards, *manifests, options.resume); !good) {
      return fail(good.error());
    }
    if (!shards->empty() && !manifests->contains(shards->rbegin()->first)) {
      if (auto found = take_orphan(*shards); !found) return fail(found.error());
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
    (*data)->mark(mark_of(name));
    Replaceable replaceable;
    if (orphan_ && orphan_->key == key) replaceable.orphan = orphan_;
    if (const auto lone = lone_.find(manifest_key); lone != lone_.end()) {
      replaceable.manifest = lone->second;
    }
    return std::make_unique<PackUpload>(options_, name, std::move(replaceable), std::move(*data),
                                        std::move(*rows));
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

  /// By which a batch knows its own shard where its manifest is missing.
  [[nodiscard]] std::string mark_of(const std::string& name) const {
    const std::string text =
        label(name) + '\n' +
        options_.manifests.store->label(options_.manifests.prefix + manifest_name(name)) + '\n' +
        options_.batch;
    base::RunningHash hash;
    hash.add({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    return fmt::format("{:016x}", hash.value());
  }

  /// Takes the last shard, which has no manifest, off those that are there, if it is this batch's.
  Result<void> take_orphan(ByNumber& shards) {
    const auto last = std::prev(shards.end());
    auto found = options_.outputs.store->find(last->second.key);
    if (!found) return fail(found.error());
    if (*found && (*found)->mark != mark_of(options_.pattern.name(last->first))) return {};
    orphan_ = std::move(*found);
    shards.erase(last);
    return {};
  }

  /// Manifests without their shards: those of shards of this pattern that were deleted are replaced
  /// by batches that resume, and nothing else is.
  [[nodiscard]] Result<void> check_lone(const ByNumber& shards, const ByNumber& manifests,
                                        bool resume) {
    store::ObjectStore& store = *options_.manifests.store;
    std::vector<ObjectInfo> lone;
    std::vector<MissingShard> missing;
    for (const auto& [number, manifest] : manifests) {
      if (shards.contains(number)) continue;
      lone.push_back(manifest);
      const std::string shard = label(options_.pattern.name(number));
      missing.push_back({shard, shard});
    }
    if (!resume && !lone.empty()) return fail(is_lone_manifest(store.label(lone.front().key)));
    RecordReader records(store, lone);
    for (std::size_t i = 0; i < lone.size(); ++i) {
      const auto record = records.next();
      if (!record) return fail(record.error());
      if (!*record) return fail(is_no_manifest(store.label(lone[i].key)));
      auto ours = is_manifest_of(**record, missing[i]);
      if (!ours) {
        ours = true;
        const auto rows = read_object_lines(store, lone[i], [&](std::string_view row) {
          ours = *ours && is_row_of(row, missing[i]);
        });
        if (!rows) return fail(rows.error());
      }
      if (!*ours) return fail(is_lone_manifest(store.label(lone[i].key)));
      lone_[lone[i].key] = lone[i].etag;
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
  std::optional<ObjectInfo> orphan_;         ///< this batch's last shard, which has no manifest
  std::map<std::string, std::string> lone_;  ///< ETags of manifests that may be replaced, by key
};

}  // namespace

std::unique_ptr<PackOutputs> open_pack_store(PackStoreOptions options) {
  return std::make_unique<PackStore>(std::move(options));
}

}  // namespace framewire::dataset
