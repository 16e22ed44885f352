#include <algorithm>
#include <array>
#include <cmath>
#include <tests/tools/scenes.hpp>

namespace framewire::tools {
namespace {

struct Color {
  double r = 0;
  double g = 0;
  double b = 0;
};

Color mix(const Color& a, const Color& b, double t) {
  return {a.r + (b.r - a.r) * t, a.g + (b.g - a.g) * t, a.b + (b.b - a.b) * t};
}

Rgb quantise(const Color& c, double grain) {
  const auto byte = [grain](double v) {
    return static_cast<std::uint8_t>(std::clamp(std::lround(v + grain), 0L, 255L));
  };
  return {byte(c.r), byte(c.g), byte(c.b)};
}

/// A well mixed hash of a lattice point, in [0, 1). Multipliers: the 32-bit finaliser of
/// MurmurHash3.
double lattice(std::int32_t x, std::int32_t y, std::uint32_t seed) {
  std::uint32_t h = seed ^ (static_cast<std::uint32_t>(x) * 0x9E3779B1u) ^
                    (static_cast<std::uint32_t>(y) * 0x85EBCA77u);
  h = (h ^ (h >> 16)) * 0x85EBCA6Bu;
  h = (h ^ (h >> 13)) * 0xC2B2AE35u;
  return static_cast<double>(h ^ (h >> 16)) / 4294967296.0;
}

/// Value noise with smooth interpolation, in [0, 1).
double noise(double x, double y, std::uint32_t seed) {
  const double fx = std::floor(x);
  const double fy = std::floor(y);
  const auto ix = static_cast<std::int32_t>(fx);
  const auto iy = static_cast<std::int32_t>(fy);
  const auto smooth = [](double t) { return t * t * (3 - 2 * t); };
  const double u = smooth(x - fx);
  const double v = smooth(y - fy);
  const double top = std::lerp(lattice(ix, iy, seed), lattice(ix + 1, iy, seed), u);
  const double bottom = std::lerp(lattice(ix, iy + 1, seed), lattice(ix + 1, iy + 1, seed), u);
  return std::lerp(top, bottom, v);
}

/// Octaves of noise, each twice as fine and half as strong.
double fractal(double x, double y, int octaves, std::uint32_t seed) {
  double sum = 0;
  double weight = 0.5;
  for (int i = 0; i < octaves; ++i, weight /= 2, x *= 2, y *= 2) {
    sum += weight * noise(x, y, seed + static_cast<std::uint32_t>(i));
  }
  return sum;
}

/// Sensor noise of the given strength, new at each pixel.
double grain(int x, int y, double strength, std::uint32_t seed) {
  return (lattice(x, y, seed ^ 0x5EEDu) - 0.5) * strength;
}

}  // namespace

Picture hills(int width_px, int height_px, std::uint32_t seed) {
  constexpr int kLayers = 4;
  Picture picture(width_px, height_px);
  const double unit = 1.0 / height_px;
  const Color zenith{40 + 60 * lattice(1, 0, seed), 90, 170};
  const Color horizon{245, 190 + 40 * lattice(2, 0, seed), 150};
  const double sun_x = width_px * (0.2 + 0.6 * lattice(3, 0, seed));
  const double sun_y = height_px * 0.3;
  for (int x = 0; x < width_px; ++x) {
    std::array<double, kLayers> ridge{};
    for (int i = 0; i < kLayers; ++i) {
      const double coarse = fractal(x * unit * (2.0 + i), 7.0 * i, 6, seed + 31u * i);
      ridge[i] = height_px * (0.3 + 0.16 * i + 0.35 * (coarse - 0.5));
    }
    for (int y = 0; y < height_px; ++y) {
      const double sun = std::hypot(x - sun_x, y - sun_y) * unit;
      Color c = mix(zenith, horizon, std::min(1.0, 1.6 * y * unit));
      c = mix(c, {255, 250, 225}, std::exp(-60 * sun * sun));
      for (int i = 0; i < kLayers; ++i) {
        if (y < ridge[i]) continue;
        const double leaf = fractal(x * unit * 60, y * unit * 60, 3, seed + 99u + i);
        const Color far{130, 145, 175};
        const Color near{30 + 60 * leaf, 50 + 90 * leaf, 20 + 40 * leaf};
        c = mix(far, near, (i + 0.5) / kLayers);
      }
      picture.at(x, y) = quantise(c, grain(x, y, 6, seed));
    }
  }
  return picture;
}

Picture night(int width_px, int height_px, std::uint32_t seed) {
  constexpr int kLights = 60;
  Picture picture(width_px, height_px);
  for (int y = 0; y < height_px; ++y) {
    for (int x = 0; x < width_px; ++x) {
      const double haze = fractal(3.0 * x / height_px, 3.0 * y / height_px, 4, seed);
      picture.at(x, y) =
          quantise({8 + 22 * haze, 10 + 18 * haze, 20 + 40 * haze}, grain(x, y, 10, seed));
    }
  }
  for (int i = 0; i < kLights; ++i) {
    const double radius = height_px * (0.008 + 0.035 * lattice(i, 1, seed));
    const double cx = width_px * lattice(i, 2, seed);
    const double cy = height_px * (0.25 + 0.7 * lattice(i, 3, seed));
    const double hue = lattice(i, 4, seed);
    const Color light = hue < 0.5 ? mix({255, 190, 60}, {255, 40, 30}, 2 * hue)
                                  : mix({90, 180, 255}, {240, 245, 255}, 2 * hue - 1);
    const int x_end = std::min(width_px, static_cast<int>(cx + radius) + 1);
    const int y_end = std::min(height_px, static_cast<int>(cy + radius) + 1);
    for (int y = std::max(0, static_cast<int>(cy - radius)); y < y_end; ++y) {
      for (int x = std::max(0, static_cast<int>(cx - radius)); x < x_end; ++x) {
        const double distance = std::hypot(x - cx, y - cy) / radius;
        if (distance > 1) continue;
        const Rgb& old = picture.at(x, y);
        // Brighter at the rim, as an open lens draws a point out of focus.
        const Color base{double(old.r), double(old.g), double(old.b)};
        picture.at(x, y) = quantise(mix(base, light, 0.45 + 0.4 * distance * distance), 0);
      }
    }
  }
  return picture;
}

Picture page(int width_px, int height_px, std::uint32_t seed) {
  Picture picture(width_px, height_px, {246, 243, 235});
  const int em = std::max(6, height_px / 70);
  for (int line = 2; (line + 2) * em * 2 < height_px; ++line) {
    for (int column = 3; (column + 4) * em < width_px; ++column) {
      if (lattice(column, line, seed) < 0.16) continue;  // a space between words
      // A letter: strokes chosen among the sides and bars of a 3 × 3 grid.
      for (int stroke = 0; stroke < 6; ++stroke) {
        if (lattice(column * 8 + stroke, line, seed + 1) < 0.45) continue;
        const bool upright = stroke < 3;
        const int offset = (stroke % 3) * em / 3;
        const int thick = std::max(1, em / 8);
        const int x0 = column * em + (upright ? offset : 0);
        const int y0 = line * em * 2 + (upright ? 0 : offset * 2);
        const int x1 = x0 + (upright ? thick : em * 2 / 3);
        const int y1 = y0 + (upright ? em * 4 / 3 : thick);
        for (int y = y0; y < y1; ++y) {
          for (int x = x0; x < x1; ++x) picture.at(x, y) = {28, 26, 34};
        }
      }
    }
  }
  return picture;
}

Picture rings(int width_px, int height_px, std::uint32_t seed) {
  Picture picture(width_px, height_px);
  const double longest = std::hypot(width_px, height_px) / 2;
  const Color a{210, 60 + 80 * lattice(0, 0, seed), 50};
  const Color b{30, 60, 120 + 90 * lattice(0, 1, seed)};
  for (int y = 0; y < height_px; ++y) {
    for (int x = 0; x < width_px; ++x) {
      const double r = std::hypot(x - width_px / 2.0, y - height_px / 2.0);
      // The phase's derivative grows to π a pixel, the finest that pixels can carry.
      const double wave = 0.5 + 0.5 * std::cos(1.5707963267948966 * r * r / longest);
      picture.at(x, y) = quantise(mix(a, b, wave), grain(x, y, 4, seed));
    }
  }
  return picture;
}

Picture still_life(int width_px, int height_px, std::uint32_t seed) {
  constexpr int kBalls = 7;
  Picture picture(width_px, height_px);
  for (int y = 0; y < height_px; ++y) {
    for (int x = 0; x < width_px; ++x) {
      const double weave = 0.5 + 0.25 * (std::sin(x * 0.9) + std::sin(y * 0.9));
      const double fold = fractal(4.0 * x / height_px, 4.0 * y / height_px, 4, seed);
      Color c = mix({120, 95, 80}, {225, 210, 190}, 0.5 * fold + 0.3 * weave);
      for (int i = 0; i < kBalls; ++i) {
        const double radius = height_px * (0.08 + 0.12 * lattice(i, 5, seed));
        const double dx = (x - width_px * (0.1 + 0.8 * lattice(i, 6, seed))) / radius;
        const double dy = (y - height_px * (0.25 + 0.6 * lattice(i, 7, seed))) / radius;
        const double square = dx * dx + dy * dy;
        if (square > 1) continue;
        const double lit = std::max(0.0, 0.6 * std::sqrt(1 - square) - 0.4 * dx - 0.6 * dy);
        const Color dye{40 + 200 * lattice(i, 8, seed), 40 + 200 * lattice(i, 9, seed),
                        40 + 200 * lattice(i, 10, seed)};
        c = mix({12, 10, 14}, dye, std::min(1.0, 0.15 + lit));
        c = mix(c, {255, 255, 255}, 0.8 * std::pow(std::min(1.0, lit), 24.0));
      }
      picture.at(x, y) = quantise(c, grain(x, y, 8, seed));
    }
  }
  return picture;
}

}  // namespace framewire::tools
