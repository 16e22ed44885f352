// What the CUDA codec can be told without a new build. `gpu_transcode --tune key=value` sets one
// value; the program uses the defaults.
#pragma once

#include <codec/cuda/tuning.h>
#include <cstdint>
#include <framewire/status.hpp>
#include <span>
#include <string_view>

namespace framewire::codec::cuda {

/// The figures behind the defaults are in decode/choose_layout.hpp, and below.
struct Tuning {
  /// While fewer entropy bytes than these are under way on the device, a batch gets medium, small,
  /// tiny or, if it has at most lone_images images, lone subsequences: shorter ones mean more
  /// threads and more work.
  std::uint32_t medium_batch_bytes = 128 << 20;
  std::uint32_t small_batch_bytes = 64 << 20;
  std::uint32_t tiny_batch_bytes = 4 << 20;
  std::uint32_t lone_batch_bytes = 1 << 20;
  std::uint32_t lone_images = 2;
  /// Lengths of these subsequences: multiples of 16, from kMinSubsequenceBytes to
  /// kMaxSubsequenceBytes.
  std::uint32_t medium_subsequence_bytes = 256;
  std::uint32_t small_subsequence_bytes = 128;
  std::uint32_t tiny_subsequence_bytes = 64;
  std::uint32_t lone_subsequence_bytes = 32;
  /// Bits that a thread decodes before its subsequence, so that the state at its start is usually
  /// true. Measured (H200, 16 streams with batches of 128; images/s):
  ///   bytes / bits of warm-up     256/512   256/1024   384/1024   512/1024   512/2048
  ///   1920×1080 → 480×270          90,900     91,600     92,100     91,900     92,800
  ///   decoding only                76,300     76,300     78,600     79,900     80,100
  std::uint32_t warm_bits = 2048;
  /// Warm-up of medium and small subsequences: threads are to spare, and every round of repair is
  /// waited for.
  std::uint32_t medium_warm_bits = 3072;
  std::uint32_t small_warm_bits = 3072;
  /// Warm-up where all candidate states are followed.
  std::uint32_t tiny_warm_bits = 1024;
  std::uint32_t lone_warm_bits = 768;
  /// For subsequences of kMaxSubsequenceBytes: rounds of repair inside a thread block; then rounds
  /// of repair between thread blocks, and how many subsequences each goes on. An image that is
  /// still wrong goes to the CPU.
  std::uint32_t sync_rounds = 32;
  std::uint32_t chain_rounds = 3;
  std::uint32_t chain_length = 32;
  /// From this number of scans, or streams, on, one thread block each fills a device.
  std::uint32_t many_scans = 64;
  /// Engines: how many progressive images must wait for host threads before a device decodes them;
  /// how many of like size make a batch that no others join; and their bytes in one batch, of which
  /// what does not lie in pinned memory is bounded by what a lane may pin. 0 images: host threads
  /// decode all. Measured: 16 cores decode 1,000 images of 1920×1080 a second (with an H200), and a
  /// batch of files up to 0.27 MB takes 50 ms, of one image as of 512 (H100).
  std::uint32_t progressive_images = 64;
  std::uint32_t progressive_batch = 64;
  std::uint32_t progressive_batch_bytes = 320 << 20;
  /// Chains of AC scans that share a warp, 1 to 32: more of them wait for one another, fewer take
  /// more of the device's instructions. Measured (H200, 1920×1080 → 480×270, images/s, in 16
  /// streams with batches of 512; 32 of 128):
  ///   8  28,700; 23,600        16  32,800; 26,000        32  32,800; 25,400
  std::uint32_t chain_lanes = 16;
  /// Microseconds that may be spent on instantiating graphs before launches without one have earned
  /// them (gpu/graph_launcher.hpp).
  std::uint32_t graph_credit_us = 0;
};

/// Sets the value that a text of the form key=value names.
/// @return invalid_input for an unknown key, or a value out of range; the message lists the keys,
///         or the range
[[nodiscard]] Result<void> tune(Tuning& tuning, std::string_view assignment);

}  // namespace framewire::codec::cuda
