// Brings the chain of an AC scan (ac_chain.hpp) what it reads.
#pragma once

#include <cuda_runtime_api.h>
#include <base/host_device.hpp>
#include <codec/cuda/decode/ac_descriptors.hpp>
#include <codec/cuda/decode/chain_store.hpp>
#include <codec/cuda/decode/progress.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

/// Brings words and histories to chains: each chain has `share` lanes of the warp for that, which
/// load in one call what they store in the next, so that nobody waits for memory. Histories of
/// first scans come while those are decoded, maybe on another multiprocessor.
template <bool kRefines>
class ChainFeed {
 public:
  using Store = ChainStore<kRefines>;
  /// Lanes of a chain at most.
  static constexpr std::uint32_t kMaxShare = 8;
  static_assert(Store::kWords - 4 * kMaxShare + 1 >= Store::kSureWords);
  /// Histories that a lane brings at a time: where 16 chains share a warp, one for each round.
  static constexpr std::uint32_t kHistoriesPerLane = 2;

  /// @param before  the chain whose history this one needs; null for that of first scans, or none
  /// @param part    of this lane, below `share`
  FW_HD ChainFeed(const AcScanDesc& scan, std::uint32_t blocks, Store& store, const Store* before,
                  std::uint32_t part, std::uint32_t share)
      : words_(scan.words),
        histories_(scan.before),
        awaits_(scan.awaits),
        awaited_(part == 0 && before == nullptr ? scan.awaited : 0),
        word_count_(scan.word_count),
        blocks_(blocks),
        store_(store),
        before_(before),
        part_(part),
        share_(share),
        least_(blocks) {}

  /// Stores what load() has loaded.
  FW_HD void store() {
    if (has_words_) {
      const std::uint32_t at = (words_in_ + 4 * part_) % Store::kWords;
      const std::uint32_t words[] = {loaded_words_.x, loaded_words_.y, loaded_words_.z,
                                     loaded_words_.w};
      for (std::uint32_t i = 0; i < 4; ++i) store_.words[at + i] = words[i];
      if (at == 0) store_.words[Store::kWords] = words[0];
      words_in_ += 4 * share_;
    }
    for (std::uint32_t i = 0; i < kHistoriesPerLane; ++i) {
      const std::uint32_t at = kHistoriesPerLane * part_ + i;
      if (at >= new_histories_) continue;
      store_.histories[(histories_in_ + at) % Store::kHistories] = loaded_histories_[i];
    }
    histories_in_ += new_histories_;
    if (part_ != 0) return;
    store_.words_in = words_in_;
    store_.histories_in = histories_in_;
    if (asks_) look_at_answer();
  }
  /// Loads what there is room for. The chain has told where it is, and all lanes have stored.
  FW_HD void load() {
    has_words_ = words_in_ + 4 * share_ <= store_.bit / 32 + Store::kWords;
    const std::uint32_t word = words_in_ + 4 * part_;
    loaded_words_ = {};
    if (has_words_ && word < word_count_) {
      loaded_words_ = *reinterpret_cast<const uint4*>(words_ + word);
    }
    new_histories_ = 0;
    if (histories_ == nullptr) return;
    asks_ = awaited_ != 0 && known_before_ != blocks_;
    if (asks_) answer_ = load_relaxed(awaits_ + turn_);
    const std::uint32_t known = before_ != nullptr ? before_->known : store_.known_before;
    const std::uint32_t end = smaller(known, store_.block + Store::kHistories);
    if (end <= histories_in_) return;
    new_histories_ = smaller(end - histories_in_, kHistoriesPerLane * share_);
    for (std::uint32_t i = 0; i < kHistoriesPerLane; ++i) {
      const std::uint32_t at = kHistoriesPerLane * part_ + i;
      if (at < new_histories_) loaded_histories_[i] = load_relaxed(histories_ + histories_in_ + at);
    }
  }

 private:
  FW_HD static std::uint32_t smaller(std::uint32_t a, std::uint32_t b) { return a < b ? a : b; }
  /// First scans are asked by turns how far they are. None goes back, so that the least of a round
  /// of answers holds.
  FW_HD void look_at_answer() {
    least_ = smaller(least_, answer_);
    if (++turn_ < awaited_) return;
    store_.known_before = known_before_ = least_;
    least_ = blocks_;
    turn_ = 0;
  }

  const std::uint32_t* words_;
  const unsigned long long* histories_;
  const std::uint32_t* awaits_;
  const std::uint32_t awaited_;
  const std::uint32_t word_count_;
  const std::uint32_t blocks_;
  Store& store_;
  const Store* before_;
  const std::uint32_t part_;
  const std::uint32_t share_;
  std::uint32_t words_in_ = 0;
  std::uint32_t histories_in_ = 0;
  bool asks_ = false;
  std::uint32_t turn_ = 0;    ///< which of those awaited is asked
  std::uint32_t answer_ = 0;  ///< of that one
  std::uint32_t least_;       ///< of the answers of this round
  std::uint32_t known_before_ = 0;
  bool has_words_ = false;
  std::uint32_t new_histories_ = 0;
  uint4 loaded_words_{};
  unsigned long long loaded_histories_[kHistoriesPerLane]{};
};

}  // namespace framewire::codec::cuda
