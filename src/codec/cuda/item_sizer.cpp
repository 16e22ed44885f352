#include <codec/cuda/item_sizer.hpp>

namespace framewire::codec::cuda {

std::uint64_t ItemSizer::device_bytes(const Item& item) {
  plan_.clear();
  plan_.add(item);
  plan_.finish();
  return plan_.offsets().total_bytes + plan_.shared_growth_bytes();
}

}  // namespace framewire::codec::cuda
