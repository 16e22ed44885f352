#include <gpu/error.hpp>
#include <gpu/memory_pool.hpp>
#include <utility>

namespace framewire::gpu {

Result<MemoryPool> MemoryPool::make(std::uint64_t kept_bytes) {
  int device = 0;
  int supported = 0;
  if (auto ok = check(cudaGetDevice(&device), "asking for the device"); !ok) {
    return fail(ok.error());
  }
  const cudaError_t asked =
      cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device);
  if (auto ok = check(asked, "asking for memory pools"); !ok) return fail(ok.error());
  if (supported == 0) return fail(StatusCode::kUnsupported, "this device has no memory pools");
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = device;
  cudaMemPool_t made = nullptr;
  if (auto ok = check(cudaMemPoolCreate(&made, &properties), "making a memory pool"); !ok) {
    return fail(ok.error());
  }
  MemoryPool pool(made);
  const cudaError_t set =
      cudaMemPoolSetAttribute(made, cudaMemPoolAttrReleaseThreshold, &kept_bytes);
  if (auto ok = check(set, "setting what a memory pool keeps"); !ok) return fail(ok.error());
  return pool;
}

StreamBuffer& StreamBuffer::operator=(StreamBuffer&& other) noexcept {
  if (this == &other) return *this;
  release();
  pool_ = std::move(other.pool_);
  own_ = std::move(other.own_);
  pooled_ = std::exchange(other.pooled_, nullptr);
  stream_ = std::exchange(other.stream_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

std::uint8_t* StreamBuffer::data() const noexcept {
  return pool_ == nullptr ? own_.data() : pooled_;
}

void StreamBuffer::release() noexcept {
  if (pooled_ != nullptr) (void)cudaFreeAsync(std::exchange(pooled_, nullptr), stream_);
  own_ = Buffer();
  bytes_ = 0;
}

Result<void> StreamBuffer::reserve(std::size_t bytes, const Stream& stream) {
  if (bytes <= bytes_) return {};
  release();  // first: both at once might not fit
  if (pool_ == nullptr) {
    if (auto ok = own_.reserve(BufferKind::kDevice, bytes); !ok) return ok;
  } else {
    void* taken = nullptr;
    stream_ = stream.get();
    const cudaError_t error = cudaMallocFromPoolAsync(&taken, bytes, pool_->get(), stream_);
    if (auto ok = check(error, "allocating device memory"); !ok) return ok;
    pooled_ = static_cast<std::uint8_t*>(taken);
    // Copies come in a stream of their own (gpu/copy_streams.hpp).
    if (auto ok = stream.synchronise(); !ok) return ok;
  }
  bytes_ = bytes;
  return {};
}

}  // namespace framewire::gpu
