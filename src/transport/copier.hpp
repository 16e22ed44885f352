// Copies by a kernel that stays for the next copy: the host's side of a mailbox.
#pragma once

#include <base/clock.hpp>
#include <cstdint>
#include <framewire/status.hpp>
#include <optional>
#include <transport/mailbox.hpp>

namespace framewire::transport {

/// Whether a kernel stays when it has made the copy that it was launched for.
enum class Stay {
  kNo,      ///< it ends
  kNarrow,  ///< it waits for the next; few threads, for small copies
  kWide,    ///< the same, for copies of any size
};

/// Launches copy kernels; CUDA's implementation is in cuda/queue.cpp.
class CopyKernel {
 public:
  virtual ~CopyKernel() = default;
  /// Enqueues a kernel behind all work before it. @return device_lost
  [[nodiscard]] virtual Result<void> launch(const CopyCommand& command, Stay stay) = 0;
  /// Asks whether the device still works. @return device_lost
  [[nodiscard]] virtual Result<void> check() = 0;
};

/// When kernels stay.
struct LingerPolicy {
  unsigned linger_us = 0;          ///< for the next copy; 0: never
  std::uint64_t narrow_bytes = 0;  ///< up to which a narrow kernel takes a copy
};

/// Copies by number, from the mailbox's on. A copy that comes soon after another leaves its kernel
/// waiting for a while, and those that follow are told to it. Every copy is made once, whenever a
/// kernel leaves: it takes commands in their order, and as its last act writes which it has not
/// taken. From then on it reads none, so those are the next kernel's, which the host launches when
/// it finds that word; until then it may still be taking them. The word is read with every look for
/// what is done. So neither side needs an atomic exchange over PCIe, or a fence that orders its
/// stores before its loads.
///
/// One thread at a time.
class Copier {
 public:
  Copier(CopyKernel& kernel, const Mailbox& mailbox, const LingerPolicy& policy);

  /// Begins a copy. Waits where the ring is full, and where a large copy follows small ones, until
  /// their kernel has left. @param wanted  without number and seal
  /// @return its number; device_lost, and then for ever, as copies may be left that nobody makes
  [[nodiscard]] Result<std::uint64_t> copy(const CopyCommand& wanted);
  /// Whether a copy is done; launches what is left over. @return device_lost
  [[nodiscard]] Result<bool> done(std::uint64_t number);
  /// Whether one that is done was made; it must be among the last kMailboxSlots - 2.
  [[nodiscard]] bool made(std::uint64_t number) const;
  /// Tells the kernel that waits, if one does, to leave; does not wait for that.
  void dismiss();
  /// The same, and waits: then every copy has been launched, and what is enqueued behind them is
  /// not held up. Takes as long as the copies that the kernel has begun. @return device_lost
  [[nodiscard]] Result<void> settle();
  /// As settle(), and keeps kernels from staying for the next copies: a stream waits for this
  /// queue.
  [[nodiscard]] Result<void> rest();
  /// With the number that the next queue goes on from.
  [[nodiscard]] const Mailbox& mailbox() const { return box_; }

 private:
  [[nodiscard]] CopyCommand& slot(std::uint64_t number) const {
    return box_.h_commands[number % kMailboxSlots];
  }
  [[nodiscard]] bool known_done(std::uint64_t number) const;
  [[nodiscard]] Stay stay_for(bool narrow);
  void post(const CopyCommand& command) const;
  [[nodiscard]] Result<void> launch(const CopyCommand& command, Stay stay);
  [[nodiscard]] Result<void> make_room();
  [[nodiscard]] Result<void> look();

  CopyKernel& kernel_;
  Mailbox box_;
  LingerPolicy policy_;
  Stay stay_ = Stay::kNo;    ///< of the kernel that takes commands; kNo: none does
  std::uint64_t first_ = 0;  ///< the copy that it was launched for
  bool dismissed_ = false;
  std::optional<Status> lost_;  ///< a launch has failed
  unsigned resting_ = 0;        ///< copies that no kernel stays after
  base::Clock::time_point last_;
};

}  // namespace framewire::transport
