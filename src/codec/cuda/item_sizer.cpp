#include <codec/cuda/item_sizer.hpp>

namespace framewire::codec::cuda {

BatchMemory ItemSizer::need(const Item& item, std::size_t position) {
  plan_.clear();
  plan_.add(item);
  // A pinned file shares a copy with the file before it, which then also takes the bytes between
  // them.
  const std::uint64_t between = item.pinned ? kPinnedGuardBytes : 0;
  return {plan_.bytes_alone(position < tuning_.lone_images) + between, plan_.pinned_bytes_alone(),
          plan_.in_place_bytes()};
}

}  // namespace framewire::codec::cuda
