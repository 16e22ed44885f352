#include <atomic>
#include <base/file_descriptor.hpp>
#include <transport/peer/words.hpp>
#include <utility>

namespace framewire::transport::peer {
namespace {

constexpr std::size_t kBytes = 4096;
constexpr std::size_t kApart = 64;  // a cache line each
static_assert(32 * kApart <= kBytes);

}  // namespace

Result<std::unique_ptr<Words>> Words::make(DeviceMemory& devices) {
  auto memory = shared::SealedMemory::make(kBytes);
  if (!memory) return fail(memory.error());
  const auto pinned = devices.pin(memory->data(), kBytes);
  if (!pinned) return fail(pinned.error());
  std::unique_ptr<Words> words(new Words);
  words->memory_ = std::move(*memory);
  words->devices_ = &devices;
  words->device_ = *pinned;
  return words;
}

Result<std::unique_ptr<Words>> Words::open(const base::FileDescriptor& file) {
  auto memory = shared::SealedMemory::open(file, kBytes, false);
  if (!memory) return fail(memory.error());
  std::unique_ptr<Words> words(new Words);
  words->memory_ = std::move(*memory);
  return words;
}

Words::~Words() {
  if (devices_ != nullptr) devices_->unpin(memory_.data());
}

std::uint64_t* Words::device_word(unsigned slot) const {
  return reinterpret_cast<std::uint64_t*>(device_ + slot * kApart);
}

std::uint64_t Words::read(unsigned slot) const {
  auto* word = reinterpret_cast<std::uint64_t*>(memory_.data() + slot * kApart);
  return std::atomic_ref(*word).load(std::memory_order_acquire);
}

}  // namespace framewire::transport::peer
