// Messages back and forth over a channel, timed; both ends run the same code.
#pragma once

#include <array>
#include <chrono>
#include <connection/place.hpp>
#include <cstdint>
#include <framewire/status.hpp>
#include <framewire/transport.hpp>
#include <string>
#include <vector>

namespace framewire::app {

enum class PerfTest : std::uint8_t { kLatency, kBandwidth, kBothWays };

inline constexpr std::uint64_t kMaxMessageBytes = std::uint64_t{1} << 30;

/// One row of a measurement, as the client tells the server.
struct PerfRow {
  PerfTest test = PerfTest::kLatency;
  bool verify = false;           ///< checksum every message
  bool pauses = true;            ///< each window waits until all of the one before are confirmed
  std::uint64_t size_bytes = 0;  ///< of a message, 1 to kMaxMessageBytes
  std::uint32_t rounds = 0;      ///< timed; a round is a message there and back, or a window
  std::uint32_t skipped = 0;     ///< before, not timed
  std::uint32_t window = 1;      ///< messages of a round; 1 for latency
};
inline constexpr std::size_t kPerfRowBytes = 24;
[[nodiscard]] std::array<std::byte, kPerfRowBytes> encode(const PerfRow& row);
/// @return invalid_input for what is out of range
[[nodiscard]] Result<PerfRow> decode_perf_row(std::span<const std::byte> bytes);

/// How many rounds OSU's benchmarks measure of a message of this size. Source: OSU Micro-Benchmarks
/// 7, option defaults; large means more than 8,192 bytes.
[[nodiscard]] PerfRow osu_row(PerfTest test, std::uint64_t size_bytes, std::uint32_t window);

/// Memory of one end: the message that is sent, then slots that receive.
class PerfMemory {
 public:
  /// @return busy
  [[nodiscard]] static Result<PerfMemory> make(std::uint64_t largest_bytes,
                                               const MemoryPlace& place = {});
  [[nodiscard]] const transport::Region& region() const { return region_; }
  /// Host memory for an announcement.
  [[nodiscard]] const transport::Region& head() const { return head_; }
  /// Slots that fit: as many as the row's window, but of large messages only some, to stay in the
  /// caches.
  [[nodiscard]] std::uint32_t slots(const PerfRow& row) const;
  [[nodiscard]] std::uint64_t slot(std::uint32_t index, std::uint64_t size_bytes) const;

 private:
  transport::Region region_;
  transport::Region head_;
  std::uint64_t largest_bytes_ = 0;
};

/// How long each message, and each lease for one, is waited for.
inline constexpr std::chrono::milliseconds kPerfPatience{10'000};

/// Runs one row. A message counts as delivered once the receiver has confirmed it.
/// @param client    who begins, and whose times are wanted
/// @param patience  with a peer that offers no memory
/// @return microseconds of each timed round, in order; peer_lost, deadline, io_error (verify)
[[nodiscard]] Result<std::vector<double>> run_row(
    transport::Channel& channel, PerfMemory& memory, const PerfRow& row, bool client,
    std::chrono::milliseconds patience = kPerfPatience);

/// Tells the server what comes next. @return as run_row()
[[nodiscard]] Result<void> announce(transport::Channel& channel, PerfMemory& memory,
                                    const PerfRow& row);
/// Waits for an announcement, at most an hour. @return peer_lost once the client has left
[[nodiscard]] Result<PerfRow> await_row(transport::Channel& channel, PerfMemory& memory);

}  // namespace framewire::app
