#include <base/epochs.hpp>

namespace framewire::base {

Epochs::Epoch Epochs::begin(std::size_t count) noexcept {
  under_way_.back() += count;
  return first_ + under_way_.size() - 1;
}

bool Epochs::end(Epoch epoch, std::size_t count) noexcept {
  under_way_[epoch - first_] -= count;
  const Epoch before = first_;
  while (under_way_.size() > 1 && under_way_.front() == 0) {
    under_way_.pop_front();
    ++first_;
  }
  return first_ != before;
}

Epochs::Epoch Epochs::next() {
  if (under_way_.back() != 0) under_way_.push_back(0);
  return first_ + under_way_.size() - 1;
}

}  // namespace framewire::base
