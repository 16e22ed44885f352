// Makes JPEGs of every kind that libjpeg-turbo can write, for the conformance matrix.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace framewire::conformance {

/// The components of a file and their sampling factors.
struct Layout {
  enum class Model : std::uint8_t { kGray, kYcbcr, kRgb, kCmyk, kYcck };
  std::string name;
  Model model = Model::kYcbcr;
  int component_count = 3;
  std::array<int, 4> h{1, 1, 1, 1};
  std::array<int, 4> v{1, 1, 1, 1};
};

/// How a file is coded.
struct Coding {
  std::string name;
  bool progressive = false;
  bool arithmetic = false;
  bool one_scan_a_component = false;
  bool optimized = false;
  bool sixteen_bit_quantisers = false;
};

struct Case {
  Layout layout;
  Coding coding;
  int width_px = 0;
  int height_px = 0;
  int quality = 75;
  int restart_interval_mcus = 0;
  std::uint32_t seed = 0;

  /// "420 progressive 33x17 q90 restart 5"
  [[nodiscard]] std::string name() const;
};

[[nodiscard]] const std::vector<Layout>& all_layouts();
[[nodiscard]] const std::vector<Coding>& all_codings();
[[nodiscard]] const Layout& layout(const std::string& name);
[[nodiscard]] const Coding& coding(const std::string& name);

/// The matrix of one layout and coding: sizes 1, 7, 8, 9, 15, 16, 17, 33 in all pairs (fewer for
/// codings that do not touch geometry), 250×131, large ±1; restart intervals 0, 1 and odd;
/// qualities 1 to 100.
[[nodiscard]] std::vector<Case> cases_of(const Layout& layout, const Coding& coding);

/// One sample of the test picture: smooth, with an edge and some noise; defined everywhere.
[[nodiscard]] std::uint8_t picture_sample(int component, int x, int y, std::uint32_t seed);

/// Writes the case's picture with libjpeg-turbo. What lies in the padding is the picture's own
/// continuation, not a repetition of its edge.
[[nodiscard]] std::vector<std::uint8_t> make_jpeg(const Case& c);

}  // namespace framewire::conformance
