// Chooses how long subsequences are: long ones where the device has much to decode; many short ones
// where it would not be full otherwise.
#pragma once

#include <array>
#include <codec/cuda/decode/entropy_layout.hpp>
#include <codec/cuda/tuning.hpp>
#include <cstddef>
#include <cstdint>

namespace framewire::codec::cuda {

/// Every length that choose_layout() may choose, and below how many entropy bytes. The first is
/// only for batches of Tuning::lone_images or fewer.
struct SubsequenceSize {
  std::uint32_t bytes;
  std::uint64_t below_bytes;
};
[[nodiscard]] constexpr std::array<SubsequenceSize, 5> subsequence_sizes(const Tuning& tuning) {
  return {{{tuning.lone_subsequence_bytes, tuning.lone_batch_bytes},
           {tuning.tiny_subsequence_bytes, tuning.tiny_batch_bytes},
           {tuning.small_subsequence_bytes, tuning.small_batch_bytes},
           {tuning.medium_subsequence_bytes, tuning.medium_batch_bytes},
           {kMaxSubsequenceBytes, UINT64_MAX}}};
}

/// Chooses by what is under way on the device, the batch included, and the batch's images.
/// Measured (H200, 373 KB images, one stream; µs an image to synchronise and write):
///   batch of                             12 images   64 images   512 images
///   64 bytes, one a thread                   34
///   128 bytes                                47          13         7.8
///   256 bytes, four a thread                 89          19         7.1
/// Several streams fill the device together, so that short subsequences lose earlier: batches of 64
/// on 12 streams decode 73,400 images/s with 256 bytes and 63,500 with 128. Following candidates
/// loses most: batches of 8 on 8 streams, 1920×1080 → 480×270, made 27,200 images/s with it and
/// 38,400 without. So what counts is not the batch but all that is under way.
/// One image alone (H100; µs from bytes to bytes, medians over 12 images of three runs):
///   bytes / bits of warm-up       64/1024   32/1024   32/768   32/512
///   1920×1080                        336       323      304      302
///   1280×720                         307       280      265      267
/// 32/512 spends 82 µs on repair where the largest picture needs it. In another run:
///   bytes / bits of warm-up        32/512    32/256   16/512
///   1920×1080                        305       351      316
///   1280×720                         260       300      270
/// @param entropy_bytes  of all batches under way on the device, this one included
/// @param images         of this batch
[[nodiscard]] constexpr EntropyLayout choose_layout(const Tuning& tuning,
                                                    std::uint64_t entropy_bytes,
                                                    std::size_t images) {
  EntropyLayout layout{
      kMaxSubsequenceBytes, kSyncShare,          tuning.warm_bits,    0,
      tuning.sync_rounds,   tuning.chain_rounds, tuning.chain_length, tuning.many_scans};
  const auto set = [&](std::uint32_t bytes, std::uint32_t warm_bits, std::uint32_t enumerates) {
    layout.subsequence_bytes = bytes;
    layout.sync_share = 1;
    layout.warm_bits = warm_bits;
    layout.enumerates = enumerates;
  };
  if (entropy_bytes < tuning.lone_batch_bytes && images <= tuning.lone_images) {
    set(tuning.lone_subsequence_bytes, tuning.lone_warm_bits, 1);
  } else if (entropy_bytes < tuning.tiny_batch_bytes) {
    set(tuning.tiny_subsequence_bytes, tuning.tiny_warm_bits, 1);
  } else if (entropy_bytes < tuning.small_batch_bytes) {
    set(tuning.small_subsequence_bytes, tuning.small_warm_bits, 0);
  } else if (entropy_bytes < tuning.medium_batch_bytes) {
    set(tuning.medium_subsequence_bytes, tuning.medium_warm_bits, 0);
  }
  return layout;
}

}  // namespace framewire::codec::cuda
