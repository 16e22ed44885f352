// A batch before it is enqueued: what each stage does to which image, and where everything lies.
#pragma once

#include <codec/cuda/decode/decode_stage.hpp>
#include <codec/cuda/encode/encode_stage.hpp>
#include <codec/cuda/item.hpp>
#include <codec/cuda/picture/picture_stage.hpp>
#include <codec/cuda/samples.hpp>
#include <codec/cuda/staged_bytes.hpp>
#include <cstdint>
#include <gpu/arena.hpp>
#include <span>
#include <vector>

namespace framewire::codec::cuda {

/// The stages' plans, their memory, and which planes and streams belong to which image.
class BatchPlan {
 public:
  explicit BatchPlan(const Tuning& tuning = {})
      : tuning_(tuning), decode_(tuning), encode_(tuning) {}
  /// Forgets the batch. Vectors keep their capacity.
  void clear(const EntropyLayout& layout);
  /// Prepares for batches of the largest kind.
  void clear() { clear(choose_layout(tuning_, UINT64_MAX, 0)); }
  /// Adds an item that check_item() accepts. @return its index
  std::uint32_t add(const Item& item);
  /// Plans what needs all items to be known; add() must not be called again before clear().
  void lay_out();
  /// Writes the part to be uploaded.
  /// @param staging  at least arena().bytes(gpu::Part::kUploaded)
  /// @param device   the batch's memory; null where nobody will read what is written
  void write(std::uint8_t* staging, std::uint8_t* device) const;

  /// Bound on the memory that a batch of the items added since clear() needs, plus what these items
  /// can need more beside other items. Sums that add() keeps; call it before lay_out().
  /// @param among_few  as in DecodeStage::shared_growth_bytes()
  [[nodiscard]] std::uint64_t bytes_alone(bool among_few) const;
  /// The same for pinned memory: what is uploaded, files that lie in pinned memory already
  /// included, and what comes back.
  [[nodiscard]] std::uint64_t pinned_bytes_alone() const;
  /// Of these, the files that lie in pinned memory already.
  [[nodiscard]] std::uint64_t in_place_bytes() const { return arena_.bytes(gpu::Part::kFetched); }
  /// Pinned memory for the records of the batch's streams, in front of the streams themselves.
  [[nodiscard]] std::uint64_t records_bytes() const;

  [[nodiscard]] std::uint32_t image_count() const noexcept { return images_; }
  [[nodiscard]] const gpu::Arena& arena() const noexcept { return arena_; }
  [[nodiscard]] const gpu::Slice<std::uint32_t>& status() const noexcept { return status_; }
  /// What an image is resampled from: decoded planes, or those that came with it.
  [[nodiscard]] std::span<const Samples> sources(std::size_t image) const {
    return std::span(sources_).subspan(first_source_[image],
                                       first_source_[image + 1] - first_source_[image]);
  }
  /// The planes of an image's output; only with a plan.
  [[nodiscard]] const PictureSamples& picture(std::size_t image) const { return pictures_[image]; }
  static constexpr std::uint32_t kNoStream = UINT32_MAX;
  [[nodiscard]] std::uint32_t stream(std::size_t image) const { return streams_[image]; }

  [[nodiscard]] DecodeStage& decode() noexcept { return decode_; }
  [[nodiscard]] const DecodeStage& decode() const noexcept { return decode_; }
  [[nodiscard]] const PictureStage& picture() const noexcept { return picture_; }
  [[nodiscard]] const EncodeStage& encode() const noexcept { return encode_; }
  /// Index in decode() of an image's first decoded plane.
  [[nodiscard]] std::uint32_t first_decoded(std::size_t image) const { return decoded_[image]; }

 private:
  [[nodiscard]] std::uint64_t list_bytes() const;

  Tuning tuning_;
  gpu::Arena arena_;
  StagedBytes bytes_;
  DecodeStage decode_;
  PictureStage picture_;
  EncodeStage encode_;
  gpu::Slice<std::uint32_t> status_;  ///< [images] StatusBit
  std::uint32_t images_ = 0;
  std::vector<Samples> sources_;
  std::vector<std::uint32_t> first_source_;  ///< [images + 1]
  std::vector<std::uint32_t> decoded_;       ///< [images]
  std::vector<PictureSamples> pictures_;     ///< [images]
  std::vector<std::uint32_t> streams_;       ///< [images] or kNoStream
};

}  // namespace framewire::codec::cuda
