#include <cuda_runtime_api.h>
#include <bit>
#include <gpu/on_device.hpp>
#include <gpu/pinned_blocks.hpp>
#include <new>
#include <utility>

namespace framewire::gpu {
namespace {

/// So that many small ones suit one another.
constexpr std::size_t kSmallestBlock = 64 << 10;

/// Four sizes in each doubling: at most a quarter more than what is asked for.
std::size_t block_size(std::size_t bytes) {
  if (bytes <= kSmallestBlock) return kSmallestBlock;
  const std::size_t step = std::bit_floor(bytes) / 4;
  return (bytes + step - 1) / step * step;
}

}  // namespace

PinnedBlocks::PinnedBlocks(std::uint64_t bound_bytes) : bound_bytes_(bound_bytes) {
  (void)cudaGetDevice(&device_);
}

/// A thread without a device would make a context on the first one.
PinnedBlocks::~PinnedBlocks() {
  const OnDevice on(device_);
  kept_.clear();
}

Result<Buffer> PinnedBlocks::take(std::size_t bytes) {
  const std::size_t wanted = block_size(bytes);
  bool full = false;
  {
    const std::lock_guard lock(mutex_);
    if (Buffer found = take_kept(wanted); found.data() != nullptr) return found;
    used_bytes_ += wanted;
    full = used_bytes_ + kept_bytes_ > bound_bytes_;
  }
  if (full) free_kept();
  auto made = Buffer::make(BufferKind::kPinnedMapped, wanted);
  if (!made && kept_bytes() != 0) {
    free_kept();
    made = Buffer::make(BufferKind::kPinnedMapped, wanted);
  }
  if (!made) {
    const std::lock_guard lock(mutex_);
    used_bytes_ -= wanted;
  }
  return made;
}

/// @return an empty one where there is none that suits
Buffer PinnedBlocks::take_kept(std::size_t bytes) {
  const auto found = kept_.lower_bound(bytes);
  if (found == kept_.end() || found->first > bytes + bytes / 4) return {};
  Buffer block = std::move(found->second);
  kept_.erase(found);
  kept_bytes_ -= block.bytes();
  used_bytes_ += block.bytes();
  return block;
}

void PinnedBlocks::give_back(Buffer block) noexcept try {
  if (block.data() == nullptr) return;
  const std::lock_guard lock(mutex_);
  used_bytes_ -= block.bytes();
  if (used_bytes_ + kept_bytes_ + block.bytes() > bound_bytes_) return;
  const std::size_t bytes = block.bytes();
  kept_.emplace(bytes, std::move(block));
  kept_bytes_ += bytes;
} catch (const std::bad_alloc&) {
  // Then it is freed.
}

void PinnedBlocks::free_kept() noexcept {
  std::multimap<std::size_t, Buffer> freed;
  const std::lock_guard lock(mutex_);
  freed.swap(kept_);
  kept_bytes_ = 0;
}

std::uint64_t PinnedBlocks::bytes() const {
  const std::lock_guard lock(mutex_);
  return used_bytes_ + kept_bytes_;
}

std::uint64_t PinnedBlocks::kept_bytes() const {
  const std::lock_guard lock(mutex_);
  return kept_bytes_;
}

PinnedBuffer& PinnedBuffer::operator=(PinnedBuffer&& other) noexcept {
  if (this == &other) return *this;
  release();
  pool_ = std::move(other.pool_);
  block_ = std::move(other.block_);
  return *this;
}

void PinnedBuffer::release() noexcept {
  if (pool_ != nullptr) {
    pool_->give_back(std::exchange(block_, {}));
  } else {
    block_ = {};
  }
}

Result<void> PinnedBuffer::reserve(std::size_t bytes) {
  if (bytes <= block_.bytes()) return {};
  release();  // first: both at once might not fit
  auto made =
      pool_ != nullptr ? pool_->take(bytes) : Buffer::make(BufferKind::kPinnedMapped, bytes);
  if (!made) return fail(made.error());
  block_ = std::move(*made);
  return {};
}

}  // namespace framewire::gpu
