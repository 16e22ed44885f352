#include <cmath>
#include <color/tone_curve.hpp>
#include <jpeg/bytes.hpp>

namespace framewire::color {
namespace {

constexpr std::uint32_t kCurv = 0x63757276;
constexpr std::uint32_t kPara = 0x70617261;
constexpr std::size_t kHeadBytes = 12;  ///< before a curve's entries or parameters

/// Below this LittleCMS takes the scale of a parametric curve for 0.
constexpr double kMinScale = 1e-4;

double fixed_16_16(std::span<const std::uint8_t> tag, std::size_t at) {
  return static_cast<double>(static_cast<std::int32_t>(jpeg::read_u32(tag, at))) / 65536.0;
}

double power_of_positive(double base, double exponent) {
  return base > 0 ? std::pow(base, exponent) : 0;
}

}  // namespace

std::optional<ToneCurve> ToneCurve::read(std::span<const std::uint8_t> tag) {
  constexpr std::array<std::size_t, 5> kParameters{1, 3, 4, 5, 7};
  if (tag.size() < kHeadBytes) return std::nullopt;
  ToneCurve curve;
  if (jpeg::read_u32(tag, 0) == kCurv) {
    const std::size_t count = jpeg::read_u32(tag, 8);
    if (count > (tag.size() - kHeadBytes) / 2) return std::nullopt;
    if (count >= 2) {
      curve.entries_ = tag.subspan(kHeadBytes, 2 * count);
      return curve;
    }
    curve.kind_ = 0;
    curve.parameters_[0] = count == 0 ? 1.0 : jpeg::read_u16(tag, kHeadBytes) / 256.0;
    return curve;
  }
  if (jpeg::read_u32(tag, 0) != kPara) return std::nullopt;
  const std::size_t kind = jpeg::read_u16(tag, 8);
  if (kind >= kParameters.size() || tag.size() < kHeadBytes + 4 * kParameters[kind]) {
    return std::nullopt;
  }
  curve.kind_ = static_cast<int>(kind);
  for (std::size_t i = 0; i < kParameters[kind]; ++i) {
    curve.parameters_[i] = fixed_16_16(tag, kHeadBytes + 4 * i);
  }
  const bool scaled = kind == 1 || kind == 2;
  if (scaled && std::fabs(curve.parameters_[1]) < kMinScale) return std::nullopt;
  return curve;
}

float ToneCurve::at(float x) const {
  return kind_ < 0 ? interpolate(x) : static_cast<float>(parametric(static_cast<double>(x)));
}

std::uint16_t ToneCurve::entry(std::size_t index) const {
  return jpeg::read_u16(entries_, 2 * index);
}

/// Between two entries in 16.16, as LinLerp1D in LittleCMS.
float ToneCurve::interpolate(float x) const {
  const double scaled = static_cast<double>(x) * 65535.0 + 0.5;
  const std::int64_t in = scaled <= 0         ? 0
                          : scaled >= 65535.0 ? 65535
                                              : static_cast<std::int64_t>(scaled);
  const auto last = static_cast<std::int64_t>(entries_.size() / 2) - 1;
  std::uint16_t out = 0;
  if (in == 65535) {
    out = entry(static_cast<std::size_t>(last));
  } else {
    const std::int64_t product = last * in;
    const std::int64_t fixed = product + (product + 0x7FFF) / 0xFFFF;
    const auto cell = static_cast<std::size_t>(fixed >> 16);
    const std::int64_t rest = fixed & 0xFFFF;
    const std::int64_t low = entry(cell);
    const std::int64_t high = entry(cell + 1);
    out = static_cast<std::uint16_t>(low + (((high - low) * rest + 0x8000) >> 16));
  }
  return static_cast<float>(out / 65535.0);
}

double ToneCurve::parametric(double x) const {
  const auto& [g, a, b, c, d, e, f] = parameters_;
  switch (kind_) {
    case 0:
      return std::pow(x, g);
    case 1:
      return x >= -b / a ? power_of_positive(a * x + b, g) : 0;
    case 2: {
      if (x < std::fmax(-b / a, 0)) return c;
      const double base = a * x + b;
      return base > 0 ? std::pow(base, g) + c : 0;
    }
    case 3:
      return x >= d ? power_of_positive(a * x + b, g) : x * c;
    default:
      return x >= d ? power_of_positive(a * x + b, g) + e : x * c + f;
  }
}

}  // namespace framewire::color
