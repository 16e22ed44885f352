#include <base/stream_copy.hpp>
#include <codec/cuda/staged_bytes.hpp>
#include <cstring>

namespace framewire::codec::cuda {

void StagedBytes::clear() {
  copies_.clear();
  once_.clear();
}

gpu::Slice<std::uint8_t> StagedBytes::add(gpu::Arena& arena, std::span<const std::uint8_t> bytes,
                                          std::uint64_t guard_bytes) {
  auto slice = arena.add<std::uint8_t>(gpu::Part::kUploaded, bytes.size() + guard_bytes,
                                       gpu::kVectorAlignment);
  slice.count = bytes.size();
  copies_.push_back({slice, bytes});
  return slice;
}

gpu::Slice<std::uint8_t> StagedBytes::add_once(gpu::Arena& arena,
                                               std::span<const std::uint8_t> bytes) {
  const auto [found, added] = once_.try_emplace(bytes.data());
  if (added) found->second = add(arena, bytes);
  return found->second;
}

// Large batches are written past the caches: 97,000 instead of 86,000 images/s of 1920×1080, and
// 194,000 instead of 176,000 of 1280×720 (H100, 16 streams; 16 cores of a Xeon with 300 MB of
// cache). The device reads a small batch at once, and caches give it faster.
void StagedBytes::write(const gpu::Memory& host, bool past_caches) const {
  for (const Copy& copy : copies_) {
    if (past_caches) {
      base::stream_copy(host.at(copy.to), copy.bytes.data(), copy.bytes.size());
    } else if (!copy.bytes.empty()) {
      std::memcpy(host.at(copy.to), copy.bytes.data(), copy.bytes.size());
    }
  }
}

}  // namespace framewire::codec::cuda
