// How much device memory an item adds to a batch.
#pragma once

#include <codec/cuda/batch_plan.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

/// Adds items to a plan of their own, so that the bound cannot drift from what batches take. Not
/// thread-safe.
class ItemSizer {
 public:
  explicit ItemSizer(const Tuning& tuning = {}) : tuning_(tuning) {}
  /// A bound on what an accepted item adds to Arena::total_bytes(): a batch never takes more
  /// than the sum over its items (tests/gpu/item_sizer_test.cpp).
  /// @param position  in the batch: where there are few they are cut into shorter subsequences
  /// @cost that of planning the item, some µs
  [[nodiscard]] std::uint64_t device_bytes(const Item& item, std::size_t position);

 private:
  Tuning tuning_;
  BatchPlan plan_{tuning_};
};

}  // namespace framewire::codec::cuda
