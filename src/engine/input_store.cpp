#include <codec/batch_codec.hpp>
#include <engine/input_store.hpp>
#include <new>
#include <utility>
#include <vector>

namespace framewire::engine {
namespace {

/// Blocks are whole multiples, so that they suit many who ask.
constexpr std::size_t kStepBytes = 64 << 10;
/// Kept for the next at most; what comes back beyond is freed.
constexpr std::size_t kMostKeptBytes = 256u << 20;

}  // namespace

Result<InputStore::Block> InputStore::take(std::size_t bytes) {
  if (bytes > SIZE_MAX / 4) return fail(StatusCode::kBusy, "memory ran out");
  const std::size_t wanted = (bytes + kStepBytes - 1) / kStepBytes * kStepBytes;
  {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.lower_bound(wanted);
    if (found != kept_.end() && found->first <= wanted * 2) {
      Block block{std::move(found->second), found->first};
      kept_bytes_ -= block.bytes;
      kept_.erase(found);
      return block;
    }
  }
  return allocate(wanted);
}

Result<InputStore::Block> InputStore::allocate(std::size_t bytes) try {
  const std::size_t guarded = bytes + codec::kPinnedGuardBytes;
  if (!allocate_) {
    const auto memory = std::make_shared<std::vector<std::uint8_t>>(guarded);
    return Block{HostMemory(memory, memory->data()), bytes};
  }
  auto memory = allocate_(guarded);
  if (!memory) return fail(memory.error());
  const std::unique_lock lock(ranges_mutex_);
  ranges_.emplace(memory->get(), bytes);
  return Block{std::move(*memory), bytes};
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, "memory ran out");
}

void InputStore::give_back(Block block) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (kept_bytes_ + block.bytes <= kMostKeptBytes) {
      kept_.emplace(block.bytes, std::move(block.memory));
      kept_bytes_ += block.bytes;
      return;
    }
  } catch (const std::bad_alloc&) {
    // Then it is freed.
  }
  forget(block);
}

/// Before the memory is freed: another may come to lie there.
void InputStore::forget(const Block& block) noexcept {
  const std::unique_lock lock(ranges_mutex_);
  ranges_.erase(block.memory.get());
}

bool InputStore::has(std::span<const std::uint8_t> bytes) const {
  const std::shared_lock lock(ranges_mutex_);
  auto after = ranges_.upper_bound(bytes.data());
  if (after == ranges_.begin()) return false;
  const auto& [begin, size] = *--after;
  const auto offset = static_cast<std::size_t>(bytes.data() - begin);
  return offset <= size && bytes.size() <= size - offset;
}

std::uint64_t InputStore::pinned_bytes() const {
  const std::shared_lock lock(ranges_mutex_);
  std::uint64_t sum = 0;
  for (const auto& [begin, size] : ranges_) sum += size;
  return sum;
}

}  // namespace framewire::engine
