// The 8×8 discrete cosine transform in double precision, and its reduced inverses.
//
// Source: ITU-T T.81 A.3.3. Every transform here is B·F·Bᵀ (inverse) or Bᵀ·f·B (forward) for a
// small matrix B[sample][frequency], so that the formula can be read off the builder of B. The
// caller builds B once and keeps it: on the stack, in a static, or in shared memory.
#pragma once

#include <base/host_device.hpp>
#include <cmath>

namespace framewire::transform {

/// Weights of the 8 frequencies of one axis in each of N output samples.
template <int N>
struct DctBasis {
  double at[N][8];
};

/// √(2/n)·C(u)·cos((2x + 1)uπ / 2n): one axis of the orthonormal n-point transform.
FW_HD inline double dct_cosine(int n, int x, int u) {
  const double scale = std::sqrt((u == 0 ? 1.0 : 2.0) / n);
  return scale * std::cos((2 * x + 1) * u * 3.14159265358979323846 / (2.0 * n));
}

/// The full 8-point transform of T.81 A.3.3.
FW_HD inline DctBasis<8> make_dct_basis() {
  DctBasis<8> basis{};
  for (int x = 0; x < 8; ++x) {
    for (int u = 0; u < 8; ++u) basis.at[x][u] = dct_cosine(8, x, u);
  }
  return basis;
}

/// The reduced inverse of a scaled decode: the N×N low-frequency corner of the block through an
/// N-point transform, scaled by N/8 in all (√(N/8) an axis). N = 8 is the full inverse.
///
/// libjpeg-turbo's own reduced inverses average full-size samples instead; docs/decisions/0002
/// measures both. A corner sample depends on the whole block, so where the picture fills only part
/// of it, the padding must first be replaced: by the last valid sample, repeated.
/// @param valid  samples of this axis that belong to the picture, 1 to 8
template <int N>
FW_HD inline DctBasis<N> make_corner_basis(int valid = 8) {
  static_assert(N >= 1 && N <= 8);
  // to_frequency · repeat · to_samples, a row of the first factor at a time.
  double repadded[N][8] = {};
  for (int v = 0; v < N; ++v) {
    for (int u = 0; u < 8; ++u) {
      for (int x = 0; x < 8; ++x) {
        repadded[v][u] += dct_cosine(8, x, v) * dct_cosine(8, x < valid ? x : valid - 1, u);
      }
    }
  }
  DctBasis<N> basis{};
  for (int x = 0; x < N; ++x) {
    for (int u = 0; u < 8; ++u) {
      for (int v = 0; v < N; ++v) {
        basis.at[x][u] += dct_cosine(N, x, v) * std::sqrt(N / 8.0) * repadded[v][u];
      }
    }
  }
  return basis;
}

/// Inverse transform of one dequantised block to N×N samples, before the level shift.
/// @param coefficients  [64] natural order; @param samples  [N][N]; may not alias
template <int N>
FW_HD inline void idct(const DctBasis<N>& across, const DctBasis<N>& down,
                       const double* coefficients, double* samples) {
  double rows[8][N];
  for (int v = 0; v < 8; ++v) {
    for (int x = 0; x < N; ++x) {
      double sum = 0.0;
      for (int u = 0; u < 8; ++u) sum += across.at[x][u] * coefficients[v * 8 + u];
      rows[v][x] = sum;
    }
  }
  for (int y = 0; y < N; ++y) {
    for (int x = 0; x < N; ++x) {
      double sum = 0.0;
      for (int v = 0; v < 8; ++v) sum += down.at[y][v] * rows[v][x];
      samples[y * N + x] = sum;
    }
  }
}

/// Forward transform of one block of level-shifted samples.
/// @param samples  [8][8]; @param coefficients  [64] natural order; may not alias
FW_HD inline void fdct(const DctBasis<8>& basis, const double* samples, double* coefficients) {
  double rows[8][8];
  for (int y = 0; y < 8; ++y) {
    for (int u = 0; u < 8; ++u) {
      double sum = 0.0;
      for (int x = 0; x < 8; ++x) sum += basis.at[x][u] * samples[y * 8 + x];
      rows[y][u] = sum;
    }
  }
  for (int v = 0; v < 8; ++v) {
    for (int u = 0; u < 8; ++u) {
      double sum = 0.0;
      for (int y = 0; y < 8; ++y) sum += basis.at[y][v] * rows[y][u];
      coefficients[v * 8 + u] = sum;
    }
  }
}

/// Adds the level shift of T.81 A.3.1, rounds half up and clamps to 8 bits.
FW_HD inline unsigned char to_sample(double value) {
  const double rounded = std::floor(value + 128.5);
  return static_cast<unsigned char>(rounded < 0.0 ? 0.0 : rounded > 255.0 ? 255.0 : rounded);
}

}  // namespace framewire::transform
