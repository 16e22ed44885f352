// Filter taps in 16-bit fixed point, laid out for the SIMD passes, and a cache of them.
#pragma once

#include <base/cache_use.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <plan/plan.hpp>
#include <vector>

namespace framewire::codec::turbo {

/// Fraction bits of a tap; the taps of one output sample sum to exactly 2^kTapBits.
inline constexpr int kTapBits = 14;
/// Fraction bits of the samples between the vertical and the horizontal pass.
inline constexpr int kMidBits = 6;
/// Runs of taps are padded with zeros to a multiple of this.
inline constexpr int kTapGroup = 8;

/// Taps of one axis.
struct FixedFilter {
  std::int32_t in_size = 0;
  std::int32_t out_size = 0;
  std::int32_t stride = 0;          ///< taps an output sample, multiple of kTapGroup
  std::vector<std::int32_t> first;  ///< [out_size]; first + stride may pass in_size, over zero taps
  std::vector<std::int32_t> count;  ///< [out_size] taps that are not padding
  std::vector<std::int16_t> weights;  ///< [out_size][stride]
};

/// Rounds the taps of transform::make_axis_filter so that each run sums to one exactly.
[[nodiscard]] FixedFilter make_fixed_filter(Kernel kernel, const plan::AxisMap& axis);

/// The taps of `out_count` output samples from `out_first` on, for an input that begins at sample
/// `in_first` and has `in_count` samples: all that those taps reach.
[[nodiscard]] FixedFilter part_of(const FixedFilter& whole, std::int32_t out_first,
                                  std::int32_t out_count, std::int32_t in_first,
                                  std::int32_t in_count);

/// Recently used filters, since making Lanczos taps costs as much as a small image and batches ask
/// for few sizes. Forgets those used longest ago. Thread-safe.
class FixedFilterCache {
 public:
  static constexpr std::size_t kMaxFilters = 64;  ///< each get() looks at all of them
  static constexpr std::uint64_t kMaxBytes = 8u << 20;

  [[nodiscard]] std::shared_ptr<const FixedFilter> get(Kernel kernel, const plan::AxisMap& axis);
  [[nodiscard]] base::CacheUse use() const;

 private:
  struct Entry {
    Kernel kernel;
    plan::AxisMap axis;
    std::shared_ptr<const FixedFilter> filter;
  };
  /// Larger filters are not kept: one of them would push out all others.
  static constexpr std::uint64_t kLargestKeptBytes = kMaxBytes / 16;
  static std::uint64_t bytes_of(const FixedFilter& filter);

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  ///< least recently used first
  base::CacheUse use_{0, kMaxBytes, 0, 0};
};

}  // namespace framewire::codec::turbo
