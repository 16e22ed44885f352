#include <algorithm>
#include <cmath>
#include <color/pixel_table.hpp>
#include <color/profile.hpp>
#include <cstring>

namespace framewire::color {
namespace {

/// What is sampled once at every node need not be resampled by LittleCMS first, as it would.
constexpr cmsUInt32Number kFlags =
    cmsFLAGS_BLACKPOINTCOMPENSATION | cmsFLAGS_NOCACHE | cmsFLAGS_NOOPTIMIZE;

Transform to_srgb(const Profile& from, cmsUInt32Number in, const Profile& to, cmsUInt32Number out) {
  if (!from || !to) return nullptr;
  return Transform(cmsCreateTransform(from.get(), in, to.get(), out, INTENT_PERCEPTUAL, kFlags));
}

template <typename T>
void store(const std::vector<T>& values, PixelTable& table) {
  table.bytes.resize(values.size() * sizeof(T));
  std::memcpy(table.bytes.data(), values.data(), table.bytes.size());
}

/// A profile with sRGB's primaries whose numbers are linear light.
Profile make_linear_srgb() {
  const cmsCIExyY white{0.3127, 0.3290, 1.0};
  const cmsCIExyYTRIPLE primaries{{0.64, 0.33, 1}, {0.30, 0.60, 1}, {0.15, 0.06, 1}};
  cmsToneCurve* curve = cmsBuildGamma(nullptr, 1.0);
  if (curve == nullptr) return nullptr;
  cmsToneCurve* curves[3] = {curve, curve, curve};
  Profile profile(cmsCreateRGBProfile(&white, &primaries, curves));
  cmsFreeToneCurve(curve);
  return profile;
}

/// Linear light of one pixel; values below 0 and above 1 are kept.
std::array<float, 3> light_of(void* transform, int r, int g, int b) {
  const float in[3] = {static_cast<float>(r) / 255.f, static_cast<float>(g) / 255.f,
                       static_cast<float>(b) / 255.f};
  std::array<float, 3> out{};
  cmsDoTransform(transform, in, out.data(), 1);
  return out;
}

/// Whether each channel adds its own light, as it does through curves and a matrix.
bool is_additive(void* transform, const std::vector<float>& light) {
  constexpr float kTolerance = 2e-4f;
  for (int r = 0; r < 256; r += 51) {
    for (int g = 0; g < 256; g += 51) {
      for (int b = 0; b < 256; b += 51) {
        const auto whole = light_of(transform, r, g, b);
        for (int k = 0; k < 3; ++k) {
          const auto at = [&](int channel, int value) {
            return light[static_cast<std::size_t>((channel * 256 + value) * 4 + k)];
          };
          const float sum = at(0, r) + at(1, g) + at(2, b);
          if (std::fabs(sum - whole[static_cast<std::size_t>(k)]) > kTolerance) return false;
        }
      }
    }
  }
  return true;
}

/// Makes the table of a profile that consists of curves and a matrix. @return whether the profile
/// is of that kind
bool make_additive(const Profile& profile, PixelTable& table) {
  const Transform transform = to_srgb(profile, TYPE_RGB_FLT, make_linear_srgb(), TYPE_RGB_FLT);
  if (!transform) return false;
  const auto black = light_of(transform.get(), 0, 0, 0);
  std::vector<float> light(3 * 256 * 4);
  for (int channel = 0; channel < 3; ++channel) {
    for (int value = 0; value < 256; ++value) {
      const auto whole = light_of(transform.get(), channel == 0 ? value : 0,
                                  channel == 1 ? value : 0, channel == 2 ? value : 0);
      for (int k = 0; k < 3; ++k) {
        const auto at = static_cast<std::size_t>(k);
        light[static_cast<std::size_t>((channel * 256 + value) * 4 + k)] =
            whole[at] - (channel == 0 ? 0.f : black[at]);
      }
    }
  }
  if (!is_additive(transform.get(), light)) return false;
  table.kind = TableKind::kAdditive;
  store(light, table);
  return true;
}

/// Samples a transform at all nodes; the last axis runs fastest.
std::vector<std::uint16_t> sample_lattice(void* transform, int axes, int nodes) {
  std::size_t count = 1;
  for (int i = 0; i < axes; ++i) count *= static_cast<std::size_t>(nodes);
  std::vector<std::uint16_t> in(count * static_cast<std::size_t>(axes));
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t rest = i;
    for (int a = axes - 1; a >= 0; --a) {
      const auto node = static_cast<double>(rest % static_cast<std::size_t>(nodes));
      rest /= static_cast<std::size_t>(nodes);
      in[i * static_cast<std::size_t>(axes) + static_cast<std::size_t>(a)] =
          static_cast<std::uint16_t>(std::lround(node * 65535.0 / (nodes - 1)));
    }
  }
  std::vector<std::uint16_t> rgb(count * 3);
  cmsDoTransform(transform, in.data(), rgb.data(), static_cast<cmsUInt32Number>(count));
  std::vector<std::uint16_t> out(count * 4);
  for (std::size_t i = 0; i < count; ++i) std::copy_n(&rgb[i * 3], 3, &out[i * 4]);
  return out;
}

/// Makes the device's white the output's, as LittleCMS does when it resamples: what is nearly white
/// on paper shall have no tint.
void fix_white(std::vector<std::uint16_t>& nodes, std::size_t white) {
  constexpr int kTooDifferent = 0xF000;
  std::uint16_t* const node = &nodes[white * 4];
  for (int k = 0; k < 3; ++k) {
    if (0xFFFF - node[k] > kTooDifferent) return;
  }
  std::fill_n(node, 3, std::uint16_t{0xFFFF});
}

Result<PixelTable> cannot() {
  return fail(StatusCode::kInvalidInput,
              "the ICC profile cannot be turned into a transform to sRGB");
}

Result<PixelTable> make_curve(std::span<const std::uint8_t> reduced) {
  const Transform transform = make_transform(reduced, 1);
  if (!transform) return cannot();
  std::vector<std::uint8_t> in(256), out(256);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint8_t>(i);
  cmsDoTransform(transform.get(), in.data(), out.data(), 256);
  PixelTable table{TableKind::kCurve, {}};
  store(out, table);
  return table;
}

}  // namespace

Result<PixelTable> make_pixel_table(std::span<const std::uint8_t> reduced, int channels) {
  if (channels == 1) return make_curve(reduced);
  const Profile profile = open_reduced_profile(reduced);
  PixelTable table;
  if (channels == 4) {
    const Transform transform = to_srgb(profile, TYPE_CMYK_16, make_srgb(), TYPE_RGB_16);
    if (!transform) return cannot();
    auto nodes = sample_lattice(transform.get(), 4, kCmykNodes);
    fix_white(nodes, 0);  // without ink
    table.kind = TableKind::kLattice4;
    store(nodes, table);
    return table;
  }
  if (profile && make_additive(profile, table)) return table;
  const Transform transform = to_srgb(profile, TYPE_RGB_16, make_srgb(), TYPE_RGB_16);
  if (!transform) return cannot();
  auto nodes = sample_lattice(transform.get(), 3, kRgbNodes);
  fix_white(nodes, nodes.size() / 4 - 1);  // all light
  table.kind = TableKind::kLattice3;
  store(nodes, table);
  return table;
}

}  // namespace framewire::color
