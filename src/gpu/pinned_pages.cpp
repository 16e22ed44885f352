#include <cuda_runtime_api.h>
#include <sys/mman.h>
#include <cerrno>
#include <gpu/pinned_pages.hpp>

namespace framewire::gpu {
namespace {

constexpr std::size_t kPage = 64 << 10;  ///< a multiple of all systems' pages
constexpr std::size_t kSmallestPage = 4096;
constexpr std::size_t kHugePage = 2 << 20;

std::size_t round_up(std::size_t bytes, std::size_t step) {
  return (bytes + step - 1) / step * step;
}

/// @return null where there is no room
std::uint8_t* map_aligned(std::size_t bytes) noexcept {
  const std::size_t room = bytes + kHugePage;
  void* const mapped =
      ::mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::uint8_t*>(mapped);
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const std::size_t before = round_up(address, kHugePage) - address;
  if (before != 0) (void)::munmap(begin, before);
  if (before != kHugePage) (void)::munmap(begin + before + bytes, kHugePage - before);
  return begin + before;
}

/// Huge pages where the system has them to give. A child that copied a page on write would leave
/// the device with the old one.
bool provide(std::uint8_t* pages, std::size_t bytes) noexcept {
  (void)::madvise(pages, bytes, MADV_HUGEPAGE);
  if (::madvise(pages, bytes, MADV_DONTFORK) != 0) return false;
#ifdef MADV_POPULATE_WRITE
  if (::madvise(pages, bytes, MADV_POPULATE_WRITE) == 0) return true;
  if (errno != EINVAL) return false;  // the system knows the word, but has no memory
#endif
  for (std::size_t at = 0; at < bytes; at += kSmallestPage) {
    *static_cast<volatile std::uint8_t*>(pages + at) = 0;
  }
  return true;
}

/// Whether kernels find them at this address.
bool pin(std::uint8_t* pages, std::size_t bytes) noexcept {
  constexpr unsigned kFlags = cudaHostRegisterPortable | cudaHostRegisterMapped;
  if (cudaHostRegister(pages, bytes, kFlags) != cudaSuccess) {
    (void)cudaGetLastError();
    return false;
  }
  void* seen = nullptr;
  if (cudaHostGetDevicePointer(&seen, pages, 0) == cudaSuccess && seen == pages) return true;
  (void)cudaGetLastError();
  (void)cudaHostUnregister(pages);
  return false;
}

}  // namespace

std::uint8_t* make_pinned_pages(std::size_t bytes) noexcept {
  const std::size_t mapped = round_up(bytes, kPage);
  std::uint8_t* const pages = map_aligned(mapped);
  if (pages == nullptr) return nullptr;
  if (provide(pages, mapped) && pin(pages, mapped)) return pages;
  (void)::munmap(pages, mapped);
  return nullptr;
}

void free_pinned_pages(std::uint8_t* pages, std::size_t bytes) noexcept {
  // Else the address may be somebody else's by now, as in a forked child, or the driver's still.
  if (cudaHostUnregister(pages) == cudaSuccess) {
    (void)::munmap(pages, round_up(bytes, kPage));
  } else {
    (void)cudaGetLastError();
  }
}

}  // namespace framewire::gpu
