#include <algorithm>
#include <array>
#include <color/converter.hpp>
#include <color/pixel_rows.hpp>
#include <color/profile_tags.hpp>
#include <utility>

namespace framewire::color {
namespace {

using jpeg::ColorModel;
using plan::OutputModel;
using Byte = std::uint8_t;

/// Pixels converted at a time: interleaved scratch stays in the first-level cache.
constexpr std::int32_t kChunk = 512;

int component_count(OutputModel model) {
  return model == OutputModel::kGray ? 1 : model == OutputModel::kCmyk ? 4 : 3;
}

void store_cmyk(const Byte* pixels, std::span<Byte* const> out, std::int32_t at,
                std::int32_t count) {
  for (std::int32_t i = 0; i < count; ++i, pixels += 4) {
    for (int c = 0; c < 4; ++c) {
      out[static_cast<std::size_t>(c)][at + i] = static_cast<Byte>(255 - pixels[c]);
    }
  }
}

}  // namespace

Converter::Converter(const jpeg::JpegFile& file, OutputModel model,
                     std::shared_ptr<const ProfileConversion> conversion) noexcept
    : input_(file.color_model),
      output_(model),
      stored_inverted_(file.adobe_transform.has_value()),
      device_components_(device_channels(file.color_model)),
      conversion_(std::move(conversion)) {}

Result<Converter> Converter::make(const jpeg::JpegFile& file, OutputModel model, bool use_icc) {
  if (!use_icc) return Converter(file, model);
  auto reduced = reduce_profile(file.icc);
  if (!reduced) return fail(reduced.error());
  auto conversion = std::make_shared<const ProfileConversion>(std::move(*reduced),
                                                              device_channels(file.color_model));
  if (auto ok = conversion->prepare(Side::kHost); !ok) return fail(ok.error());
  return Converter(file, model, std::move(conversion));
}

const PixelTable* Converter::table() const { return conversion_ ? conversion_->table() : nullptr; }

int Converter::input_components() const noexcept { return device_components_; }
int Converter::output_components() const noexcept { return component_count(output_); }

/// Interleaves stored samples into device pixels: gray, RGB, or CMYK with 255 for full ink.
void Converter::load(std::span<const Byte* const> in, std::int32_t at, std::int32_t count,
                     Byte* pixels) const {
  if (input_ == ColorModel::kYcbcr) {
    return ycbcr_to_rgb_row(in[0] + at, in[1] + at, in[2] + at, pixels, count);
  }
  const auto n = static_cast<std::size_t>(device_components_);
  std::array<const Byte*, 4> planes{};
  for (std::size_t c = 0; c < n; ++c) planes[c] = in[c] + at;
  Byte rgb[kChunk * 3];
  std::size_t stride = 1;  // of the first three components; the fourth is a plane of its own
  if (input_ == ColorModel::kYcck) {  // YCC holds the complement of the stored C, M, Y
    ycbcr_to_rgb_row(planes[0], planes[1], planes[2], rgb, count);
    for (std::int32_t i = 0; i < 3 * count; ++i) rgb[i] = static_cast<Byte>(255 - rgb[i]);
    for (std::size_t c = 0; c < 3; ++c) planes[c] = rgb + c;
    stride = 3;
  }
  const auto flip = static_cast<Byte>(n == 4 && stored_inverted_ ? 255 : 0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    for (std::size_t c = 0; c < n; ++c) {
      pixels[i * n + c] = static_cast<Byte>(planes[c][i * (c < 3 ? stride : 1)] ^ flip);
    }
  }
}

/// Device pixels to RGB (or gray to gray), through the profile where there is one.
void Converter::to_device_rgb(std::int32_t count, const Byte* pixels, Byte* rgb) const {
  if (conversion_) return conversion_->to_srgb(pixels, rgb, count);
  if (device_components_ != 4) {
    std::copy_n(pixels, static_cast<std::ptrdiff_t>(count) * device_components_, rgb);
    return;
  }
  for (std::int32_t i = 0; i < count; ++i, pixels += 4, rgb += 3) {
    for (int c = 0; c < 3; ++c) {
      rgb[c] = static_cast<Byte>(((255 - pixels[c]) * (255 - pixels[3]) + 127) / 255);
    }
  }
}

void Converter::store(const Byte* rgb, std::span<Byte* const> out, std::int32_t at,
                      std::int32_t count) const {
  if (device_components_ == 1) {
    std::copy_n(rgb, count, out[0] + at);
    return;
  }
  Byte unused[2][kChunk];
  const bool color = output_ == OutputModel::kYcbcr;
  rgb_to_ycbcr_row(rgb, out[0] + at, color ? out[1] + at : unused[0],
                   color ? out[2] + at : unused[1], count);
}

void Converter::convert_row(std::span<const Byte* const> in, std::span<Byte* const> out,
                            std::int32_t width_px) const {
  Byte pixels[kChunk * 4];
  Byte rgb[kChunk * 3];
  for (std::int32_t at = 0; at < width_px; at += kChunk) {
    const std::int32_t count = std::min(kChunk, width_px - at);
    load(in, at, count, pixels);
    if (output_ == OutputModel::kCmyk) {
      store_cmyk(pixels, out, at, count);
      continue;
    }
    to_device_rgb(count, pixels, rgb);
    store(rgb, out, at, count);
  }
}

}  // namespace framewire::color
