// How much memory an item adds to a batch.
#pragma once

#include <codec/batch_codec.hpp>
#include <codec/cuda/batch_plan.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

/// Plans each item by itself with the plan that batches use, so that the bound cannot drift from
/// what they take. Not thread-safe.
class ItemSizer {
 public:
  explicit ItemSizer(const Tuning& tuning = {}) : tuning_(tuning) {}
  /// Bound on what an accepted item adds to Arena::total_bytes(), and to the pinned memory beside
  /// it. A batch never takes more than the sum over its items (tests/gpu/item_sizer_test.cpp).
  /// @param position  index in the batch: the first few are sized as a small batch, with shorter
  ///                  subsequences
  /// @cost that of planning the item, some µs
  [[nodiscard]] BatchMemory need(const Item& item, std::size_t position);

 private:
  Tuning tuning_;
  BatchPlan plan_{tuning_};
};

}  // namespace framewire::codec::cuda
