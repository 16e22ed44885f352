#include "transport/region.hpp"
#include <fmt/format.h>
#include <sys/mman.h>
#include <algorithm>
#include <mutex>
#include <utility>

namespace framewire::transport {

// Slots are mostly offered in order, and used up in order: both ends are looked at first.
Pins::Parts::iterator Pins::first_ending_after(std::uint64_t offset) {
  const auto begin = written_.begin() + static_cast<std::ptrdiff_t>(first_);
  if (begin == written_.end() || written_.back().end <= offset) return written_.end();
  if (begin->end > offset) return begin;
  return std::partition_point(begin, written_.end(),
                              [&](const Part& part) { return part.end <= offset; });
}

bool Pins::hold(std::uint64_t offset, std::uint64_t length, bool write, const Region& owner) {
  const std::lock_guard lock(lock_);
  if (length > 0 && !add(offset, length, write)) return false;
  if (holds_++ == 0) owner_ = owner;
  return true;
}

bool Pins::add(std::uint64_t offset, std::uint64_t length, bool write) {
  const std::uint64_t end = offset + length;
  const auto place = first_ending_after(offset);
  if (place != written_.end() && place->begin < end) return false;
  for (Part& part : read_) {
    if (!write && part.begin == offset && part.end == end) {
      ++part.holds;
      return true;
    }
    if (write && part.begin < end && offset < part.end) return false;
  }
  if (!write) {
    read_.push_back({offset, end, 1});
  } else if (place == written_.end()) {
    written_.push_back({offset, end, 1});
  } else {
    written_.insert(place, {offset, end, 1});
  }
  return true;
}

Region Pins::release(std::uint64_t offset, std::uint64_t length, bool write) noexcept {
  const std::lock_guard lock(lock_);
  if (length > 0) remove(offset, length, write);
  return --holds_ == 0 ? std::exchange(owner_, {}) : Region();
}

void Pins::remove(std::uint64_t offset, std::uint64_t length, bool write) noexcept {
  const auto same = [&](const Part& part) {
    return part.begin == offset && part.end == offset + length;
  };
  if (write) {
    const auto found = first_ending_after(offset);
    if (found == written_.end() || !same(*found)) return;
    // The first is only stepped over, until as many have been as are left.
    const auto index = static_cast<std::size_t>(found - written_.begin());
    if (index != first_) {
      written_.erase(found);
    } else if (++first_ * 2 >= written_.size()) {
      written_.erase(written_.begin(), written_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    return;
  }
  const auto found = std::find_if(read_.begin(), read_.end(), same);
  if (found == read_.end() || --found->holds > 0) return;
  *found = read_.back();
  read_.pop_back();
}

std::size_t Pins::count() const noexcept {
  const std::lock_guard lock(lock_);
  std::size_t count = written_.size() - first_;
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
