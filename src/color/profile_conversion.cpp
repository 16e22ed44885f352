#include <algorithm>
#include <array>
#include <atomic>
#include <color/profile.hpp>
#include <color/profile_conversion.hpp>
#include <color/profile_tags.hpp>
#include <color/shaper.hpp>
#include <color/srgb_likeness.hpp>
#include <jpeg/bytes.hpp>
#include <mutex>
#include <optional>

namespace framewire::color {
namespace {

/// Bound on what LittleCMS' 8-bit transform holds: its lookup table of 17⁴ × 3 or 33³ × 3 samples
/// of 16 bits, curves before and behind it, and stages (test
/// CacheAttack.WhatAConverterHoldsIsCounted).
constexpr std::size_t kTransformBytes = 1u << 20;

// Where a profile's header (ICC.1, 7.2) has its signatures. LittleCMS would give them as values of
// enumerations, which a damaged profile's are not.
constexpr std::size_t kDeviceClassOffset = 12;

std::uint32_t expected_space(int channels) {
  return channels == 1 ? cmsSigGrayData : channels == 4 ? cmsSigCmykData : cmsSigRgbData;
}

bool usable_class(std::uint32_t device) {
  return device == cmsSigInputClass || device == cmsSigDisplayClass ||
         device == cmsSigOutputClass || device == cmsSigColorSpaceClass;
}

bool has_srgb_curve(void* profile, cmsTagSignature tag) {
  const auto* curve = static_cast<const cmsToneCurve*>(cmsReadTag(profile, tag));
  return curve != nullptr &&
         is_srgb_curve([&](float x) { return cmsEvalToneCurveFloat(curve, x); });
}

bool has_srgb_primary(void* profile, std::size_t channel, cmsTagSignature tag) {
  const auto* xyz = static_cast<const cmsCIEXYZ*>(cmsReadTag(profile, tag));
  return xyz != nullptr && is_srgb_primary(channel, {xyz->X, xyz->Y, xyz->Z});
}

bool is_srgb(void* profile, int channels) {
  // A table from device to PCS overrides curves and primaries.
  if (cmsIsTag(profile, cmsSigAToB0Tag)) return false;
  if (channels == 1) return has_srgb_curve(profile, cmsSigGrayTRCTag);
  return channels == 3 && has_srgb_primary(profile, 0, cmsSigRedColorantTag) &&
         has_srgb_primary(profile, 1, cmsSigGreenColorantTag) &&
         has_srgb_primary(profile, 2, cmsSigBlueColorantTag) &&
         has_srgb_curve(profile, cmsSigRedTRCTag) && has_srgb_curve(profile, cmsSigGreenTRCTag) &&
         has_srgb_curve(profile, cmsSigBlueTRCTag);
}

}  // namespace

struct ProfileConversion::Prepared {
  struct OneSide {
    std::mutex mutex;
    std::atomic<bool> done{false};
    std::optional<Status> failed;  ///< written before `done`
  };
  std::array<OneSide, 2> sides;
  Transform transform;  ///< of the host, where no table converts there
  PixelTable table;     ///< of the device
};

int device_channels(jpeg::ColorModel model) noexcept {
  switch (model) {
    case jpeg::ColorModel::kGray:
      return 1;
    case jpeg::ColorModel::kCmyk:
    case jpeg::ColorModel::kYcck:
      return 4;
    default:
      return 3;
  }
}

ProfileConversion::ProfileConversion(std::vector<std::uint8_t> reduced, int channels)
    : reduced_(std::move(reduced)), channels_(channels) {
  reduced_.shrink_to_fit();  // kept for long
  use_ = classify();
  const bool simple = simple_.kind != TableKind::kNone;
  if (use_ == ProfileUse::kConvertible && !simple) prepared_ = std::make_unique<Prepared>();
  if (use_ != ProfileUse::kConvertible) simple_ = {};
}

ProfileConversion::~ProfileConversion() = default;

ProfileUse ProfileConversion::classify() {
  if (reduced_.size() < kProfileHeaderBytes ||
      jpeg::read_u32(reduced_, kProfileSpaceOffset) != expected_space(channels_) ||
      !usable_class(jpeg::read_u32(reduced_, kDeviceClassOffset))) {
    return ProfileUse::kUnusable;
  }
  if (auto simple = read_simple_profile(reduced_)) {
    simple_ = std::move(simple->table);
    return simple->is_srgb ? ProfileUse::kIsSrgb : ProfileUse::kConvertible;
  }
  const Profile profile = open_reduced_profile(reduced_);
  if (!profile) return ProfileUse::kUnusable;
  if (is_srgb(profile.get(), channels_)) return ProfileUse::kIsSrgb;
  if (!cmsIsIntentSupported(profile.get(), INTENT_PERCEPTUAL, LCMS_USED_AS_INPUT) &&
      !cmsIsMatrixShaper(profile.get())) {
    return ProfileUse::kUnusable;
  }
  return ProfileUse::kConvertible;
}

bool ProfileConversion::ready(Side side) const noexcept {
  return prepared_ == nullptr || prepared_->sides[static_cast<std::size_t>(side)].done;
}

Result<void> ProfileConversion::prepare(Side side) const {
  if (use_ != ProfileUse::kConvertible) {
    return fail(StatusCode::kInvalidInput, "the ICC profile is none that is converted");
  }
  if (prepared_ == nullptr) return {};
  Prepared::OneSide& state = prepared_->sides[static_cast<std::size_t>(side)];
  const std::lock_guard lock(state.mutex);
  if (!state.done) {
    if (auto made = make(side); !made) state.failed = made.error();
    state.done = true;
  }
  if (state.failed) return fail(*state.failed);
  return {};
}

Result<void> ProfileConversion::make(Side side) const {
  if (side == Side::kHost) {
    prepared_->transform = make_transform(reduced_, channels_);
    if (prepared_->transform) return {};
    return fail(StatusCode::kInvalidInput,
                "the ICC profile cannot be turned into a transform to sRGB");
  }
  auto table = make_pixel_table(reduced_, channels_);
  if (!table) return fail(table.error());
  prepared_->table = std::move(*table);
  return {};
}

void ProfileConversion::to_srgb(const std::uint8_t* pixels, std::uint8_t* out,
                                std::int32_t count) const {
  if (simple_.kind == TableKind::kShaper) {
    return shape_row(*reinterpret_cast<const ShaperTable*>(simple_.bytes.data()), pixels, out,
                     count);
  }
  if (simple_.kind == TableKind::kCurve) {
    for (std::int32_t i = 0; i < count; ++i) out[i] = simple_.bytes[pixels[i]];
    return;
  }
  if ((!ready(Side::kHost) && !prepare(Side::kHost)) || !prepared_ || !prepared_->transform) {
    if (channels_ == 1) {
      std::copy_n(pixels, count, out);
    } else {
      std::fill_n(out, std::ptrdiff_t{3} * count, std::uint8_t{0});
    }
    return;
  }
  cmsDoTransform(prepared_->transform.get(), pixels, out, static_cast<cmsUInt32Number>(count));
}

const PixelTable* ProfileConversion::table() const {
  if (simple_.kind != TableKind::kNone) return &simple_;
  if (!prepare(Side::kDevice)) return nullptr;
  return &prepared_->table;
}

std::size_t ProfileConversion::bytes() const noexcept {
  std::size_t sum = sizeof *this + reduced_.capacity() + simple_.bytes.size();
  if (prepared_ == nullptr) return sum;
  sum += sizeof *prepared_;
  if (ready(Side::kHost)) sum += kTransformBytes;
  if (ready(Side::kDevice)) sum += prepared_->table.bytes.size();
  return sum;
}

}  // namespace framewire::color
