#include <codec/cuda/item_sizer.hpp>

namespace framewire::codec::cuda {

std::uint64_t ItemSizer::device_bytes(const Item& item, std::size_t position) {
  plan_.clear();
  plan_.add(item);
  plan_.finish();
  return plan_.offsets().total_bytes + plan_.shared_growth_bytes(position < kLoneImages);
}

}  // namespace framewire::codec::cuda
