// Manifests and outputs in a store.
#include <algorithm>
#include <cstdint>
#include <dataset/object_lines.hpp>
#include <dataset/object_names.hpp>
#include <dataset/record_reader.hpp>
#include <dataset/report_place.hpp>
#include <map>
#include <utility>

namespace framewire::dataset {
namespace {

/// An output, in few bytes: reports are made of millions of shards.
struct StoredOutput {
  std::uint64_t bytes = 0;
  std::string etag;
};

class ReportStore final : public ReportPlace {
 public:
  ReportStore(ObjectPrefix where, std::vector<std::string> names,
              std::map<std::string, store::ObjectInfo> objects,
              std::map<std::string, StoredOutput> outputs)
      : where_(std::move(where)),
        names_(std::move(names)),
        objects_(std::move(objects)),
        outputs_(std::move(outputs)),
        records_(*where_.store, infos()) {}

  const std::vector<std::string>& manifests() const override { return names_; }
  Result<std::optional<ShardRecord>> next_record() override { return records_.next(); }
  bool has_output(const std::string& shard, const ShardRecord& record) override {
    const auto output = outputs_.find(shard);
    return output != outputs_.end() && output->second.bytes == record.bytes_out &&
           output->second.etag == record.version_out;
  }
  Result<void> read_lines(const std::string& manifest,
                          const std::function<void(std::string_view)>& take) override {
    return read_object_lines(*where_.store, objects_.at(manifest), take);
  }

 private:
  [[nodiscard]] std::vector<store::ObjectInfo> infos() const {
    std::vector<store::ObjectInfo> all;
    for (const std::string& name : names_) all.push_back(objects_.at(name));
    return all;
  }

  const ObjectPrefix where_;
  const std::vector<std::string> names_;
  const std::map<std::string, store::ObjectInfo> objects_;  ///< manifests, by name
  const std::map<std::string, StoredOutput> outputs_;       ///< by name
  RecordReader records_;
};

}  // namespace

Result<std::unique_ptr<ReportPlace>> open_report_store(const ReportOptions& options) {
  auto manifests = open_prefix(options.manifests, *options.stores);
  if (!manifests) return fail(manifests.error());
  const auto outputs = open_prefix(options.outputs, *options.stores);
  if (!outputs) return fail(outputs.error());
  std::vector<std::string> names;
  std::map<std::string, store::ObjectInfo> objects;
  std::map<std::string, StoredOutput> stored;
  auto listed = manifests->store->list(manifests->prefix, "", [&](const store::ObjectInfo& object) {
    if (object.key.ends_with(kManifestEnding)) {
      names.push_back(object.key.substr(manifests->prefix.size()));
      objects[names.back()] = object;
    }
    return names.size() <= options.max_manifests;
  });
  if (!listed) return fail(listed.error());
  if (auto few = check_number(names.size(), options); !few) return fail(few.error());
  listed = outputs->store->list(outputs->prefix, "", [&](const store::ObjectInfo& object) {
    std::string name = object.key.substr(outputs->prefix.size());
    if (objects.contains(name + std::string(kRowsEnding))) {
      stored[std::move(name)] = {object.bytes, object.etag};
    }
    return true;
  });
  if (!listed) return fail(listed.error());
  std::ranges::sort(names);
  return std::make_unique<ReportStore>(std::move(*manifests), std::move(names), std::move(objects),
                                       std::move(stored));
}

}  // namespace framewire::dataset
