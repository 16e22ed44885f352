// Object stores by the names of their buckets.
#pragma once

#include <framewire/status.hpp>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <store/object_store.hpp>
#include <string>
#include <utility>

namespace framewire::dataset {

/// Buckets, each opened when it is first asked for. Any number of threads.
class StoreSet {
 public:
  using Open =
      std::function<Result<std::shared_ptr<store::ObjectStore>>(const std::string& bucket)>;
  explicit StoreSet(Open open) : open_(std::move(open)) {}

  /// @return what opening it says; asked for again, it is tried again
  [[nodiscard]] Result<std::shared_ptr<store::ObjectStore>> get(const std::string& bucket) {
    const std::lock_guard lock(mutex_);
    if (const auto found = stores_.find(bucket); found != stores_.end()) return found->second;
    auto store = open_(bucket);
    if (store) stores_[bucket] = *store;
    return store;
  }

 private:
  const Open open_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<store::ObjectStore>> stores_;
};

}  // namespace framewire::dataset
