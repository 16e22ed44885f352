#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <tests/emulation/memory.hpp>
#include <tests/emulation/streams.hpp>

namespace cuda_emulation {
namespace {

// Fills memory that nobody has written: not with zeros, so that reading it shows.
constexpr int kGarbage = 0xA5;
constexpr std::size_t kAlignment = 512;

class Allocations {
 public:
  std::uint64_t add(const void* begin, std::size_t bytes, int device, bool mapped) {
    const std::lock_guard lock(mutex_);
    const auto at = reinterpret_cast<std::uintptr_t>(begin);
    all_[at] = {at, bytes, device, ++last_id_, mapped};
    return last_id_;
  }
  void remove(const void* begin) {
    const std::lock_guard lock(mutex_);
    all_.erase(reinterpret_cast<std::uintptr_t>(begin));
  }
  Allocation find(const void* address) {
    const std::lock_guard lock(mutex_);
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    auto next = all_.upper_bound(at);
    if (next == all_.begin()) return {};
    const Allocation& one = (--next)->second;
    return at - one.begin < one.bytes ? one : Allocation{};
  }
  std::size_t used(int device) {
    const std::lock_guard lock(mutex_);
    std::size_t bytes = 0;
    for (const auto& [begin, one] : all_) bytes += one.device == device ? one.bytes : 0;
    return bytes;
  }

 private:
  std::mutex mutex_;
  std::map<std::uintptr_t, Allocation> all_;
  std::uint64_t last_id_ = 0;
};

Allocations& allocations() {
  static Allocations all;
  return all;
}

int current_device() {
  int device = 0;
  (void)cudaGetDevice(&device);
  return device;
}

cudaError_t allocate(void** memory, std::size_t bytes, int device) {
  if (memory == nullptr) return note(cudaErrorInvalidValue);
  *memory = nullptr;
  if (bytes == 0) return cudaSuccess;
  if (device != kHost && allocations().used(device) + bytes > device_bytes()) {
    return note(cudaErrorMemoryAllocation);
  }
  const std::size_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  // Tests let memory for the books run out.
  std::unique_ptr<void, decltype(&std::free)> made(std::aligned_alloc(kAlignment, whole),
                                                   &std::free);
  if (made == nullptr) return note(cudaErrorMemoryAllocation);
  std::memset(made.get(), kGarbage, bytes);
  (void)know(made.get(), bytes, device);
  *memory = made.release();
  return cudaSuccess;
}

cudaError_t release(void* memory, bool device) {
  if (memory == nullptr) return cudaSuccess;
  const Allocation found = find(memory);
  if (found.begin != reinterpret_cast<std::uintptr_t>(memory) ||
      (found.device != kHost) != device) {
    return note(cudaErrorInvalidValue);
  }
  run_everything();
  forget(memory);
  std::free(memory);
  return cudaSuccess;
}

// One side of a copy: the rows must lie in one allocation, of the kind that the copy names.
struct Side {
  const void* at;
  std::size_t pitch;
  bool must_be_device;
  bool must_be_host;

  [[nodiscard]] bool good(std::size_t width, std::size_t height) const {
    const Allocation found = find(at);
    const bool device = found.bytes != 0 && found.device != kHost;
    if (found.mapped && found.device != current_device()) return false;
    if ((must_be_device && !device) || (must_be_host && device)) return false;
    const std::size_t span = height == 0 ? 0 : (height - 1) * pitch + width;
    return found.bytes == 0 ||
           reinterpret_cast<std::uintptr_t>(at) - found.begin + span <= found.bytes;
  }
  [[nodiscard]] bool pageable() const { return find(at).bytes == 0; }
};

void copy_rows(const Side& to, const Side& from, std::size_t width, std::size_t height) {
  auto* target = static_cast<char*>(const_cast<void*>(to.at));
  const auto* source = static_cast<const char*>(from.at);
  for (std::size_t row = 0; row < height; ++row) {
    std::memmove(target + row * to.pitch, source + row * from.pitch, width);
  }
}

cudaError_t copy(Side to, Side from, std::size_t width, std::size_t height, cudaMemcpyKind kind,
                 cudaStream_t stream) {
  to.must_be_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  to.must_be_host = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost;
  from.must_be_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  from.must_be_host = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost;
  if (width == 0 || height == 0) return cudaSuccess;
  if (to.pitch < width || from.pitch < width || !to.good(width, height) ||
      !from.good(width, height)) {
    return note(cudaErrorInvalidValue);
  }
  const auto result = enqueue(stream, [=] { copy_rows(to, from, width, height); });
  // The runtime itself waits for copies of pageable memory.
  if (result == cudaSuccess && (to.pageable() || from.pageable())) {
    return cudaStreamSynchronize(stream);
  }
  return result;
}

}  // namespace

std::size_t device_bytes() {
  const char* wanted = std::getenv("FRAMEWIRE_EMULATED_BYTES");
  return wanted == nullptr ? std::size_t{4} << 30 : std::strtoull(wanted, nullptr, 10);
}
std::uint64_t know(const void* begin, std::size_t bytes, int device, bool mapped) {
  return allocations().add(begin, bytes, device, mapped);
}
void forget(const void* begin) { allocations().remove(begin); }
Allocation find(const void* address) { return allocations().find(address); }

}  // namespace cuda_emulation

using cuda_emulation::note;

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  return cuda_emulation::allocate(memory, bytes, cuda_emulation::current_device());
}
cudaError_t cudaFree(void* memory) { return cuda_emulation::release(memory, true); }
struct CUmemPoolHandle_st {
  int device;
};

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  *pool = new CUmemPoolHandle_st{properties->location.id};
  return cudaSuccess;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  delete pool;
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMallocFromPoolAsync(void** memory, std::size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t) {
  return cuda_emulation::allocate(memory, bytes, pool->device);
}
cudaError_t cudaFreeAsync(void* memory, cudaStream_t) {
  return cuda_emulation::release(memory, true);
}

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return cuda_emulation::allocate(memory, bytes, cuda_emulation::kHost);
}
cudaError_t cudaFreeHost(void* memory) { return cuda_emulation::release(memory, false); }

cudaError_t cudaHostRegister(void* memory, std::size_t bytes, unsigned) {
  if (memory == nullptr || bytes == 0) return note(cudaErrorInvalidValue);
  const auto* last = static_cast<const char*>(memory) + bytes - 1;
  if (cuda_emulation::find(memory).bytes != 0 || cuda_emulation::find(last).bytes != 0) {
    return note(cudaErrorHostMemoryAlreadyRegistered);
  }
  cuda_emulation::know(memory, bytes, cuda_emulation::kHost, false);
  return cudaSuccess;
}
cudaError_t cudaHostUnregister(void* memory) {
  cuda_emulation::run_everything();
  cuda_emulation::forget(memory);
  return cudaSuccess;
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
  const cuda_emulation::Allocation found = cuda_emulation::find(address);
  if (found.bytes == 0) {
    *attributes = {cudaMemoryTypeUnregistered, -1};
  } else if (found.device == cuda_emulation::kHost) {
    *attributes = {cudaMemoryTypeHost, 0};
  } else {
    *attributes = {cudaMemoryTypeDevice, found.device};
  }
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  *total_bytes = cuda_emulation::device_bytes();
  const auto used = cuda_emulation::allocations().used(cuda_emulation::current_device());
  *free_bytes = *total_bytes - std::min(*total_bytes, used);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return cuda_emulation::copy({to, bytes, false, false}, {from, bytes, false, false}, bytes, 1,
                              kind, stream);
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}
cudaError_t cudaMemcpyBatchAsync(void* const* to, const void* const* from, const std::size_t* bytes,
                                 std::size_t count, cudaMemcpyAttributes* attributes,
                                 std::size_t* attribute_of, std::size_t attribute_count,
                                 cudaStream_t stream) {
  if (stream == nullptr || attribute_count != 1 || attribute_of[0] != 0 ||
      attributes->srcAccessOrder != cudaMemcpySrcAccessOrderStream) {
    return note(cudaErrorInvalidValue);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (const cudaError_t error =
            cudaMemcpyAsync(to[i], from[i], bytes[i], cudaMemcpyDefault, stream);
        error != cudaSuccess) {
      return error;
    }
  }
  return cudaSuccess;
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes,
                                cudaStream_t stream) {
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  return cuda_emulation::copy({to, to_pitch, false, false}, {from, from_pitch, false, false}, width,
                              height, kind, stream);
}
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                         std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, nullptr);
}

cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  const cuda_emulation::Side side{memory, bytes, true, false};
  if (bytes == 0) return cudaSuccess;
  if (!side.good(bytes, 1)) return note(cudaErrorInvalidValue);
  return cuda_emulation::enqueue(stream, [=] { std::memset(memory, value, bytes); });
}
cudaError_t cudaMemset2D(void* memory, std::size_t pitch, int value, std::size_t width,
                         std::size_t height) {
  const cuda_emulation::Side side{memory, pitch, true, false};
  if (!side.good(width, height)) return note(cudaErrorInvalidValue);
  for (std::size_t row = 0; row < height; ++row) {
    std::memset(static_cast<char*>(memory) + row * pitch, value, width);
  }
  return cudaSuccess;
}
