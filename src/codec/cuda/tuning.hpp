// What the CUDA codec can be told without being built again. `gpu_transcode --tune key=value` sets
// one; the program uses the defaults.
#pragma once

#include <codec/cuda/tuning.h>
#include <cstdint>
#include <framewire/status.hpp>
#include <span>
#include <string_view>

namespace framewire::codec::cuda {

/// Which figures the defaults rest on: decode/choose_layout.hpp, and below.
struct Tuning {
  /// Entropy-coded bytes below which a batch gets short subsequences, very short ones, and, of as
  /// few images as lone_images, the shortest, at the cost of more work.
  std::uint32_t small_batch_bytes = 16 << 20;
  std::uint32_t tiny_batch_bytes = 4 << 20;
  std::uint32_t lone_batch_bytes = 1 << 20;
  std::uint32_t lone_images = 2;
  /// Of such batches, multiples of 16 from kMinSubsequenceBytes to kMaxSubsequenceBytes.
  std::uint32_t small_subsequence_bytes = 128;
  std::uint32_t tiny_subsequence_bytes = 64;
  std::uint32_t lone_subsequence_bytes = 32;
  /// Bits decoded before a subsequence begins, so that its first guess is usually right. Measured
  /// (H200, 16 streams with batches of 128, images/s at 1920×1080 → 480×270 and decode only; bytes
  /// of a subsequence / bits of warm-up): 256/512 90,900, 76,300; 256/1024 91,600, 76,300; 384/1024
  /// 92,100, 78,600; 512/1024 91,900, 79,900; 512/2048 92,800, 80,100.
  std::uint32_t warm_bits = 2048;
  /// The same where threads are to spare, and every round of repair is waited for.
  std::uint32_t small_warm_bits = 3072;
  /// The same where every phase is tried (trace.cu).
  std::uint32_t tiny_warm_bits = 1024;
  std::uint32_t lone_warm_bits = 768;
  /// At kMaxSubsequenceBytes: rounds of repair inside a thread block, then chains of repair between
  /// blocks; what is still wrong afterwards goes to the CPU.
  std::uint32_t sync_rounds = 32;
  std::uint32_t chain_rounds = 3;
  std::uint32_t chain_length = 32;
  /// Scans, or streams, from which on one thread block each is enough to fill a device.
  std::uint32_t many_scans = 64;
};

/// Sets the value that a text of the form key=value names.
/// @return invalid_input for a key that there is not, or a value outside what it may be; the
/// message
///         lists the keys, or the range
[[nodiscard]] Result<void> tune(Tuning& tuning, std::string_view assignment);

}  // namespace framewire::codec::cuda
