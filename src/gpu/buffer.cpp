#include <cuda_runtime_api.h>
#include <gpu/buffer.hpp>
#include <gpu/error.hpp>
#include <gpu/pinned_pages.hpp>

namespace framewire::gpu {

void Buffer::Free::operator()(std::uint8_t* data) const noexcept {
  if (kind == BufferKind::kDevice) {
    (void)cudaFree(data);
  } else if (pages_bytes != 0) {
    free_pinned_pages(data, pages_bytes);
  } else {
    (void)cudaFreeHost(data);
  }
}

Result<Buffer> Buffer::make(BufferKind kind, std::size_t bytes) {
  Buffer buffer;
  if (kind != BufferKind::kDevice && bytes >= kMinPinnedPages) {
    if (std::uint8_t* const pages = make_pinned_pages(bytes); pages != nullptr) {
      buffer.data_ = {pages, Free{kind, bytes}};
      buffer.bytes_ = bytes;
      return buffer;
    }
  }
  void* data = nullptr;
  const unsigned flags = kind == BufferKind::kPinnedMapped ? cudaHostAllocMapped : 0u;
  const cudaError_t error =
      kind == BufferKind::kDevice ? cudaMalloc(&data, bytes) : cudaHostAlloc(&data, bytes, flags);
  const char* doing =
      kind == BufferKind::kDevice ? "allocating device memory" : "allocating pinned memory";
  if (auto ok = check(error, doing); !ok) return fail(ok.error());
  buffer.data_ = {static_cast<std::uint8_t*>(data), Free{kind, 0}};
  buffer.bytes_ = bytes;
  return buffer;
}

Result<void> Buffer::reserve(BufferKind kind, std::size_t bytes) {
  if (bytes <= bytes_) return {};
  *this = Buffer();  // first free: both at once might not fit
  auto grown = make(kind, bytes);
  if (!grown) return fail(grown.error());
  *this = std::move(*grown);
  return {};
}

void PinnedRange::Unpin::operator()(std::uint8_t* data) const noexcept {
  (void)cudaHostUnregister(data);
}

Result<PinnedRange> PinnedRange::make(std::span<std::uint8_t> memory) {
  const cudaError_t error =
      cudaHostRegister(memory.data(), memory.size(), cudaHostRegisterPortable);
  if (auto ok = check(error, "pinning memory"); !ok) {
    const bool twice = error == cudaErrorHostMemoryAlreadyRegistered;
    const bool never = error == cudaErrorInvalidValue || error == cudaErrorNotSupported;
    if (twice || never) {
      return fail(twice ? StatusCode::kInvalidInput : StatusCode::kUnsupported,
                  ok.error().message());
    }
    return fail(ok.error());
  }
  PinnedRange range;
  range.data_.reset(memory.data());
  return range;
}

}  // namespace framewire::gpu
