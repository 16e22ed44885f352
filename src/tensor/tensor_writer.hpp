// From samples of 8 bits to the elements of a batch: normalised, turned, and in the batch's layout.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <framewire/tensor.hpp>
#include <span>
#include <vector>

namespace framewire::tensor {

[[nodiscard]] std::uint64_t element_bytes(TensorType type) noexcept;
/// Which channel of a picture with `available` ones an output channel shows; −1: the middle of the
/// range, chroma of gray.
[[nodiscard]] int source_channel(TensorColor color, int channel, int available) noexcept;
/// 1 for gray, otherwise 3.
[[nodiscard]] int channel_count(TensorColor color) noexcept;

/// A resized picture, not yet turned: what channels exist, and where.
struct TensorPicture {
  std::array<const std::uint8_t*, 3> channels{};  ///< [height_px][pitch] each
  int channel_count = 1;                          ///< 1: gray
  std::size_t pitch = 0;
  std::int32_t width_px = 0;
  std::int32_t height_px = 0;
  int orientation = 1;  ///< that shows it upright
};

/// Writes pictures into a batch. Every element is looked up: a sample has 256 values, so that each
/// channel's normalised ones are computed, and rounded to the element's type, once.
class TensorWriter {
 public:
  /// @param options  checked
  explicit TensorWriter(const TensorOptions& options);

  /// @param picture  turned it has the options' size
  /// @param out      host, one image of the batch
  void write(const TensorPicture& picture, bool flip, void* out) const;
  /// [channels][256] elements: what each sample of a channel becomes.
  [[nodiscard]] std::span<const std::byte> tables() const noexcept;

 private:
  template <typename T>
  void write_as(const TensorPicture& picture, bool flip, T* out,
                const std::vector<T>& tables) const;

  std::int32_t width_px_;
  std::int32_t height_px_;
  TensorType type_;
  TensorLayout layout_;
  TensorColor color_;
  std::vector<std::uint8_t> bytes_;  ///< [channels][256], of the type in use
  std::vector<std::uint16_t> halves_;
  std::vector<float> floats_;
};

}  // namespace framewire::tensor
