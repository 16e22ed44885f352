// How a kernel that runs already is told what to copy: a ring of commands in pinned host memory,
// and words in which the kernel answers. Copier is the host's side, cuda/copy_kernel.cu the other.
//
// A command is read by several loads that need not see it whole, so it carries a seal over itself
// and its number: what is stale in part, or altogether, does not fit. There is no other flag.
#pragma once

#include <base/host_device.hpp>
#include <cstddef>
#include <cstdint>

namespace framewire::transport {

/// Slots of the ring. A command waits until the one before it in its slot is done; a copy also
/// until the slot behind its own is free, so that the kernel can always be told to leave.
inline constexpr unsigned kMailboxSlots = 64;

/// A copy, or, where all but number and seal is zero, that the kernel shall leave. No constructor:
/// kernels keep it in shared memory.
struct CopyCommand {
  std::uint64_t to;
  std::uint64_t from;
  std::uint64_t bytes;
  std::uint64_t tell;      ///< a word of host memory for the copy's number; 0 for none
  std::uint64_t arrivals;  ///< words of device memory, see below; 0 for none
  std::uint64_t expected;  ///< how many those are, times 2^32, plus what they hold at last
  std::uint64_t number;
  std::uint64_t seal;
  [[nodiscard]] FW_HD bool leave() const { return (to | from | bytes) == 0; }
  /// Whether the copy's bytes arrive by another copy, which tells of them in `arrivals`; else it is
  /// this one that tells there.
  [[nodiscard]] FW_HD bool awaits() const { return static_cast<std::uint32_t>(expected) != 0; }
  [[nodiscard]] FW_HD unsigned words() const { return static_cast<unsigned>(expected >> 32); }
};
inline constexpr unsigned kCommandWords = 8;

/// Fits one place of a sequence only. Each step is one to one in what it adds, so that a command
/// with one word of another never fits; with more it does once in 2^64. Zero fits no place but 0.
[[nodiscard]] FW_HD inline std::uint64_t seal_of(const CopyCommand& command, std::uint64_t place) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15U;
  std::uint64_t seal = place * kOdd;
  seal = (seal ^ command.to) * kOdd;
  seal = (seal ^ command.from) * kOdd;
  seal = (seal ^ command.bytes) * kOdd;
  seal = (seal ^ command.tell) * kOdd;
  seal = (seal ^ command.arrivals) * kOdd;
  seal = (seal ^ command.expected) * kOdd;
  seal = (seal ^ command.number) * kOdd;
  return seal ^ seal >> 32;
}

/// What a slot of `h_done` holds at the end of a copy: its number, and whether it was made. One
/// whose bytes did not arrive is not.
[[nodiscard]] FW_HD inline std::uint64_t done_word(std::uint64_t number, bool made) {
  return 2 * number + (made ? 0 : 1);
}

/// The memory of one ring; a view. Numbers go on rising when another queue uses it again.
struct Mailbox {
  CopyCommand* h_commands = nullptr;  ///< pinned, [kMailboxSlots] by number; the host writes
  std::uint64_t* h_done = nullptr;    ///< pinned, [kMailboxSlots]: done_word() of the last copy
  std::uint64_t* h_left = nullptr;    ///< pinned: the first number that no kernel so far has taken
  CopyCommand* d_relayed =
      nullptr;                   ///< device, [kMailboxSlots]: from the first block to the others
  unsigned* d_blocks = nullptr;  ///< device, [kMailboxSlots]: that are done, plus 2^16 for each
                                 ///< whose bytes did not arrive; zero between copies
  std::uint64_t number = 0;      ///< of the last command
};

}  // namespace framewire::transport
