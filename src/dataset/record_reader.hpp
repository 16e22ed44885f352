// The records at the ends of many manifests in a store.
#pragma once

#include <cstddef>
#include <dataset/shard_record.hpp>
#include <deque>
#include <framewire/status.hpp>
#include <future>
#include <memory>
#include <optional>
#include <store/object_store.hpp>
#include <string>
#include <vector>

namespace framewire::dataset {

/// Reads records, some at a time and in order.
class RecordReader {
 public:
  /// @param store  lives as long as this
  RecordReader(store::ObjectStore& store, std::vector<store::ObjectInfo> manifests);
  /// Waits for what is on its way.
  ~RecordReader();
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;

  /// The next one, as often as there are manifests.
  /// @return nothing for one that does not end in a record, or is another by now; what the store
  ///         says
  [[nodiscard]] Result<std::optional<ShardRecord>> next();

 private:
  struct Tail {
    std::string text;
    std::promise<Result<std::size_t>> got;
    std::future<Result<std::size_t>> result = got.get_future();
  };
  void begin_more();

  store::ObjectStore& store_;
  const std::vector<store::ObjectInfo> manifests_;
  std::size_t begun_ = 0;
  std::deque<std::shared_ptr<Tail>> tails_;
};

}  // namespace framewire::dataset
