#include <algorithm>
#include <cstring>
#include <tensor/float16.hpp>
#include <tensor/tensor_writer.hpp>
#include <transform/orient.hpp>

namespace framewire::tensor {
namespace {

constexpr std::size_t kValues = 256;

/// How a pixel of the output moves through the picture's samples.
struct Walk {
  std::ptrdiff_t begin;
  std::ptrdiff_t step_x;
  std::ptrdiff_t step_y;
};

Walk make_walk(const TensorPicture& picture, int orientation) {
  const auto at = [&](std::int32_t x, std::int32_t y) {
    const auto place =
        transform::stored_position(orientation, {x, y}, picture.width_px, picture.height_px);
    return static_cast<std::ptrdiff_t>(place.y) * static_cast<std::ptrdiff_t>(picture.pitch) +
           place.x;
  };
  // Positions are linear in x and y, also beyond the picture's edges.
  return {at(0, 0), at(1, 0) - at(0, 0), at(0, 1) - at(0, 0)};
}

template <typename T>
void write_row(const std::uint8_t* from, std::ptrdiff_t step, const T* table, T* to,
               std::ptrdiff_t stride, std::int32_t count) {
  if (step == 1 && stride == 1) {
    for (std::int32_t x = 0; x < count; ++x) to[x] = table[from[x]];
    return;
  }
  for (std::int32_t x = 0; x < count; ++x, from += step, to += stride) *to = table[*from];
}

}  // namespace

std::uint64_t element_bytes(TensorType type) noexcept {
  switch (type) {
    case TensorType::kUint8:
      return 1;
    case TensorType::kFloat16:
    case TensorType::kBfloat16:
      return 2;
    case TensorType::kFloat32:
      return 4;
  }
  return 4;
}

int source_channel(TensorColor color, int channel, int available) noexcept {
  if (available == 1) return color == TensorColor::kYcbcr && channel > 0 ? -1 : 0;
  return color == TensorColor::kBgr ? 2 - channel : channel;
}

int channel_count(TensorColor color) noexcept { return color == TensorColor::kGray ? 1 : 3; }

TensorWriter::TensorWriter(const TensorOptions& options)
    : width_px_(options.width_px),
      height_px_(options.height_px),
      type_(options.type),
      layout_(options.layout),
      color_(options.color) {
  for (std::size_t c = 0; c < static_cast<std::size_t>(channel_count(color_)); ++c) {
    for (std::size_t sample = 0; sample < kValues; ++sample) {
      const auto value = static_cast<float>(
          (static_cast<double>(sample) / 255.0 - static_cast<double>(options.mean[c])) /
          static_cast<double>(options.stddev[c]));
      switch (type_) {
        case TensorType::kUint8:
          bytes_.push_back(static_cast<std::uint8_t>(sample));
          break;
        case TensorType::kFloat16:
          halves_.push_back(to_float16(value));
          break;
        case TensorType::kBfloat16:
          halves_.push_back(to_bfloat16(value));
          break;
        case TensorType::kFloat32:
          floats_.push_back(value);
          break;
      }
    }
  }
}

std::span<const std::byte> TensorWriter::tables() const noexcept {
  if (!bytes_.empty()) return std::as_bytes(std::span(bytes_));
  return halves_.empty() ? std::as_bytes(std::span(floats_)) : std::as_bytes(std::span(halves_));
}

template <typename T>
void TensorWriter::write_as(const TensorPicture& picture, bool flip, T* out,
                            const std::vector<T>& tables) const {
  const int orientation = flip ? transform::mirrored(picture.orientation) : picture.orientation;
  const Walk walk = make_walk(picture, orientation);
  const int channels = channel_count(color_);
  const bool planar = layout_ == TensorLayout::kNchw;
  const std::ptrdiff_t stride = planar ? 1 : channels;
  const auto row_elements = static_cast<std::size_t>(width_px_) * static_cast<std::size_t>(stride);
  const std::size_t plane_elements =
      planar ? static_cast<std::size_t>(width_px_) * static_cast<std::size_t>(height_px_) : 1;
  for (int c = 0; c < channels; ++c) {
    const T* table = tables.data() + static_cast<std::size_t>(c) * kValues;
    const int source = source_channel(color_, c, picture.channel_count);
    const std::uint8_t middle = 128;
    T* to = out + static_cast<std::size_t>(c) * plane_elements;
    for (std::int32_t y = 0; y < height_px_; ++y, to += row_elements) {
      if (source < 0) {
        write_row(&middle, 0, table, to, stride, width_px_);
      } else {
        const std::uint8_t* from =
            picture.channels[static_cast<std::size_t>(source)] + walk.begin + y * walk.step_y;
        write_row(from, walk.step_x, table, to, stride, width_px_);
      }
    }
  }
}

void TensorWriter::write(const TensorPicture& picture, bool flip, void* out) const {
  switch (type_) {
    case TensorType::kUint8:
      return write_as(picture, flip, static_cast<std::uint8_t*>(out), bytes_);
    case TensorType::kFloat16:
    case TensorType::kBfloat16:
      return write_as(picture, flip, static_cast<std::uint16_t*>(out), halves_);
    case TensorType::kFloat32:
      return write_as(picture, flip, static_cast<float*>(out), floats_);
  }
}

}  // namespace framewire::tensor
