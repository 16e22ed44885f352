// Into how short pieces a batch's entropy-coded data is cut: many and short ones where a batch is
// too small to fill the device otherwise.
#pragma once

#include <array>
#include <codec/cuda/decode/entropy_layout.hpp>
#include <codec/cuda/tuning.hpp>
#include <cstddef>
#include <cstdint>

namespace framewire::codec::cuda {

/// Every size that choose_layout() may choose, and for how much entropy-coded data; the first for
/// Tuning::lone_images or fewer alone.
struct SubsequenceSize {
  std::uint32_t bytes;
  std::uint64_t below_bytes;
};
[[nodiscard]] constexpr std::array<SubsequenceSize, 4> subsequence_sizes(const Tuning& tuning) {
  return {{{tuning.lone_subsequence_bytes, tuning.lone_batch_bytes},
           {tuning.tiny_subsequence_bytes, tuning.tiny_batch_bytes},
           {tuning.small_subsequence_bytes, tuning.small_batch_bytes},
           {kMaxSubsequenceBytes, UINT64_MAX}}};
}

/// Measured (H200, 373 KB images, one stream; synchronise and write, µs an image): at 12 images 34
/// with 64 bytes and one a thread, 47 with 128, 89 with 256 and four a thread; at 64 images 13 with
/// 128 instead of 19 with 256; at 512 it is 7.8 instead of 7.1. Where several streams fill the
/// device, that surplus counts earlier: batches of 64 on 12 streams decode 73,400 images/s with 256
/// and 63,500 with 128.
/// One image alone (H100, from bytes to bytes, medians over 12 images at 1920×1080 and at
/// 1280×720, of three runs; bytes of a subsequence / bits of warm-up): 64/1024 336 and 307 µs;
/// 32/1024 323 and 280; 32/768 304 and 265; 32/512 302 and 267, but 82 µs of repair where the
/// largest picture needs it. In another run 32/512 made 305 and 260, 32/256 351 and 300, 16/512 316
/// and 270.
/// @param entropy_bytes  of the whole batch
[[nodiscard]] constexpr EntropyLayout choose_layout(const Tuning& tuning,
                                                    std::uint64_t entropy_bytes,
                                                    std::size_t images) {
  EntropyLayout layout{
      kMaxSubsequenceBytes, kSyncShare,          tuning.warm_bits,    0,
      tuning.sync_rounds,   tuning.chain_rounds, tuning.chain_length, tuning.many_scans};
  const auto set = [&](std::uint32_t bytes, std::uint32_t warm_bits, std::uint32_t traced) {
    layout.subsequence_bytes = bytes;
    layout.sync_share = 1;
    layout.warm_bits = warm_bits;
    layout.traced = traced;
  };
  if (entropy_bytes < tuning.lone_batch_bytes && images <= tuning.lone_images) {
    set(tuning.lone_subsequence_bytes, tuning.lone_warm_bits, 1);
  } else if (entropy_bytes < tuning.tiny_batch_bytes) {
    set(tuning.tiny_subsequence_bytes, tuning.tiny_warm_bits, 1);
  } else if (entropy_bytes < tuning.small_batch_bytes) {
    set(tuning.small_subsequence_bytes, tuning.small_warm_bits, 0);
  }
  return layout;
}

}  // namespace framewire::codec::cuda
