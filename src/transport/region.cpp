#include <fmt/format.h>
#include <sys/mman.h>
#include <algorithm>
#include <mutex>
#include <transport/region.hpp>
#include <utility>

namespace framewire::transport {

void Pins::adopt(const Region& owner) { owner_ = owner; }

void Pins::let_go() noexcept {
  lowest_.store(kNowhere, std::memory_order_relaxed);
  highest_.store(0, std::memory_order_relaxed);
  const Region last = std::exchange(owner_, {});
  lock_.unlock();
}

bool Pins::overlaps_written(const Part& part) {
  const auto stray = std::partition_point(
      strays_.begin(), strays_.end(), [&](const Part& other) { return other.end <= part.begin; });
  if (stray != strays_.end() && stray->begin < part.end) return true;
  if (in_turn(part)) return false;
  for (std::size_t i = 0; i < written_.size(); ++i) {
    if (written_[i].overlaps(part)) return true;
  }
  return false;
}

bool Pins::add(const Part& part, bool write) {
  if (overlaps_written(part)) return false;
  for (Part& read : read_) {
    if (write && read.overlaps(part)) return false;
    if (!write && read.same(part)) {
      ++read.holds;
      return true;
    }
  }
  if (!write) {
    read_.push_back(part);
  } else if (in_turn(part)) {
    written_.push_back(part);
  } else {
    strays_.insert(std::partition_point(strays_.begin(), strays_.end(),
                                        [&](const Part& other) { return other.end <= part.begin; }),
                   part);
  }
  return true;
}

void Pins::remove(const Part& part, bool write) noexcept {
  const auto same = [&](const Part& other) { return other.same(part); };
  if (!write) {
    const auto found = std::find_if(read_.begin(), read_.end(), same);
    if (found == read_.end() || --found->holds > 0) return;
    *found = read_.back();
    read_.pop_back();
    return;
  }
  const auto stray = std::partition_point(strays_.begin(), strays_.end(),
                                          [&](const Part& other) { return other.end < part.end; });
  if (stray != strays_.end() && stray->same(part)) {
    strays_.erase(stray);
  } else {
    written_.erase_if(same);
  }
}

std::size_t Pins::count() const noexcept {
  const std::lock_guard lock(lock_);
  std::size_t count = written_.size() + strays_.size();
  for (const Part& part : read_) count += static_cast<std::size_t>(part.holds);
  return count;
}

Region::Block::~Block() {
  if (!owned) return;
  if (devices != nullptr) {
    devices->release(device, base);
  } else {
    munmap(base, static_cast<std::size_t>(bytes));
  }
}

Result<Region> Region::allocate_host(std::size_t bytes) {
  if (bytes == 0) return fail(StatusCode::kInvalidInput, "a region of no bytes; 1 or more");
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (base == MAP_FAILED) {
    return fail(StatusCode::kBusy, fmt::format("no memory for a region of {} bytes", bytes));
  }
  Region region;
  region.block_ = std::make_shared<Block>();
  region.block_->base = static_cast<std::byte*>(base);
  region.block_->bytes = bytes;
  region.block_->owned = true;
  return region;
}

Region Region::view(std::span<std::byte> bytes, MemoryKind kind, int device) {
  Region region;
  region.block_ = std::make_shared<Block>();
  region.block_->base = bytes.data();
  region.block_->bytes = bytes.size();
  region.block_->kind = kind;
  region.block_->device = device;
  return region;
}

Result<Region> Region::allocate_device(DeviceMemory& devices, int device, std::size_t bytes) {
  if (bytes == 0) return fail(StatusCode::kInvalidInput, "a region of no bytes; 1 or more");
  if (device < 0 || device >= devices.count()) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("no device {}; there are {}", device, devices.count()));
  }
  const auto memory = devices.allocate(device, bytes);
  if (!memory) return fail(memory.error());
  Region region = view({*memory, bytes}, MemoryKind::kCuda, device);
  region.block_->devices = &devices;
  region.block_->owned = true;
  return region;
}

Result<Region> Region::view_device(DeviceMemory& devices, int device, std::span<std::byte> bytes) {
  const auto id = devices.buffer_id(device, bytes.data());
  if (!id) return fail(id.error());
  Region region = view(bytes, MemoryKind::kCuda, device);
  region.block_->devices = &devices;
  region.block_->buffer_id = *id;
  return region;
}

bool Region::unchanged() const {
  if (!block_ || block_->devices == nullptr || block_->owned) return true;
  return block_->devices->buffer_id(device(), data()).value_or(0) == block_->buffer_id;
}

std::byte* Region::data() const noexcept { return block_ ? block_->base : nullptr; }

std::uint64_t Region::size() const noexcept { return block_ ? block_->bytes : 0; }

MemoryKind Region::kind() const noexcept { return block_ ? block_->kind : MemoryKind::kHost; }

int Region::device() const noexcept { return block_ ? block_->device : -1; }

DeviceMemory* Region::devices() const noexcept { return block_ ? block_->devices : nullptr; }

bool Region::in_use() const noexcept { return block_ != nullptr && block_->pins.count() > 0; }

bool Region::contains(std::uint64_t offset, std::uint64_t length) const noexcept {
  return offset <= size() && length <= size() - offset;
}

}  // namespace framewire::transport
