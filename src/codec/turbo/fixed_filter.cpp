#include <algorithm>
#include <base/checked.hpp>
#include <cmath>
#include <codec/turbo/fixed_filter.hpp>
#include <iterator>
#include <transform/axis_filter.hpp>

namespace framewire::codec::turbo {
namespace {

/// Rounds one run to fixed point. The sums up to each tap are rounded, not the taps: what one tap
/// loses its neighbour gets, so that the run adds up, and smooth pictures hardly change.
/// Tried and rejected: giving the whole loss to the heaviest tap; the mean of 250 samples was then
/// off by more than a level.
void quantise_run(const double* weights, std::int32_t count, std::int16_t* out) {
  double sum = 0;
  long given = 0;
  for (std::int32_t i = 0; i < count; ++i) {
    sum += weights[i];
    const long due = std::lround(sum * (1 << kTapBits));
    out[i] = static_cast<std::int16_t>(due - given);
    given = due;
  }
}

}  // namespace

FixedFilter make_fixed_filter(Kernel kernel, const plan::AxisMap& axis) {
  const transform::AxisFilter exact =
      transform::make_axis_filter(kernel, {axis.in_size, axis.out_size, axis.origin, axis.step});
  FixedFilter filter;
  filter.in_size = axis.in_size;
  filter.out_size = axis.out_size;
  filter.stride = base::ceil_div(exact.taps, std::int32_t{kTapGroup}) * kTapGroup;
  filter.first = exact.first;
  filter.count = exact.count;
  filter.weights.assign(static_cast<std::size_t>(axis.out_size) * filter.stride, 0);
  for (std::int32_t j = 0; j < axis.out_size; ++j) {
    quantise_run(&exact.weights[static_cast<std::size_t>(j) * exact.taps],
                 exact.count[static_cast<std::size_t>(j)],
                 &filter.weights[static_cast<std::size_t>(j) * filter.stride]);
  }
  return filter;
}

FixedFilter part_of(const FixedFilter& whole, std::int32_t out_first, std::int32_t out_count,
                    std::int32_t in_first, std::int32_t in_count) {
  FixedFilter part;
  part.in_size = in_count;
  part.out_size = out_count;
  part.stride = whole.stride;
  const auto from = whole.first.begin() + out_first;
  std::transform(from, from + out_count, std::back_inserter(part.first),
                 [&](std::int32_t first) { return first - in_first; });
  const auto counts = whole.count.begin() + out_first;
  part.count.assign(counts, counts + out_count);
  const auto weights = whole.weights.begin() + std::ptrdiff_t{out_first} * whole.stride;
  part.weights.assign(weights, weights + std::ptrdiff_t{out_count} * whole.stride);
  return part;
}

std::uint64_t FixedFilterCache::bytes_of(const FixedFilter& filter) {
  return sizeof(Entry) + sizeof(FixedFilter) +
         (filter.first.size() + filter.count.size()) * sizeof(std::int32_t) +
         filter.weights.size() * sizeof(std::int16_t);
}

base::CacheUse FixedFilterCache::use() const {
  const std::lock_guard lock(mutex_);
  return use_;
}

std::shared_ptr<const FixedFilter> FixedFilterCache::get(Kernel kernel, const plan::AxisMap& axis) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
      return entry.kernel == kernel && entry.axis == axis;
    });
    if (found != entries_.end()) {
      ++use_.hits;
      std::rotate(found, found + 1, entries_.end());
      return entries_.back().filter;
    }
    ++use_.misses;
  }
  auto filter = std::make_shared<const FixedFilter>(make_fixed_filter(kernel, axis));
  const std::uint64_t bytes = bytes_of(*filter);
  if (bytes > kLargestKeptBytes) return filter;
  const std::lock_guard lock(mutex_);
  const auto has_no_room = [&] {
    return entries_.size() >= kMaxFilters || use_.bytes + bytes > kMaxBytes;
  };
  while (!entries_.empty() && has_no_room()) {
    use_.bytes -= bytes_of(*entries_.front().filter);
    entries_.erase(entries_.begin());
  }
  entries_.push_back({kernel, axis, filter});
  use_.bytes += bytes;
  return filter;
}

}  // namespace framewire::codec::turbo
