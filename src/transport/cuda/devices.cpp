#include <cuda.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <array>
#include <cstring>
#include <deque>
#include <gpu/device.hpp>
#include <gpu/error.hpp>
#include <gpu/on_device.hpp>
#include <map>
#include <mutex>
#include <string>
#include <transport/cuda/devices.hpp>
#include <transport/cuda/driver.hpp>
#include <transport/cuda/nvlink.hpp>
#include <transport/cuda/pinned_pool.hpp>
#include <transport/cuda/queue.hpp>
#include <transport/cuda/shared_memory.hpp>
#include <utility>
#include <vector>

namespace framewire::transport::cuda {
namespace {

struct Facts {
  DeviceId id{};
  std::array<char, 32> address{};
};

// What it takes until a device's own work sees what a network card has written to its memory.
// Source: CUDA Runtime API Reference, cudaDeviceFlushGPUDirectRDMAWrites().
enum class Settling : std::uint8_t { kNeedless, kFlush, kImpossible };

Settling settling_of(int device) {
  int order = 0;
  int options = 0;
  const bool known = cudaDeviceGetAttribute(&order, cudaDevAttrGPUDirectRDMAWritesOrdering,
                                            device) == cudaSuccess &&
                     cudaDeviceGetAttribute(&options, cudaDevAttrGPUDirectRDMAFlushWritesOptions,
                                            device) == cudaSuccess;
  (void)cudaGetLastError();
  if (known && order >= cudaGPUDirectRDMAWritesOrderingOwner) return Settling::kNeedless;
  const bool by_host = known && (options & cudaFlushGPUDirectRDMAWritesOptionHost) != 0;
  return by_host ? Settling::kFlush : Settling::kImpossible;
}

// Zeroes memory of the current device, and waits for that.
Result<void> zero(std::byte* memory, std::size_t bytes) {
  const auto stream = gpu::Stream::make();
  if (!stream) return fail(stream.error());
  if (auto good = gpu::check(cudaMemsetAsync(memory, 0, bytes, stream->get()), "zeroing memory");
      !good) {
    return good;
  }
  return stream->synchronise();
}

class CudaDevices final : public DeviceMemory {
 public:
  explicit CudaDevices(std::vector<Facts> facts) : facts_(std::move(facts)) {
    for (int i = 0; i < count(); ++i) {
      pools_.emplace_back(i);
      settling_.push_back(settling_of(i));
    }
  }

  int count() const noexcept override { return static_cast<int>(facts_.size()); }
  DeviceId id(int device) const override { return facts_.at(static_cast<std::size_t>(device)).id; }

  Reach reach(int from, int to) override {
    if (from == to) return Reach::kSame;
    const std::lock_guard lock(mutex_);
    const auto known = reach_.find({from, to});
    if (known != reach_.end()) return known->second;
    return reach_[{from, to}] = find_reach(from, to);
  }

  Result<std::byte*> allocate(int device, std::size_t bytes) override {
    const gpu::OnDevice on(device);
    void* memory = nullptr;
    if (auto good = gpu::check(cudaMalloc(&memory, bytes), "allocating a region"); !good) {
      (void)cudaGetLastError();
      return fail(good.error());
    }
    if (auto good = zero(static_cast<std::byte*>(memory), bytes); !good) {
      (void)cudaFree(memory);
      return fail(good.error());
    }
    return static_cast<std::byte*>(memory);
  }
  void release(int device, std::byte* memory) noexcept override {
    const gpu::OnDevice on(device);
    (void)cudaFree(memory);
  }
  Result<std::byte*> allocate_pinned(std::size_t bytes) override { return pinned_.take(bytes); }
  void release_pinned(std::byte* memory) noexcept override { pinned_.give_back(memory); }

  Result<std::byte*> pin(std::byte* memory, std::size_t bytes) override {
    constexpr unsigned kFlags = cudaHostRegisterPortable | cudaHostRegisterMapped;
    void* address = nullptr;
    auto good = gpu::check(cudaHostRegister(memory, bytes, kFlags), "pinning shared memory");
    if (!good) {
      (void)cudaGetLastError();
      return fail(good.error());
    }
    good = gpu::check(cudaHostGetDevicePointer(&address, memory, 0), "mapping shared memory");
    if (good) return static_cast<std::byte*>(address);
    unpin(memory);
    return fail(good.error());
  }
  void unpin(std::byte* memory) noexcept override { (void)cudaHostUnregister(memory); }

  Result<void> settle_writes(int device) override {
    const Settling way = settling_.at(static_cast<std::size_t>(device));
    if (way == Settling::kNeedless) return {};
    if (way == Settling::kImpossible) {
      return fail(StatusCode::kUnsupported,
                  fmt::format("GPU {} has no order with a network card's writes, and the host "
                              "cannot bring it about",
                              device));
    }
    const gpu::OnDevice on(device);
    return gpu::check(
        cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTargetCurrentDevice,
                                           cudaFlushGPUDirectRDMAWritesToOwner),
        "making a network card's writes seen");
  }
  void run_on(int device, const std::function<void()>& work) override {
    const gpu::OnDevice on(device);
    (void)cudaSetDevice(device);  // a thread that has never used CUDA has no context
    work();
  }

  Result<std::uint64_t> buffer_id(int device, const std::byte* memory) const override {
    const auto& driver = Driver::get();
    if (!driver) return fail(driver.error());
    std::array<CUpointer_attribute, 2> wanted{CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                              CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    unsigned long long id = 0;
    int ordinal = -1;
    std::array<void*, 2> values{&id, &ordinal};
    const auto address = static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(memory));
    const gpu::OnDevice on(device);
    const CUresult result = driver->attributes(2, wanted.data(), values.data(), address);
    if (result == CUDA_SUCCESS && id != 0 && ordinal == device) return std::uint64_t{id};
    return fail(StatusCode::kInvalidInput,
                fmt::format("memory that is none of device {}'s", device));
  }

  Result<std::unique_ptr<SharedMemory>> share(int device, std::size_t bytes) override {
    const gpu::OnDevice on(device);
    if (auto ready = gpu::free_bytes(); !ready) return fail(ready.error());  // makes the context
    auto memory = make_shared(device, bytes);
    if (!memory) return fail(memory.error());
    // All that is exported, which is more than was asked for.
    if (auto good = zero((*memory)->data(), (*memory)->bytes()); !good) return fail(good.error());
    return memory;
  }
  Result<std::unique_ptr<SharedMemory>> import(int owner, int user, int fd,
                                               std::size_t bytes) override {
    const gpu::OnDevice on(user);
    if (auto ready = gpu::free_bytes(); !ready) return fail(ready.error());
    return import_shared(owner, user, fd, bytes);
  }
  Result<std::unique_ptr<CopyQueue>> make_queue(int device) override {
    return make_copy_queue(pools_.at(static_cast<std::size_t>(device)));
  }
  Result<std::unique_ptr<Mark>> mark(int device, CudaStream stream) override {
    return make_mark(stream, pools_.at(static_cast<std::size_t>(device)));
  }

 private:
  Reach find_reach(int from, int to) const {
    int can = 0;
    if (cudaDeviceCanAccessPeer(&can, from, to) != cudaSuccess || can == 0) return Reach::kNone;
    const gpu::OnDevice on(from);
    const cudaError_t enabled = cudaDeviceEnablePeerAccess(to, 0);
    (void)cudaGetLastError();
    if (enabled != cudaSuccess && enabled != cudaErrorPeerAccessAlreadyEnabled) return Reach::kNone;
    const auto address = [&](int device) {
      return facts_[static_cast<std::size_t>(device)].address.data();
    };
    return joined_by_nvlink(address(from), address(to)) ? Reach::kNvlink : Reach::kP2p;
  }

  std::vector<Facts> facts_;
  PinnedPool pinned_;
  std::deque<Pools> pools_;  ///< by device; they do not move
  std::vector<Settling> settling_;
  std::mutex mutex_;
  std::map<std::pair<int, int>, Reach> reach_;
};

Result<DeviceMemory*> make() {
  const auto listed = gpu::list_devices();
  if (!listed) return fail(listed.error());
  std::vector<Facts> facts;
  for (const gpu::DeviceFacts& device : *listed) {
    cudaDeviceProp properties{};
    Facts& one = facts.emplace_back();
    if (auto good = gpu::check(cudaGetDeviceProperties(&properties, device.ordinal),
                               "reading a device's properties");
        !good) {
      return fail(good.error());
    }
    std::memcpy(one.id.data(), properties.uuid.bytes, one.id.size());
    (void)cudaDeviceGetPCIBusId(one.address.data(), static_cast<int>(one.address.size()),
                                device.ordinal);
  }
  return new CudaDevices(std::move(facts));  // never destroyed; see the header
}

}  // namespace

Result<DeviceMemory*> devices() {
  static const Result<DeviceMemory*> made = make();
  return made;
}

}  // namespace framewire::transport::cuda
