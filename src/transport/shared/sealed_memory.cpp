#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <base/file_descriptor.hpp>
#include <transport/shared/sealed_memory.hpp>
#include <utility>

namespace framewire::transport::shared {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

}  // namespace

Result<SealedMemory> SealedMemory::make(std::size_t bytes) {
  base::FileDescriptor file(::memfd_create("framewire", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.valid() || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0 ||
      ::fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) {
    return fail(StatusCode::kBusy, "no memory to share with another process");
  }
  auto memory = map(file.get(), bytes, PROT_READ | PROT_WRITE);
  if (memory) memory->file_ = std::move(file);
  return memory;
}

Result<SealedMemory> SealedMemory::open(const base::FileDescriptor& file, std::size_t bytes,
                                        bool writable) {
  struct stat facts {};
  struct statfs system {};
  // Seals first: what they promise holds for all that is looked at afterwards. Of huge pages there
  // may be none left when a read needs one.
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals || ::fstat(file.get(), &facts) != 0 ||
      !S_ISREG(facts.st_mode) || facts.st_size != static_cast<off_t>(bytes) ||
      ::fstatfs(file.get(), &system) != 0 || system.f_type != TMPFS_MAGIC) {
    return fail(StatusCode::kInvalidInput,
                "what the peer hands over is no sealed memory of the length agreed");
  }
  return map(file.get(), bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ);
}

SealedMemory::~SealedMemory() {
  if (memory_ != nullptr) ::munmap(memory_, bytes_);
}

SealedMemory& SealedMemory::operator=(SealedMemory&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

// Our seals fix the size alone, and nobody can add one that would keep the pages.
void SealedMemory::discard() noexcept { (void)::madvise(memory_, bytes_, MADV_REMOVE); }

Result<SealedMemory> SealedMemory::map(int fd, std::size_t bytes, int protection) {
  void* const at = ::mmap(nullptr, bytes, protection, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (at == MAP_FAILED) return fail(StatusCode::kBusy, "no memory to map");
  SealedMemory memory;
  memory.memory_ = static_cast<std::byte*>(at);
  memory.bytes_ = bytes;
  return memory;
}

}  // namespace framewire::transport::shared
