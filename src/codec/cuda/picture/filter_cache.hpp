// Packed filters that are kept between batches: a batch of few sizes uses some 100 KB, but every
// crop has filters of its own.
#pragma once

#include <array>
#include <codec/cuda/picture/filter_pack.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

namespace framewire::codec::cuda {

/// Bytes of filters of one direction that begin_batch() keeps.
inline constexpr std::uint64_t kMaxFilterBytes = 2u << 20;

/// Filters of one direction. Not thread-safe.
/// @tparam Filter  AcrossFilter or DownFilter
template <typename Filter>
class FilterCache {
 public:
  struct Entry {
    Filter filter;
    std::uint64_t bytes = 0;
    std::uint32_t index = 0;  ///< among the batch's; set by who uses it
    std::uint32_t batch = 0;  ///< the last batch that used it
  };

  /// Begins another batch. Where filters exceed kMaxFilterBytes, removes those used longest ago;
  /// entries handed out earlier may then be gone.
  void begin_batch();
  /// Finds a filter, or makes it. @return the filter, and whether this batch asks for it for the
  /// first time
  std::pair<Entry*, bool> get(Kernel kernel, const plan::AxisMap& axis, const RowPart& part = {});
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  using RowKey = std::array<std::int32_t, 4>;  ///< of a RowPart
  using Key = std::tuple<Kernel, std::int32_t, std::int32_t, double, double, RowKey>;

  std::map<Key, std::unique_ptr<Entry>> entries_;
  std::uint64_t bytes_ = 0;
  std::uint32_t batch_ = 0;
};

extern template class FilterCache<AcrossFilter>;
extern template class FilterCache<DownFilter>;

}  // namespace framewire::codec::cuda
