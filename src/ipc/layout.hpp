// Where everything lies in the memory that a server and one local client share.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <framewire/status.hpp>

namespace framewire::ipc {

/// Text of one request's options; all that can be asked for together makes some 1,200 bytes.
inline constexpr std::size_t kMaxOptionsBytes = 2048;
/// Report or error of one answer. A file earns 64 warnings of some hundred bytes at most.
inline constexpr std::size_t kReportBytes = std::size_t{16} << 10;
/// Behind the last input, so that a device may copy that, too: see Engine::register_memory().
inline constexpr std::size_t kInputGuardBytes = std::size_t{16} << 10;
inline constexpr std::uint32_t kMaxSlots = 4096;
inline constexpr std::uint64_t kMaxAreaBytes = std::uint64_t{1} << 36;
/// Outputs take whole units, so that a client keeps no more of them than its memory has.
inline constexpr std::uint64_t kOutputUnitBytes = 4096;
/// Entries of a client's ring for each slot, beside one for each unit of the output area. Unread by
/// the server are at most one request a slot, two cancellations a slot (of its last two requests),
/// and one release an output: an honest client never finds the ring full.
inline constexpr std::uint32_t kSubmissionsPerSlot = 3;

/// What client and server agree on in their greeting.
struct AreaSizes {
  std::uint32_t slots = 0;         ///< requests that are unanswered, or whose answer is unread
  std::uint64_t input_bytes = 0;   ///< for inputs
  std::uint64_t output_bytes = 0;  ///< for streams
};

/// What stands at the beginning of the memory. Indices only grow; each is written by one end alone.
struct ControlBlock {
  static constexpr std::array<char, 16> kMagic{"framewire local"};
  std::array<char, 16> magic;
  alignas(64) std::atomic<std::uint64_t> submitted;  ///< by the client
  alignas(64) std::atomic<std::uint64_t> taken;      ///< by the server, of those
  alignas(64) std::atomic<std::uint64_t> completed;  ///< by the server
  alignas(64) std::atomic<std::uint64_t> received;   ///< by the client, of those
  alignas(64) std::atomic<std::uint32_t> server_sleeps;
  alignas(64) std::atomic<std::uint32_t> client_sleeps;
  alignas(64) std::atomic<std::uint32_t> draining;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// Offsets from the beginning of the memory, bytes. Both ends compute them from AreaSizes.
struct Layout {
  /// @return invalid_input for sizes that are zero, no multiples of a page, or out of bounds
  [[nodiscard]] static Result<Layout> make(const AreaSizes& sizes);

  [[nodiscard]] std::uint32_t submissions_count() const noexcept {
    return sizes.slots * kSubmissionsPerSlot +
           static_cast<std::uint32_t>(sizes.output_bytes / kOutputUnitBytes);
  }

  AreaSizes sizes;
  std::size_t submissions = 0;  ///< ring of the client's
  std::size_t completions = 0;  ///< ring of the server's
  std::size_t options = 0;      ///< [slots][kMaxOptionsBytes], written by the client
  std::size_t reports = 0;      ///< [slots][kReportBytes], written by the server
  std::size_t input = 0;        ///< input_bytes, and kInputGuardBytes behind them
  std::size_t output = 0;
  std::size_t total = 0;
};

/// Areas are whole pages.
inline constexpr std::uint64_t kPageBytes = 4096;

}  // namespace framewire::ipc
