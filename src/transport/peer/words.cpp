#include "transport/peer/words.hpp"
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <atomic>

namespace framewire::transport::peer {
namespace {

constexpr std::size_t kBytes = 4096;
constexpr std::size_t kApart = 64;  // a cache line each
static_assert(32 * kApart <= kBytes);
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

}  // namespace

Result<std::unique_ptr<Words>> Words::make(DeviceMemory& devices) {
  std::unique_ptr<Words> words(new Words);
  words->file_ = wire::Socket(::memfd_create("framewire", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const int fd = words->fd();
  if (fd < 0 || ::ftruncate(fd, kBytes) != 0 || ::fcntl(fd, F_ADD_SEALS, kSeals) != 0) {
    return fail(StatusCode::kBusy, "no memory to share with another process");
  }
  if (auto mapped = words->map(fd, PROT_READ | PROT_WRITE); !mapped) return fail(mapped.error());
  const auto pinned = devices.pin(static_cast<std::byte*>(words->memory_), kBytes);
  if (!pinned) return fail(pinned.error());
  words->devices_ = &devices;
  words->device_ = *pinned;
  return words;
}

Result<std::unique_ptr<Words>> Words::open(const wire::Socket& file) {
  struct stat facts {};
  struct statfs system {};
  const int seals = ::fcntl(file.fd(), F_GET_SEALS);
  // Of huge pages there may be none left when a read needs one.
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(file.fd(), &facts) != 0 ||
      facts.st_size < static_cast<off_t>(kBytes) || ::fstatfs(file.fd(), &system) != 0 ||
      system.f_type != TMPFS_MAGIC) {
    return fail(StatusCode::kInvalidInput, "no memory that stays as long as it is");
  }
  std::unique_ptr<Words> words(new Words);
  if (auto mapped = words->map(file.fd(), PROT_READ); !mapped) return fail(mapped.error());
  return words;
}

Words::~Words() {
  if (devices_ != nullptr) devices_->unpin(static_cast<std::byte*>(memory_));
  if (memory_ != nullptr) ::munmap(memory_, kBytes);
}

Result<void> Words::map(int fd, int protection) {
  void* memory = ::mmap(nullptr, kBytes, protection, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (memory == MAP_FAILED) return fail(StatusCode::kBusy, "no memory to map");
  memory_ = memory;
  return {};
}

std::uint64_t* Words::device_word(unsigned slot) const {
  return reinterpret_cast<std::uint64_t*>(device_ + slot * kApart);
}

std::uint64_t Words::read(unsigned slot) const {
  auto* word = reinterpret_cast<std::uint64_t*>(static_cast<std::byte*>(memory_) + slot * kApart);
  return std::atomic_ref(*word).load(std::memory_order_acquire);
}

}  // namespace framewire::transport::peer
