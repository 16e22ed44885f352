#include <cuda_runtime_api.h>
#include <gpu/error.hpp>
#include <memory>
#include <new>
#include <transport/cuda/pinned_pool.hpp>

namespace framewire::transport::cuda {
namespace {

constexpr std::size_t kMaxSpareBytes = std::size_t{64} << 20;

struct FreePinned {
  void operator()(std::byte* memory) const noexcept { (void)cudaFreeHost(memory); }
};

}  // namespace

Result<std::byte*> PinnedPool::take(std::size_t bytes) try {
  const std::lock_guard lock(mutex_);
  const auto found = spare_.lower_bound(bytes);
  // Much larger ones stay for those who need them.
  if (found != spare_.end() && found->first / 2 <= bytes) {
    const auto [size, memory] = *found;
    sizes_.emplace(memory, size);
    spare_.erase(found);
    spare_bytes_ -= size;
    return memory;
  }
  void* memory = nullptr;
  if (auto good = gpu::check(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable),
                             "allocating pinned memory");
      !good) {
    return fail(good.error());
  }
  std::unique_ptr<std::byte, FreePinned> made(static_cast<std::byte*>(memory));
  sizes_.emplace(made.get(), bytes);
  return made.release();
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, "memory ran out");
}

void PinnedPool::give_back(std::byte* memory) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    const auto out = sizes_.find(memory);
    if (out != sizes_.end()) {
      const std::size_t size = out->second;
      sizes_.erase(out);
      if (size <= kMaxSpareBytes - spare_bytes_) {
        spare_.emplace(size, memory);
        spare_bytes_ += size;
        return;
      }
    }
  } catch (const std::bad_alloc&) {
    // Freed like one too many.
  }
  FreePinned{}(memory);
}

}  // namespace framewire::transport::cuda
