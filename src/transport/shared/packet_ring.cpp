#include "transport/shared/packet_ring.hpp"
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <new>
#include <utility>

namespace framewire::transport::shared {

Result<RingReader> RingReader::make(const RingKey& key) {
  auto memory = SealedMemory::make(sizeof(RingLayout));
  if (!memory) return fail(memory.error());
  RingReader reader;
  reader.memory_ = std::move(*memory);
  reader.ring_ = new (reader.memory_.data()) RingLayout;  // zeroed, and stays so
  reader.ring_->magic = RingLayout::kMagic;
  reader.ring_->key = key;
  return reader;
}

RingPlace RingReader::place() const noexcept {
  return {static_cast<std::uint32_t>(::getpid()), memory_.fd()};
}

// By the way that UCX opens its segments: the kernel lets those at another process' descriptors who
// may read its memory as a debugger would.
Result<RingWriter> RingWriter::open(const RingPlace& place, const RingKey& key) {
  // Looked at before it is opened: to open some files is to do something.
  const auto path = fmt::format("/proc/{}/fd/{}", place.process, place.file);
  const wire::Socket found(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat facts {};
  if (found.fd() < 0 || ::fstat(found.fd(), &facts) != 0) {
    return fail(StatusCode::kUnsupported,
                "the system does not let this process at the peer's memory");
  }
  if (!S_ISREG(facts.st_mode) || facts.st_size != static_cast<off_t>(sizeof(RingLayout))) {
    return fail(StatusCode::kInvalidInput, "the peer's memory holds no ring");
  }
  const wire::Socket file(
      ::open(fmt::format("/proc/self/fd/{}", found.fd()).c_str(), O_RDWR | O_CLOEXEC));
  if (file.fd() < 0) {
    return fail(StatusCode::kUnsupported,
                "the system does not let this process at the peer's memory");
  }
  auto memory = SealedMemory::open(file, sizeof(RingLayout), true);
  if (!memory) return fail(memory.error());
  RingWriter writer;
  writer.memory_ = std::move(*memory);
  writer.ring_ = reinterpret_cast<RingLayout*>(writer.memory_.data());
  if (writer.ring_->magic != RingLayout::kMagic || writer.ring_->key != key) {
    return fail(StatusCode::kInvalidInput, "the peer's memory holds no ring of this connection");
  }
  return writer;
}

}  // namespace framewire::transport::shared
