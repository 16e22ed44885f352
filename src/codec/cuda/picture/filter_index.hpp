// Which filters a batch has already: planes that are resampled alike share one.
#pragma once

#include <codec/cuda/picture/filter_shape.hpp>
#include <cstddef>
#include <cstdint>
#include <plan/plan.hpp>
#include <unordered_map>

namespace framewire::codec::cuda {

/// Filters of one direction, by what they are made from. Holds those of one batch. Not thread-safe.
class FilterIndex {
 public:
  void clear() { found_.clear(); }
  /// @param next  index that the filter gets if it is new
  /// @return its index
  std::uint32_t find_or_add(Kernel kernel, const plan::AxisMap& axis, const RowPart& part,
                            std::uint32_t next) {
    return found_.try_emplace(Key{kernel, axis, part}, next).first->second;
  }

 private:
  struct Key {
    Kernel kernel;
    plan::AxisMap axis;
    RowPart part;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept;
  };
  std::unordered_map<Key, std::uint32_t, Hash> found_;
};

}  // namespace framewire::codec::cuda
