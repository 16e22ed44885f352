// Quantisation tables by quality: T.81 tables K.1 and K.2, scaled as the IJG library scales them.
#include <algorithm>
#include <jpeg/writer.hpp>

namespace framewire::jpeg {
namespace {

using TableValues = std::array<std::uint8_t, kBlockSize>;

constexpr TableValues kLuminance = {
    16, 11, 10, 16, 24,  40,  51,  61,  12, 12, 14, 19, 26,  58,  60,  55,  //
    14, 13, 16, 24, 40,  57,  69,  56,  14, 17, 22, 29, 51,  87,  80,  62,  //
    18, 22, 37, 56, 68,  109, 103, 77,  24, 35, 55, 64, 81,  104, 113, 92,  //
    49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99};

constexpr TableValues kChrominance = {
    17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99,  //
    24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99, 99, 99, 99, 99, 99,  //
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,  //
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99};

QuantTable scaled(const TableValues& base, int percent) {
  QuantTable table;
  std::transform(base.begin(), base.end(), table.values.begin(), [percent](int value) {
    return static_cast<std::uint16_t>(std::clamp((value * percent + 50) / 100, 1, 255));
  });
  return table;
}

}  // namespace

QualityTables quality_tables(int quality) noexcept {
  const int q = std::clamp(quality, 1, 100);
  const int percent = q < 50 ? 5000 / q : 200 - 2 * q;
  return {scaled(kLuminance, percent), scaled(kChrominance, percent)};
}

}  // namespace framewire::jpeg
