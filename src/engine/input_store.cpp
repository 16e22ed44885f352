#include <fmt/format.h>
#include <codec/batch_codec.hpp>
#include <engine/input_store.hpp>
#include <iterator>
#include <new>
#include <utility>
#include <vector>

namespace framewire::engine {
namespace {

/// Sizes of blocks are multiples of this, so that a block that comes back suits many inputs.
constexpr std::size_t kStepBytes = 64 << 10;

}  // namespace

Result<InputStore::Block> InputStore::take(std::size_t bytes) {
  if (bytes > SIZE_MAX / 4) {
    return fail(StatusCode::kTooLarge,
                fmt::format("input memory of {} bytes; no machine has as much", bytes));
  }
  const std::size_t wanted = (bytes + kStepBytes - 1) / kStepBytes * kStepBytes;
  {
    const std::lock_guard lock(mutex_);
    auto found = kept_.lower_bound(wanted);
    if (found != kept_.end() && found->first <= wanted * 2) {
      // Of those as large the one that came back last: it may still lie in a cache.
      found = std::prev(kept_.upper_bound(found->first));
      Block block{std::move(found->second), found->first};
      use_.bytes -= block.bytes;
      ++use_.hits;
      kept_.erase(found);
      return block;
    }
    ++use_.misses;
  }
  return allocate(wanted);
}

Result<InputStore::Block> InputStore::allocate(std::size_t bytes) try {
  const std::size_t guarded = bytes + codec::kPinnedGuardBytes;
  if (!allocate_) {
    const auto memory = std::make_shared<std::vector<std::uint8_t>>(guarded);
    return entered({HostMemory(memory, memory->data()), bytes}, Kind::kOrdinaryBlock);
  }
  auto memory = allocate_(guarded);
  if (!memory && free_kept()) memory = allocate_(guarded);
  if (!memory) return fail(std::move(memory.error()));
  return entered({std::move(*memory), bytes}, Kind::kPinnedBlock);
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, "memory ran out");
}

/// Makes a new block known.
InputStore::Block InputStore::entered(Block block, Kind kind) {
  const std::unique_lock lock(ranges_mutex_);
  ranges_.emplace(block.memory.get(), Range{block.bytes, kind, nullptr});
  return block;
}

void InputStore::give_back(Block block) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (use_.bytes + block.bytes <= use_.bound_bytes) {
      kept_.emplace(block.bytes, std::move(block.memory));
      use_.bytes += block.bytes;
      return;
    }
  } catch (const std::bad_alloc&) {
    // Then it is freed.
  }
  forget(block);
}

/// @return whether there was anything to free
bool InputStore::free_kept() {
  std::multimap<std::size_t, HostMemory> freed;
  {
    const std::lock_guard lock(mutex_);
    freed.swap(kept_);
    use_.bytes = 0;
  }
  for (auto& [bytes, memory] : freed) forget({memory, bytes});
  return !freed.empty();
}

/// Called before the memory is freed, since another allocation may come to lie there.
void InputStore::forget(const Block& block) noexcept {
  const std::unique_lock lock(ranges_mutex_);
  ranges_.erase(block.memory.get());
}

InputStore::Ranges::const_iterator InputStore::last_before_end(
    std::span<const std::uint8_t> bytes) const {
  const auto after = ranges_.lower_bound(bytes.data() + bytes.size());
  return after == ranges_.begin() ? ranges_.end() : std::prev(after);
}

Result<void> InputStore::enter_registered(std::span<std::uint8_t> memory) try {
  if (memory.empty()) {
    return fail(Status(StatusCode::kInvalidInput, "found no bytes to register").about("memory"));
  }
  {
    // Entered before it is pinned, so that of two who overlap one is refused whatever the pinner
    // says; not found as pinned before it is.
    const std::unique_lock lock(ranges_mutex_);
    const auto before = last_before_end(memory);
    if (before != ranges_.end() && before->first + before->second.bytes > memory.data()) {
      return fail(Status(StatusCode::kInvalidInput,
                         "some of these bytes are registered already, or the engine's own")
                      .about("memory"));
    }
    ranges_.emplace(memory.data(), Range{memory.size(), Kind::kRegistered, nullptr});
  }
  if (!pin_) return {};
  auto pin = pin_or_forget(memory);
  if (!pin) return fail(Status(pin.error()).about("memory"));
  const std::unique_lock lock(ranges_mutex_);
  ranges_.find(memory.data())->second.pin = std::move(*pin);
  return {};
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, "memory ran out");
}

/// Pins memory that has been entered; what cannot be pinned is no longer entered afterwards.
Result<std::shared_ptr<void>> InputStore::pin_or_forget(std::span<std::uint8_t> memory) {
  try {
    auto pin = pin_(memory);
    if (!pin) forget_registered(memory);
    return pin;
  } catch (...) {
    forget_registered(memory);
    throw;
  }
}

/// Unpins the memory only when find() no longer knows it; unpinning itself takes no lock.
void InputStore::forget_registered(std::span<std::uint8_t> memory) noexcept {
  std::shared_ptr<void> pin;
  const std::unique_lock lock(ranges_mutex_);
  const auto found = ranges_.find(memory.data());
  pin = std::move(found->second.pin);
  ranges_.erase(found);
}

InputStore::Traits InputStore::find(std::span<const std::uint8_t> bytes) const {
  const std::shared_lock lock(ranges_mutex_);
  const auto found = last_before_end(bytes);
  if (found == ranges_.end()) return {};
  const auto& [begin, range] = *found;
  const std::uint8_t* end = begin + range.bytes;
  if (end <= bytes.data()) return {};
  const bool inside = begin <= bytes.data() && bytes.data() + bytes.size() <= end;
  if (range.kind == Kind::kOrdinaryBlock) return {};
  if (range.kind == Kind::kPinnedBlock) return {inside, false};
  // Every block has a guard behind it. In registered memory the bytes of the guard must be there.
  const auto behind = static_cast<std::size_t>(inside ? end - bytes.data() - bytes.size() : 0);
  return {range.pin != nullptr && behind >= codec::kPinnedGuardBytes, true};
}

base::CacheUse InputStore::use() const {
  const std::lock_guard lock(mutex_);
  return use_;
}

std::uint64_t InputStore::pinned_bytes() const {
  const std::shared_lock lock(ranges_mutex_);
  std::uint64_t sum = 0;
  for (const auto& [begin, range] : ranges_) {
    if (range.kind == Kind::kPinnedBlock || range.pin != nullptr) sum += range.bytes;
  }
  return sum;
}

}  // namespace framewire::engine
