#include <algorithm>
#include <service/cache/index.hpp>

namespace framewire::service::cache {
namespace {

constexpr int kSamples = 16;

}  // namespace

void Index::put(const EntryName& name, std::uint64_t bytes, std::int64_t used_ns) {
  const auto found = places_.find(name);
  if (found != places_.end()) {
    Slot& slot = slots_[found->second];
    bytes_ = bytes_ - slot.bytes + bytes;
    slot.bytes = bytes;
    slot.used_ns = std::max(slot.used_ns, used_ns);
    slot.round = round_;
    return;
  }
  slots_.push_back({name, round_, bytes, used_ns});
  try {
    places_.emplace(name, slots_.size() - 1);
  } catch (...) {
    slots_.pop_back();
    throw;
  }
  bytes_ += bytes;
}

void Index::remove(const EntryName& name) noexcept {
  const auto found = places_.find(name);
  if (found != places_.end()) remove_at(found->second);
}

// The last slot takes the place of the one that goes.
void Index::remove_at(std::size_t index) noexcept {
  bytes_ -= slots_[index].bytes;
  places_.erase(slots_[index].name);
  if (index + 1 != slots_.size()) {
    slots_[index] = slots_.back();
    places_.find(slots_[index].name)->second = index;
  }
  slots_.pop_back();
}

bool Index::touch(const EntryName& name, std::int64_t used_ns) noexcept {
  const auto found = places_.find(name);
  if (found == places_.end()) return false;
  slots_[found->second].used_ns = std::max(slots_[found->second].used_ns, used_ns);
  return true;
}

// xorshift64 (Marsaglia 2003): nobody gains anything by guessing what goes next.
std::size_t Index::random_index() noexcept {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return static_cast<std::size_t>(random_ % slots_.size());
}

std::optional<EntryName> Index::victim() noexcept {
  if (slots_.empty()) return std::nullopt;
  // Few enough are looked at one by one.
  const bool all = slots_.size() <= kSamples;
  std::size_t oldest = 0;
  for (std::size_t i = 0; i < (all ? slots_.size() : kSamples); ++i) {
    const std::size_t index = all ? i : random_index();
    const bool first = i == 0;
    if (first || slots_[index].used_ns < slots_[oldest].used_ns) oldest = index;
  }
  return slots_[oldest].name;
}

void Index::forget_unseen() noexcept {
  for (std::size_t i = slots_.size(); i-- > 0;) {
    if (slots_[i].round != round_) remove_at(i);
  }
}

}  // namespace framewire::service::cache
