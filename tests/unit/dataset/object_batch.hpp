// One process of a batch over shards of a store in memory, with hooks in place of an engine.
#pragma once

#include <gtest/gtest.h>
#include <atomic>
#include <batch/runner.hpp>
#include <chrono>
#include <dataset/shard_record.hpp>
#include <dataset/tar_batch.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tests/support/archive.hpp>
#include <tests/support/fake_store.hpp>
#include <vector>

namespace framewire::dataset::test {

/// What one process does: its options, and what came of it.
struct BatchWorker {
  explicit BatchWorker(const std::shared_ptr<store::test::FakeStore>& store) {
    options.outputs = options.manifests = "s3://bucket/out/";
    options.stores = std::make_shared<StoreSet>(
        [store](const std::string&) -> Result<std::shared_ptr<store::ObjectStore>> {
          return std::shared_ptr<store::ObjectStore>(store);
        });
    options.patience = std::chrono::milliseconds(1);
    options.options_hash = "0000000000000001";
    options.on_error = [this](const Status& error) { errors.push_back(error); };
    options.stop = &stop;
    settings.jobs = 4;
    settings.group = 1;
    hooks.resize = [this](std::span<const std::uint8_t> jpeg, const ResizeOptions&) {
      if (during) during();
      Resized resized;
      resized.bytes.assign(jpeg.begin(), jpeg.end());
      resized.bytes.insert(resized.bytes.end(), made_by.begin(), made_by.end());
      return resized;
    };
  }

  batch::Summary run(const std::vector<std::string>& shards) {
    auto batch = TarBatch::open(shards, options);
    EXPECT_TRUE(batch || may_be_refused) << batch.error().to_string();
    if (!batch) return {};
    batch::RunOptions with;
    with.manifest = &(*batch)->manifest();
    with.stop = &stop;
    const auto summary = batch::run((*batch)->source(), (*batch)->sink(), hooks, settings, with);
    EXPECT_TRUE(summary);
    totals = (*batch)->totals();
    return summary ? *summary : batch::Summary{};
  }

  TarBatchOptions options;
  batch::Settings settings;
  batch::Hooks hooks;
  std::function<void()> during;  ///< called for each picture
  std::string made_by;           ///< appended to each picture
  bool may_be_refused = false;   ///< others may have made manifests
  ShardTotals totals;
  std::vector<Status> errors;
  std::atomic<bool> stop{false};
};

class ObjectBatch : public ::testing::Test {
 protected:
  static std::string picture(int number, std::size_t bytes) {
    return "\xFF\xD8\xFF" + std::to_string(number) + "." + std::string(bytes, 'p');
  }
  static store::test::Bytes shard(int pictures, std::size_t bytes) {
    Archive archive;
    for (int i = 0; i < pictures; ++i) {
      const std::string key = std::to_string(1000 + i);
      archive.file(key + ".jpg", picture(i, bytes)).file(key + ".txt", key);
    }
    return archive.end().bytes;
  }
  [[nodiscard]] std::optional<ShardRecord> record(const std::string& name) const {
    const auto all = store_->all();
    const auto found = all.find("out/" + name + ".jsonl");
    if (found == all.end()) return std::nullopt;
    return record_at_end(
        {reinterpret_cast<const char*>(found->second.data()), found->second.size()});
  }
  /// Whether there is a manifest, and the output that it tells of.
  [[nodiscard]] bool committed(const std::string& name) const {
    const auto found = record(name);
    const auto output = store_->find("out/" + name);
    return found && output && *output && (*output)->etag == found->version_out &&
           (*output)->bytes == found->bytes_out;
  }
  [[nodiscard]] std::vector<std::string> members(const std::string& name) const {
    return walk(store_->all()["out/" + name]).names();
  }

  const std::shared_ptr<store::test::FakeStore> store_ = std::make_shared<store::test::FakeStore>();
};

}  // namespace framewire::dataset::test
