// Device memory as transport sees it: an interface, so that all of transport runs and is tested
// without a GPU. CUDA's implementation is in cuda/, the tests' in tests/transport/fake_device.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <framewire/cuda_stream.hpp>
#include <framewire/status.hpp>
#include <framewire/transport/transfer.hpp>
#include <functional>
#include <memory>
#include <optional>

namespace framewire::transport {

/// A device's name that is the same in every process: its UUID.
using DeviceId = std::array<std::byte, 16>;

/// A point in a stream's work. Thread-safe.
class Mark {
 public:
  virtual ~Mark() = default;
  /// Does not block. A stream that has failed has passed every mark: its copies will fail.
  [[nodiscard]] virtual bool passed() const = 0;
};

/// Memory that two processes have mapped; unmapped on destruction. The memory itself lives until
/// the last process has unmapped it, so that letting go of it never pulls it away from the other.
class SharedMemory {
 public:
  virtual ~SharedMemory() = default;
  [[nodiscard]] virtual std::byte* data() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t bytes() const noexcept = 0;
  /// A file descriptor by which another process maps it; -1 on the side that has imported it.
  [[nodiscard]] virtual int fd() const noexcept = 0;
};

/// Numbers the copies of one queue, from 1.
using Ticket = std::uint64_t;

/// What is known of source and destination of a copy.
enum class Sides {
  kAny,          ///< device memory, imported, or host memory
  kWithinReach,  ///< the queue's device itself can touch both: neither is host memory
  kOneDevice,    ///< both are memory of the queue's own device
};

/// Words that a copy tells of its bytes.
struct Tell {
  std::uint64_t* word = nullptr;      ///< of host memory, as DeviceMemory::pin() names it
  std::uint64_t* arrivals = nullptr;  ///< of device memory, for a copy_on_arrival() there
  unsigned max_arrivals = 0;          ///< how many there are
  /// Set: what the words will hold once the bytes are in place; 0: nothing will be written. Never
  /// the same again of one queue.
  std::uint64_t number = 0;
  /// Set: how many of `arrivals` will be written, from the first on.
  unsigned arrival_count = 0;
};

/// The words by which a copy finds out, on its device, that its bytes have arrived.
struct Arrival {
  const std::uint64_t* words = nullptr;  ///< [count], of the queue's device
  unsigned count = 0;
  std::uint32_t number = 0;  ///< what all of them hold in their lower half when the bytes are there
};

/// Copies on one device, in no order, apart from every stream of the user's. It waits for nothing
/// but its own copies, so that whoever waits for it waits a bounded time. One thread at a time. The
/// destructor waits for the copies.
class CopyQueue {
 public:
  virtual ~CopyQueue() = default;
  /// Enqueues one copy. @return device_lost
  [[nodiscard]] Result<Ticket> copy(std::byte* to, const std::byte* from, std::uint64_t bytes,
                                    Sides sides) {
    Tell nobody;
    return copy_and_tell(to, from, bytes, sides, nobody);
  }
  /// The same; where it can, the copy tells others, too. @param tell  the number is set
  [[nodiscard]] virtual Result<Ticket> copy_and_tell(std::byte* to, const std::byte* from,
                                                     std::uint64_t bytes, Sides sides,
                                                     Tell& tell) = 0;
  /// Enqueues one whose bytes are on their way from another device. It waits for them on the
  /// device, with what is enqueued behind it, and gives up after some microseconds: then it is
  /// complete, and no more than a part has been copied. Both sides are within reach.
  /// @return 0 where this queue has no such copies; device_lost
  [[nodiscard]] virtual Result<Ticket> copy_on_arrival(std::byte* to, const std::byte* from,
                                                       std::uint64_t bytes,
                                                       const Arrival& arrival) {
    static_cast<void>(to);
    static_cast<void>(from);
    static_cast<void>(bytes);
    static_cast<void>(arrival);
    return Ticket{0};
  }
  /// Whether a complete copy has given up. To be asked once.
  [[nodiscard]] virtual bool gave_up(Ticket ticket) {
    static_cast<void>(ticket);
    return false;
  }
  /// The last copy that is complete with all before it; does not block.
  /// @return device_lost: then none of them touches memory any more
  [[nodiscard]] virtual Result<Ticket> completed() = 0;
  /// Waits for all of them. @return device_lost
  [[nodiscard]] virtual Result<void> synchronize() = 0;
  /// Work that is enqueued on a stream, of that device, from now on begins after the copies
  /// enqueued so far. @return device_lost
  [[nodiscard]] virtual Result<void> precede(int device, CudaStream stream) = 0;
};

/// The devices of this machine, their memory, and what copies to and from it. Thread-safe; leaves
/// the calling thread's current device as it was. Outlives every region and channel that uses it.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  /// How many devices there are; ordinals run from 0.
  [[nodiscard]] virtual int count() const noexcept = 0;
  [[nodiscard]] virtual DeviceId id(int device) const = 0;
  /// Whether a queue of `from` can write to memory of `to`; prepares the two for it.
  [[nodiscard]] virtual Reach reach(int from, int to) = 0;

  /// Zeroed. @return busy where there is not as much; device_lost
  [[nodiscard]] virtual Result<std::byte*> allocate(int device, std::size_t bytes) = 0;
  virtual void release(int device, std::byte* memory) noexcept = 0;
  /// Host memory that copy queues reach at full speed. @return busy
  [[nodiscard]] virtual Result<std::byte*> allocate_pinned(std::size_t bytes) = 0;
  virtual void release_pinned(std::byte* memory) noexcept = 0;
  /// Lets every device write to host memory that the caller has mapped.
  /// @return the address that devices use; unsupported, busy
  [[nodiscard]] virtual Result<std::byte*> pin(std::byte* memory, std::size_t bytes) {
    static_cast<void>(memory);
    static_cast<void>(bytes);
    return fail(StatusCode::kUnsupported, "host memory that devices cannot write to");
  }
  virtual void unpin(std::byte* memory) noexcept { static_cast<void>(memory); }
  /// Sees to it that copies enqueued from now on find what a network card has told the host that it
  /// has written to the device's memory. @return unsupported where the device has no way;
  /// device_lost
  [[nodiscard]] virtual Result<void> settle_writes(int device) {
    static_cast<void>(device);
    return {};
  }
  /// Runs code of others' libraries, which take the calling thread's current device for the one
  /// that they work on.
  virtual void run_on(int device, const std::function<void()>& work) {
    static_cast<void>(device);
    work();
  }
  /// Names an allocation, not its address, which may come again. @return invalid_input for memory
  /// that is none of the device's
  [[nodiscard]] virtual Result<std::uint64_t> buffer_id(int device,
                                                        const std::byte* memory) const = 0;

  /// Memory of its own, zeroed, that can be handed to one other process. The bytes may be rounded
  /// up. @return busy, unsupported, device_lost
  [[nodiscard]] virtual Result<std::unique_ptr<SharedMemory>> share(int device,
                                                                    std::size_t bytes) = 0;
  /// Maps what another process has shared.
  /// @param owner  the device it lies on; @param user  the device whose queues will write to it
  /// @param fd  stays the caller's
  /// @return invalid_input for no such memory; unsupported where `user` does not reach it
  [[nodiscard]] virtual Result<std::unique_ptr<SharedMemory>> import(int owner, int user, int fd,
                                                                     std::size_t bytes) = 0;

  [[nodiscard]] virtual Result<std::unique_ptr<CopyQueue>> make_queue(int device) = 0;
  /// Where `stream` of that device stands now. @return device_lost
  [[nodiscard]] virtual Result<std::unique_ptr<Mark>> mark(int device, CudaStream stream) = 0;
};

/// The ordinal here of a device that another process has named; -1 where it cannot be seen.
[[nodiscard]] inline int find_device(const DeviceMemory& devices, const DeviceId& id) {
  for (int i = 0; i < devices.count(); ++i) {
    if (devices.id(i) == id) return i;
  }
  return -1;
}

/// One end of an operation that is device memory; lives as long as the operation.
struct DeviceUse {
  DeviceMemory* devices = nullptr;
  int device = -1;
  std::unique_ptr<Mark> after;       ///< the memory is touched after this; null: at once
  std::optional<CudaStream> stream;  ///< of a placement: waits for what is placed
  bool ours = false;                 ///< made by DeviceMemory::allocate()
  [[nodiscard]] bool ready() const { return after == nullptr || after->passed(); }
};

/// What a queue of `device` knows of a copy between memory of its own and this. Memory that the
/// user has made may be closed to other devices whatever their reach: that of pools, or mapped.
[[nodiscard]] inline Sides sides_of(int device, const DeviceUse& use) {
  if (use.device == device) return Sides::kWithinReach;
  const bool reached = use.devices->reach(device, use.device) != Reach::kNone;
  return reached && use.ours ? Sides::kWithinReach : Sides::kAny;
}

}  // namespace framewire::transport
