#include <algorithm>
#include <codec/cuda/picture/filter_cache.hpp>
#include <type_traits>
#include <vector>

namespace framewire::codec::cuda {

// Removes a quarter more than it must, so that the next batch need not sort again.
template <typename Filter>
void FilterCache<Filter>::begin_batch() {
  ++batch_;
  if (bytes_ <= kMaxFilterBytes) return;
  using Position = typename decltype(entries_)::iterator;
  std::vector<Position> oldest_first;
  for (auto it = entries_.begin(); it != entries_.end(); ++it) oldest_first.push_back(it);
  const auto age = [this](const Position& at) { return batch_ - at->second->batch; };
  std::sort(oldest_first.begin(), oldest_first.end(),
            [&](const Position& a, const Position& b) { return age(a) > age(b); });
  for (const Position& oldest : oldest_first) {
    if (bytes_ <= kMaxFilterBytes / 4 * 3) break;
    bytes_ -= oldest->second->bytes;
    entries_.erase(oldest);
  }
}

template <typename Filter>
auto FilterCache<Filter>::get(Kernel kernel, const plan::AxisMap& axis, const RowPart& part)
    -> std::pair<Entry*, bool> {
  const RowKey rows{part.out_first, part.out_count, part.in_first, part.in_count};
  std::unique_ptr<Entry>& entry =
      entries_[{kernel, axis.in_size, axis.out_size, axis.origin, axis.step, rows}];
  if (entry == nullptr) {
    entry = std::make_unique<Entry>();
    entry->batch = batch_ - 1;
    if constexpr (std::is_same_v<Filter, AcrossFilter>) {
      entry->filter = pack_across(kernel, axis);
    } else {
      entry->filter = pack_down(kernel, axis, part);
    }
    constexpr std::size_t kElement = 4;
    entry->bytes = sizeof(Entry) + sizeof(Key) +
                   (entry->filter.first.size() + entry->filter.weights.size()) * kElement;
    bytes_ += entry->bytes;
  }
  const bool fresh = entry->batch != batch_;
  entry->batch = batch_;
  return {entry.get(), fresh};
}

template class FilterCache<AcrossFilter>;
template class FilterCache<DownFilter>;

}  // namespace framewire::codec::cuda
