#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <tests/transport/fake_device.hpp>
#include <utility>

namespace framewire::transport::testing {
namespace {

class FakeMark final : public Mark {
 public:
  explicit FakeMark(const FakeStream* stream) : stream_(stream) {}
  bool passed() const override { return stream_->open; }

 private:
  const FakeStream* stream_;
};

class FakeQueue final : public CopyQueue {
 public:
  explicit FakeQueue(FakeDevices& devices) : devices_(devices) {}
  ~FakeQueue() override { static_cast<void>(synchronize()); }

  // Like CUDA's queue, which has a kernel for small copies between devices.
  Result<Ticket> copy_and_tell(std::byte* to, const std::byte* from, std::uint64_t bytes,
                               Sides sides, Tell& tell) override {
    if (devices_.lost()) return gone();
    if (devices_.inside(to, bytes) == nullptr || devices_.inside(from, bytes) == nullptr) {
      throw std::logic_error("a copy past the end of an allocation");
    }
    const bool tells = sides == Sides::kWithinReach && tell.word != nullptr && bytes <= kMaxTold;
    ++enqueued_;
    tell.number = tells ? enqueued_ : 0;
    tell.arrival_count = tells ? std::min(tell.max_arrivals, bytes > kFewTold ? 3U : 1U) : 0;
    Copy& copy = copies_.emplace_back(Copy{to, from, bytes});
    if (tells) copy.tell = tell;
    return enqueued_;
  }
  // Looks for the bytes whenever its turn comes, as often as the devices have patience.
  Result<Ticket> copy_on_arrival(std::byte* to, const std::byte* from, std::uint64_t bytes,
                                 const Arrival& arrival) override {
    if (devices_.lost()) return gone();
    if (bytes > kMaxTold) return Ticket{0};
    Copy& copy = copies_.emplace_back(Copy{to, from, bytes});
    copy.arrival = arrival;
    copy.patience = devices_.patience();
    return ++enqueued_;
  }
  bool gave_up(Ticket ticket) override { return std::erase(given_up_, ticket) > 0; }
  Result<Ticket> completed() override {
    if (devices_.lost()) return gone();
    move(devices_.pace());
    return completed_;
  }
  Result<void> synchronize() override {
    if (devices_.lost()) {
      copies_.clear();
      return gone();
    }
    while (!copies_.empty()) move(std::uint64_t{1} << 30);
    return {};
  }
  Result<void> precede(int, CudaStream stream) override {
    ++static_cast<FakeStream*>(stream.get())->waits;
    return {};
  }

 private:
  struct Copy {
    std::byte* to;
    const std::byte* from;
    std::uint64_t bytes;
    Tell tell{};
    Arrival arrival{};  ///< what it still waits for
    unsigned patience = 0;
  };
  static constexpr std::uint64_t kMaxTold = std::uint64_t{4} << 20;
  static constexpr std::uint64_t kFewTold = 4096;
  static tl::unexpected<Status> gone() {
    return fail(StatusCode::kDeviceLost, "the fake device is gone");
  }
  void move(std::uint64_t most) {
    while (most > 0 && !copies_.empty()) {
      Copy& copy = copies_.front();
      if (!have_arrived(copy.arrival)) {
        if (copy.patience-- > 0) return;
        given_up_.push_back(++completed_);
        devices_.count_arrival(false);
        copies_.pop_front();
        continue;
      }
      if (copy.arrival.count > 0) devices_.count_arrival(true);
      copy.arrival.count = 0;
      const auto count = std::min(most, copy.bytes);
      std::memcpy(devices_.inside(copy.to, count), devices_.inside(copy.from, count), count);
      copy.to += count;
      copy.from += count;
      copy.bytes -= count;
      most -= count;
      if (copy.bytes > 0) return;
      ++completed_;
      for (unsigned i = 0; i < copy.tell.arrival_count; ++i) {
        word(copy.tell.arrivals + i).store(completed_, std::memory_order_release);
      }
      if (copy.tell.word != nullptr) {
        std::atomic_ref(*copy.tell.word).store(completed_, std::memory_order_release);
      }
      copies_.pop_front();
    }
  }
  // A word of a device's memory, as copies read and write it.
  std::atomic_ref<std::uint64_t> word(const std::uint64_t* at) {
    auto* within = devices_.inside(reinterpret_cast<const std::byte*>(at), sizeof *at);
    if (within == nullptr) throw std::logic_error("a word past the end of an allocation");
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(within));
  }
  bool have_arrived(const Arrival& arrival) {
    for (unsigned i = 0; i < arrival.count; ++i) {
      const auto told = word(arrival.words + i).load(std::memory_order_acquire);
      if (static_cast<std::uint32_t>(told) != arrival.number) return false;
    }
    return true;
  }

  FakeDevices& devices_;
  std::deque<Copy> copies_;
  std::vector<Ticket> given_up_;
  Ticket enqueued_ = 0;
  Ticket completed_ = 0;
};

}  // namespace

// Frees its mapping; the bytes live as long as any process has them mapped.
class FakeShared final : public SharedMemory {
 public:
  FakeShared(FakeDevices& devices, std::byte* memory, std::uint64_t bytes, int fd)
      : devices_(devices), memory_(memory), bytes_(bytes), fd_(fd) {}
  ~FakeShared() override {
    const std::lock_guard lock(devices_.mutex_);
    devices_.unmap(memory_);
    if (fd_ >= 0) ::close(fd_);
  }
  std::byte* data() const noexcept override { return memory_; }
  std::uint64_t bytes() const noexcept override { return bytes_; }
  int fd() const noexcept override { return fd_; }

 private:
  FakeDevices& devices_;
  std::byte* memory_;
  std::uint64_t bytes_;
  int fd_;
};

FakeDevices& FakeDevices::get() {
  static FakeDevices devices;
  return devices;
}

DeviceId FakeDevices::id(int device) const {
  DeviceId id{};
  id[0] = static_cast<std::byte>(0xf0 + device);
  return id;
}

Reach FakeDevices::reach(int from, int to) { return from == to ? Reach::kSame : reach_; }

// Two mappings of the same bytes: one for the user, which faults unless it is open, one for copies.
Result<std::byte*> FakeDevices::map(int fd, std::size_t bytes) {
  const int access = open_ > 0 ? PROT_READ | PROT_WRITE : PROT_NONE;
  void* outside = ::mmap(nullptr, bytes, access, MAP_SHARED, fd, 0);
  void* within = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (outside == MAP_FAILED || within == MAP_FAILED) {
    return fail(StatusCode::kBusy, "no memory for the fake device");
  }
  auto* memory = static_cast<std::byte*>(outside);
  blocks_[memory] = {static_cast<std::byte*>(within), bytes, next_id_++, -1};
  return memory;
}

int FakeDevices::unmap(std::byte* memory) noexcept {
  const auto block = blocks_.find(memory);
  if (block == blocks_.end()) return -1;
  ::munmap(memory, block->second.bytes);
  ::munmap(block->second.within, block->second.bytes);
  const int fd = block->second.fd;
  blocks_.erase(block);
  return fd;
}

Result<std::byte*> FakeDevices::allocate(int, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const int fd = ::memfd_create("framewire-fake", MFD_CLOEXEC);
  if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
    return fail(StatusCode::kBusy, "no memory for the fake device");
  }
  auto memory = map(fd, bytes);
  ::close(fd);
  return memory;
}

void FakeDevices::release(int, std::byte* memory) noexcept {
  const std::lock_guard lock(mutex_);
  unmap(memory);
}

Result<std::byte*> FakeDevices::allocate_pinned(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  ++pinned_;
  return new std::byte[bytes];
}

void FakeDevices::release_pinned(std::byte* memory) noexcept {
  const std::lock_guard lock(mutex_);
  --pinned_;
  delete[] memory;
}

Result<std::byte*> FakeDevices::pin(std::byte* memory, std::size_t) { return memory; }

Result<std::uint64_t> FakeDevices::buffer_id(int, const std::byte* memory) const {
  const std::lock_guard lock(mutex_);
  auto block = blocks_.upper_bound(memory);
  if (block == blocks_.begin() || (--block)->first + block->second.bytes <= memory) {
    return fail(StatusCode::kInvalidInput, "memory that is none of the fake device's");
  }
  return block->second.id;
}

Result<std::unique_ptr<SharedMemory>> FakeDevices::share(int, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const int fd = ::memfd_create("framewire-fake", MFD_CLOEXEC);
  if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
    return fail(StatusCode::kBusy, "no memory for the fake device");
  }
  const auto memory = map(fd, bytes);
  if (!memory) return fail(memory.error());
  return std::make_unique<FakeShared>(*this, *memory, bytes, fd);
}

Result<std::unique_ptr<SharedMemory>> FakeDevices::import(int, int, int fd, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  struct stat facts {};
  if (::fstat(fd, &facts) != 0 || static_cast<std::size_t>(facts.st_size) < bytes) {
    return fail(StatusCode::kInvalidInput, "no such shared memory");
  }
  const auto memory = map(fd, bytes);
  if (!memory) return fail(memory.error());
  return std::make_unique<FakeShared>(*this, *memory, bytes, -1);
}

Result<std::unique_ptr<CopyQueue>> FakeDevices::make_queue(int) {
  return std::make_unique<FakeQueue>(*this);
}

Result<std::unique_ptr<Mark>> FakeDevices::mark(int, CudaStream stream) {
  return std::make_unique<FakeMark>(static_cast<const FakeStream*>(stream.get()));
}

void FakeDevices::write_unsettled(std::byte* to, std::vector<std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  unsettled_.emplace_back(to, std::move(bytes));
}

// Memory that has been released since is skipped.
Result<void> FakeDevices::settle_writes(int) {
  if (lost_) return fail(StatusCode::kDeviceLost, "the fake device is gone");
  if (!settles_) return fail(StatusCode::kUnsupported, "a card's writes have no order here");
  const std::lock_guard lock(mutex_);
  for (const auto& [to, bytes] : std::exchange(unsettled_, {})) {
    const auto block = blocks_.find(to);
    if (block != blocks_.end()) std::copy(bytes.begin(), bytes.end(), block->second.within);
  }
  return {};
}

std::size_t FakeDevices::alive() const {
  const std::lock_guard lock(mutex_);
  return blocks_.size() + pinned_;
}

std::byte* FakeDevices::inside(const std::byte* memory, std::uint64_t bytes) const {
  const std::lock_guard lock(mutex_);
  auto block = blocks_.upper_bound(memory);
  if (block != blocks_.begin()) {
    --block;
    const auto offset = static_cast<std::uint64_t>(memory - block->first);
    if (offset < block->second.bytes) {
      return bytes <= block->second.bytes - offset ? block->second.within + offset : nullptr;
    }
  }
  return const_cast<std::byte*>(memory);
}

}  // namespace framewire::transport::testing
