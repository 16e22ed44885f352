// Devices for tests, of host memory: what a user gets is the address of a mapping that faults when
// it is touched, and only copies of the devices' own reach the bytes. Copies happen while somebody
// asks for their progress, a piece at a time, so that a test can stop in the middle of one.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <transport/device.hpp>
#include <utility>
#include <vector>

namespace framewire::transport::testing {

/// A stream: marks on it are passed when it is open.
struct FakeStream {
  bool open = true;
  int waits = 0;  ///< copies that it has been made to wait for
};

class FakeDevices final : public DeviceMemory {
 public:
  /// The process's two devices; every process names them alike.
  static FakeDevices& get();

  int count() const noexcept override { return 2; }
  DeviceId id(int device) const override;
  Reach reach(int from, int to) override;
  Result<std::byte*> allocate(int device, std::size_t bytes) override;
  void release(int device, std::byte* memory) noexcept override;
  Result<std::byte*> allocate_pinned(std::size_t bytes) override;
  void release_pinned(std::byte* memory) noexcept override;
  Result<std::byte*> pin(std::byte* memory, std::size_t bytes) override;
  Result<std::uint64_t> buffer_id(int device, const std::byte* memory) const override;
  Result<std::unique_ptr<SharedMemory>> share(int device, std::size_t bytes) override;
  Result<std::unique_ptr<SharedMemory>> import(int owner, int user, int fd,
                                               std::size_t bytes) override;
  Result<std::unique_ptr<CopyQueue>> make_queue(int device) override;
  Result<std::unique_ptr<Mark>> mark(int device, CudaStream stream) override;

  Result<void> settle_writes(int device) override;

  /// A network card has written that; copies find it once the writes have been settled.
  void write_unsettled(std::byte* to, std::vector<std::byte> bytes);
  /// What one question after progress copies, at most; 0 stops all copies.
  void set_pace(std::uint64_t bytes) { pace_ = bytes; }
  [[nodiscard]] std::uint64_t pace() const { return pace_; }
  /// How often a copy whose bytes are on their way looks for them before it gives up.
  void set_patience(unsigned looks) { patience_ = looks; }
  [[nodiscard]] unsigned patience() const { return patience_; }
  /// Copies that have waited for their bytes, by whether those came in time; none after the call.
  [[nodiscard]] std::pair<unsigned, unsigned> take_arrivals() {
    return {came_.exchange(0), given_up_.exchange(0)};
  }
  void count_arrival(bool came) { ++(came ? came_ : given_up_); }
  /// From now on every copy fails, as on a device that has gone.
  void set_lost(bool lost) { lost_ = lost; }
  [[nodiscard]] bool lost() const { return lost_; }
  /// Whether a card's writes can be settled.
  void set_settles(bool settles) { settles_ = settles; }
  void set_reach(Reach reach) { reach_ = reach; }
  /// Allocations, pinned ones included, that have not been released.
  [[nodiscard]] std::size_t alive() const;

  /// The address that may be touched; the same for host memory. Null past the end of what is known.
  [[nodiscard]] std::byte* inside(const std::byte* memory, std::uint64_t bytes) const;

 private:
  struct Block {
    std::byte* within = nullptr;  ///< the mapping that can be touched
    std::size_t bytes = 0;
    std::uint64_t id = 0;
    int fd = -1;
  };
  friend class FakeShared;
  friend class OpenDevices;
  Result<std::byte*> map(int fd, std::size_t bytes);
  int unmap(std::byte* memory) noexcept;

  mutable std::mutex mutex_;
  std::map<const std::byte*, Block> blocks_;  ///< by the address that users get
  std::vector<std::pair<std::byte*, std::vector<std::byte>>> unsettled_;
  int open_ = 0;
  std::size_t pinned_ = 0;
  std::uint64_t next_id_ = 1;
  std::uint64_t pace_ = std::uint64_t{1} << 20;
  unsigned patience_ = 2;
  std::atomic<unsigned> came_ = 0;
  std::atomic<unsigned> given_up_ = 0;
  bool lost_ = false;
  bool settles_ = true;
  Reach reach_ = Reach::kNvlink;
};

/// As long as it lives, what is allocated may be touched by anyone, such as a UCX that takes it for
/// host memory.
class OpenDevices {
 public:
  OpenDevices() { ++FakeDevices::get().open_; }
  ~OpenDevices() { --FakeDevices::get().open_; }
  OpenDevices(const OpenDevices&) = delete;
  OpenDevices& operator=(const OpenDevices&) = delete;
};

/// Leaves the devices as they were.
class WithDevices {
 public:
  WithDevices() { reset(); }
  ~WithDevices() { reset(); }
  WithDevices(const WithDevices&) = delete;
  WithDevices& operator=(const WithDevices&) = delete;
  [[nodiscard]] FakeDevices& operator*() const { return FakeDevices::get(); }
  [[nodiscard]] FakeDevices* operator->() const { return &FakeDevices::get(); }

 private:
  static void reset() {
    FakeDevices::get().set_pace(std::uint64_t{1} << 20);
    FakeDevices::get().set_patience(2);
    FakeDevices::get().set_lost(false);
    FakeDevices::get().set_settles(true);
    FakeDevices::get().set_reach(Reach::kNvlink);
  }
};

}  // namespace framewire::transport::testing
