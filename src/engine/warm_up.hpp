// Batches that a lane runs before its first request.
#pragma once

#include <codec/batch_codec.hpp>
#include <codec/codec.hpp>
#include <cstdint>
#include <framewire/status.hpp>
#include <jpeg/types.hpp>
#include <plan/plan.hpp>
#include <vector>

namespace framewire::engine {

/// A made-up photograph, and what is planned for it: thumbnails, middle sizes, and nearly its own
/// size, so that every scale of decoding is met. Lanes share it; immutable.
class WarmUpPicture {
 public:
  /// @param encoder   writes the photograph
  /// @param capable   of the lanes' codec
  /// @return busy where memory ran out
  [[nodiscard]] static Result<WarmUpPicture> make(const codec::Codec& encoder,
                                                  const plan::Capabilities& capable);

  WarmUpPicture(WarmUpPicture&&) noexcept = default;
  WarmUpPicture& operator=(WarmUpPicture&&) = delete;
  WarmUpPicture(const WarmUpPicture&) = delete;
  WarmUpPicture& operator=(const WarmUpPicture&) = delete;
  ~WarmUpPicture() = default;

  /// Runs batches of it through a lane's codec: one image, a few, and as many as its memory holds,
  /// of each plan alone and of all together. Kernels are loaded, graphs instantiated and buffers
  /// touched then, which costs requests that come meanwhile tens of milliseconds. Outputs are
  /// dropped.
  /// @param max_images  of one batch
  /// @return as BatchCodec::enqueue() and wait()
  [[nodiscard]] Result<void> run(codec::BatchCodec& codec, std::size_t max_images) const;

 private:
  WarmUpPicture() = default;

  std::vector<std::uint8_t> bytes_;  ///< a complete JPEG, which file_ points into
  jpeg::JpegFile file_;
  std::vector<plan::Plan> plans_;
  std::vector<std::uint8_t> head_;  ///< of all outputs
};

}  // namespace framewire::engine
