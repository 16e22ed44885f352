#include <algorithm>
#include <array>
#include <color/converter.hpp>
#include <color/pixel_rows.hpp>
#include <color/profile.hpp>
#include <mutex>
#include <vector>

namespace framewire::color {
namespace {

using jpeg::ColorModel;
using plan::OutputModel;
using Byte = std::uint8_t;

/// Pixels converted at a time: interleaved scratch stays in the first-level cache.
constexpr std::int32_t kChunk = 512;

int component_count(ColorModel model) {
  switch (model) {
    case ColorModel::kGray:
      return 1;
    case ColorModel::kCmyk:
    case ColorModel::kYcck:
      return 4;
    default:
      return 3;
  }
}

int component_count(OutputModel model) {
  return model == OutputModel::kGray ? 1 : model == OutputModel::kCmyk ? 4 : 3;
}

cmsUInt32Number pixel_format(int components) {
  if (components == 1) return TYPE_GRAY_8;
  return components == 4 ? TYPE_CMYK_8 : TYPE_RGB_8;
}

}  // namespace

struct Converter::State {
  ColorModel input = ColorModel::kYcbcr;
  OutputModel output = OutputModel::kYcbcr;
  bool stored_inverted = false;  ///< Adobe's convention: 0 is full ink
  Transform transform;           ///< device to sRGB; null without a profile
  std::vector<Byte> icc;         ///< what `table` is made of
  std::once_flag table_once;
  PixelTable table;
  int device_components = 3;  ///< gray 1, RGB 3, CMYK 4 (255 = full ink)

  void load(std::span<const Byte* const> in, std::int32_t at, std::int32_t count,
            Byte* pixels) const;
  void to_device_rgb(std::int32_t count, const Byte* pixels, Byte* rgb) const;
  void store(const Byte* rgb, std::span<Byte* const> out, std::int32_t at,
             std::int32_t count) const;
  void store_cmyk(const Byte* pixels, std::span<Byte* const> out, std::int32_t at,
                  std::int32_t count) const;
};

Converter::Converter(std::unique_ptr<State> state) : state_(std::move(state)) {}
Converter::Converter(Converter&&) noexcept = default;
Converter& Converter::operator=(Converter&&) noexcept = default;
Converter::~Converter() = default;

Result<Converter> Converter::make(const jpeg::JpegFile& file, OutputModel model, bool use_icc) {
  auto state = std::make_unique<State>();
  state->input = file.color_model;
  state->output = model;
  state->stored_inverted = file.adobe_transform.has_value();
  state->device_components = component_count(file.color_model);
  if (use_icc) {
    state->icc = file.icc;
    const Profile profile = open_profile(file.icc);
    const bool gray = state->device_components == 1;
    const Profile srgb = gray ? make_srgb_gray() : make_srgb();
    if (profile && srgb) {
      state->transform.reset(
          cmsCreateTransform(profile.get(), pixel_format(state->device_components), srgb.get(),
                             gray ? TYPE_GRAY_8 : TYPE_RGB_8, INTENT_PERCEPTUAL,
                             cmsFLAGS_BLACKPOINTCOMPENSATION | cmsFLAGS_NOCACHE));
    }
    if (!state->transform) {
      return fail(StatusCode::kInvalidInput,
                  "the ICC profile cannot be turned into a transform to sRGB");
    }
  }
  return Converter(std::move(state));
}

const PixelTable* Converter::table() const {
  State& state = *state_;
  std::call_once(state.table_once, [&state] {
    if (!state.transform) return;
    if (auto made = make_pixel_table(state.icc, state.input)) state.table = std::move(*made);
  });
  return state.table.bytes.empty() ? nullptr : &state.table;
}

std::size_t Converter::max_bytes() const noexcept {
  // Bound on what the transform and its table take beside the profile. Measured, profile included:
  // 0.2 MB for curves and matrix, 2.5 and 3.2 MB for tables (test
  // CacheAttack.WhatAConverterHoldsIsCounted).
  constexpr std::size_t kTransformAndTable = 3u << 19;
  return sizeof(State) + (state_->transform ? state_->icc.size() + kTransformAndTable : 0);
}

int Converter::input_components() const noexcept { return component_count(state_->input); }
int Converter::output_components() const noexcept { return component_count(state_->output); }

/// Interleaves stored samples into device pixels: gray, RGB, or CMYK with 255 for full ink.
void Converter::State::load(std::span<const Byte* const> in, std::int32_t at, std::int32_t count,
                            Byte* pixels) const {
  if (input == ColorModel::kYcbcr) {
    return ycbcr_to_rgb_row(in[0] + at, in[1] + at, in[2] + at, pixels, count);
  }
  const auto n = static_cast<std::size_t>(device_components);
  std::array<const Byte*, 4> planes{};
  for (std::size_t c = 0; c < n; ++c) planes[c] = in[c] + at;
  Byte rgb[kChunk * 3];
  std::size_t stride = 1;  // of the first three components; the fourth is a plane of its own
  if (input == ColorModel::kYcck) {  // YCC holds the complement of the stored C, M, Y
    ycbcr_to_rgb_row(planes[0], planes[1], planes[2], rgb, count);
    for (std::int32_t i = 0; i < 3 * count; ++i) rgb[i] = static_cast<Byte>(255 - rgb[i]);
    for (std::size_t c = 0; c < 3; ++c) planes[c] = rgb + c;
    stride = 3;
  }
  const auto flip = static_cast<Byte>(n == 4 && stored_inverted ? 255 : 0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    for (std::size_t c = 0; c < n; ++c) {
      pixels[i * n + c] = static_cast<Byte>(planes[c][i * (c < 3 ? stride : 1)] ^ flip);
    }
  }
}

/// Device pixels to RGB (or gray to gray), through the profile where there is one.
void Converter::State::to_device_rgb(std::int32_t count, const Byte* pixels, Byte* rgb) const {
  if (transform) {
    cmsDoTransform(transform.get(), pixels, rgb, static_cast<cmsUInt32Number>(count));
    return;
  }
  if (device_components != 4) {
    std::copy_n(pixels, static_cast<std::ptrdiff_t>(count) * device_components, rgb);
    return;
  }
  for (std::int32_t i = 0; i < count; ++i, pixels += 4, rgb += 3) {
    for (int c = 0; c < 3; ++c) {
      rgb[c] = static_cast<Byte>(((255 - pixels[c]) * (255 - pixels[3]) + 127) / 255);
    }
  }
}

void Converter::State::store(const Byte* rgb, std::span<Byte* const> out, std::int32_t at,
                             std::int32_t count) const {
  if (device_components == 1) {
    std::copy_n(rgb, count, out[0] + at);
    return;
  }
  Byte unused[2][kChunk];
  const bool color = output == OutputModel::kYcbcr;
  rgb_to_ycbcr_row(rgb, out[0] + at, color ? out[1] + at : unused[0],
                   color ? out[2] + at : unused[1], count);
}

void Converter::State::store_cmyk(const Byte* pixels, std::span<Byte* const> out, std::int32_t at,
                                  std::int32_t count) const {
  for (std::int32_t i = 0; i < count; ++i, pixels += 4) {
    for (int c = 0; c < 4; ++c) {
      out[static_cast<std::size_t>(c)][at + i] = static_cast<Byte>(255 - pixels[c]);
    }
  }
}

void Converter::convert_row(std::span<const Byte* const> in, std::span<Byte* const> out,
                            std::int32_t width_px) const {
  Byte pixels[kChunk * 4];
  Byte rgb[kChunk * 3];
  for (std::int32_t at = 0; at < width_px; at += kChunk) {
    const std::int32_t count = std::min(kChunk, width_px - at);
    state_->load(in, at, count, pixels);
    if (state_->output == OutputModel::kCmyk) {
      state_->store_cmyk(pixels, out, at, count);
      continue;
    }
    state_->to_device_rgb(count, pixels, rgb);
    state_->store(rgb, out, at, count);
  }
}

}  // namespace framewire::color
