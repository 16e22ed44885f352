#include <tests/conformance/cases.hpp>
// clang-format off
#include <cstddef>
#include <cstdio>  // jpeglib.h needs size_t and FILE
#include <jpeglib.h>
// clang-format on
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <stdexcept>

namespace framewire::conformance {
namespace {

using Model = Layout::Model;

constexpr int kSmallSizes[] = {1, 7, 8, 9, 15, 16, 17, 33};
constexpr int kQualities[] = {75, 1, 90, 25, 100, 50, 95, 10};
constexpr int kRestartIntervals[] = {0, 1, 5, 0, 3};

J_COLOR_SPACE color_space(Model model) {
  switch (model) {
    case Model::kGray:
      return JCS_GRAYSCALE;
    case Model::kYcbcr:
      return JCS_YCbCr;
    case Model::kRgb:
      return JCS_RGB;
    case Model::kCmyk:
      return JCS_CMYK;
    case Model::kYcck:
      return JCS_YCCK;
  }
  return JCS_UNKNOWN;
}

/// Adds the rotating properties, so that neighbours in the matrix differ in all of them.
Case make_case(const Layout& layout, const Coding& coding, int width, int height,
               std::size_t index) {
  Case c{layout, coding, width, height, 0, 0, static_cast<std::uint32_t>(index)};
  c.quality = kQualities[index % std::size(kQualities)];
  c.restart_interval_mcus = kRestartIntervals[index % std::size(kRestartIntervals)];
  return c;
}

void set_quantisers(jpeg_compress_struct& info, const Case& c) {
  if (!c.coding.sixteen_bit_quantisers) {
    jpeg_set_quality(&info, c.quality, TRUE);
    return;
  }
  std::array<unsigned, 64> table{};
  for (unsigned i = 0; i < 64; ++i) table[i] = 3 + i * 13;  // up to 822
  jpeg_add_quant_table(&info, 0, table.data(), 100, FALSE);
  for (unsigned& value : table) value += 256;
  jpeg_add_quant_table(&info, 1, table.data(), 100, FALSE);
}

/// Rows of one MCU row of every component, padding included.
class McuRow {
 public:
  McuRow(const jpeg_compress_struct& info, const Case& c) : case_(c) {
    const int columns =
        (c.width_px + 8 * info.max_h_samp_factor - 1) / (8 * info.max_h_samp_factor);
    for (int i = 0; i < info.num_components; ++i) {
      Component& component = components_[static_cast<std::size_t>(i)];
      component.width = columns * 8 * info.comp_info[i].h_samp_factor;
      component.height = 8 * info.comp_info[i].v_samp_factor;
      component.samples.resize(static_cast<std::size_t>(component.width) * component.height);
      for (int y = 0; y < component.height; ++y) {
        component.rows.push_back(&component.samples[static_cast<std::size_t>(y) * component.width]);
      }
      pointers_[static_cast<std::size_t>(i)] = component.rows.data();
    }
  }

  JSAMPIMAGE fill(int mcu_row) {
    for (std::size_t i = 0; i < components_.size(); ++i) {
      Component& component = components_[i];
      for (int y = 0; y < component.height; ++y) {
        for (int x = 0; x < component.width; ++x) {
          component.rows[static_cast<std::size_t>(y)][x] =
              picture_sample(static_cast<int>(i), x, mcu_row * component.height + y, case_.seed);
        }
      }
    }
    return pointers_.data();
  }

 private:
  struct Component {
    int width = 0;
    int height = 0;
    std::vector<JSAMPLE> samples;
    std::vector<JSAMPROW> rows;
  };
  const Case& case_;
  std::array<Component, 4> components_;
  std::array<JSAMPARRAY, 4> pointers_{};
};

/// 100 · sin(t / 100), from a table.
int wave(int t) {
  constexpr int kPeriod = 628;
  static const auto table = [] {
    std::array<int, kPeriod> values{};
    for (int i = 0; i < kPeriod; ++i) {
      values[static_cast<std::size_t>(i)] =
          static_cast<int>(std::lround(100 * std::sin(i / 100.0)));
    }
    return values;
  }();
  return table[static_cast<std::size_t>((t % kPeriod + kPeriod) % kPeriod)];
}

void keep_silent(j_common_ptr, int) {}

[[noreturn]] void fail_encoding(j_common_ptr info) {
  char text[JMSG_LENGTH_MAX];
  info->err->format_message(info, text);
  throw std::runtime_error(text);
}

void configure(jpeg_compress_struct& info, const Case& c, std::array<jpeg_scan_info, 4>& scans) {
  info.image_width = static_cast<JDIMENSION>(c.width_px);
  info.image_height = static_cast<JDIMENSION>(c.height_px);
  info.input_components = c.layout.component_count;
  info.in_color_space = color_space(c.layout.model);
  jpeg_set_defaults(&info);
  jpeg_set_colorspace(&info, info.in_color_space);
  set_quantisers(info, c);
  for (int i = 0; i < c.layout.component_count; ++i) {
    info.comp_info[i].h_samp_factor = c.layout.h[static_cast<std::size_t>(i)];
    info.comp_info[i].v_samp_factor = c.layout.v[static_cast<std::size_t>(i)];
  }
  info.raw_data_in = TRUE;
  info.arith_code = c.coding.arithmetic ? TRUE : FALSE;
  info.optimize_coding = c.coding.optimized ? TRUE : FALSE;
  info.restart_interval = static_cast<unsigned>(c.restart_interval_mcus);
  if (c.coding.progressive) jpeg_simple_progression(&info);
  if (c.coding.one_scan_a_component) {
    for (int i = 0; i < c.layout.component_count; ++i) {
      scans[static_cast<std::size_t>(i)] = {1, {i}, 0, 63, 0, 0};
    }
    info.scan_info = scans.data();
    info.num_scans = c.layout.component_count;
  }
}

}  // namespace

std::string Case::name() const {
  return fmt::format("{} {} {}x{} q{} restart {}", layout.name, coding.name, width_px, height_px,
                     quality, restart_interval_mcus);
}

const std::vector<Layout>& all_layouts() {
  static const std::vector<Layout> layouts = {
      {"gray", Model::kGray, 1, {1}, {1}},
      {"gray_2x2", Model::kGray, 1, {2}, {2}},
      {"444", Model::kYcbcr, 3, {1, 1, 1}, {1, 1, 1}},
      {"422", Model::kYcbcr, 3, {2, 1, 1}, {1, 1, 1}},
      {"420", Model::kYcbcr, 3, {2, 1, 1}, {2, 1, 1}},
      {"440", Model::kYcbcr, 3, {1, 1, 1}, {2, 1, 1}},
      {"411", Model::kYcbcr, 3, {4, 1, 1}, {1, 1, 1}},
      {"441", Model::kYcbcr, 3, {1, 1, 1}, {4, 1, 1}},
      {"410", Model::kYcbcr, 3, {4, 1, 1}, {2, 1, 1}},
      {"3x1", Model::kYcbcr, 3, {3, 1, 1}, {1, 1, 1}},
      {"1x3_1x2_1x1", Model::kYcbcr, 3, {1, 1, 1}, {3, 2, 1}},
      {"2x1_1x2", Model::kYcbcr, 3, {2, 1, 1}, {1, 2, 2}},
      {"2x2_2x1_1x2", Model::kYcbcr, 3, {2, 2, 1}, {2, 1, 2}},
      {"chroma_denser", Model::kYcbcr, 3, {1, 2, 2}, {1, 1, 2}},
      {"cr_denser", Model::kYcbcr, 3, {1, 1, 2}, {1, 1, 1}},
      {"all_2x1", Model::kYcbcr, 3, {2, 2, 2}, {1, 1, 1}},
      {"rgb", Model::kRgb, 3, {1, 1, 1}, {1, 1, 1}},
      {"cmyk", Model::kCmyk, 4, {1, 1, 1, 1}, {1, 1, 1, 1}},
      {"ycck_420", Model::kYcck, 4, {2, 1, 1, 2}, {2, 1, 1, 2}}};
  return layouts;
}

const std::vector<Coding>& all_codings() {
  static const std::vector<Coding> codings = [] {
    std::vector<Coding> all;
    const auto add = [&](std::string name) -> Coding& {
      all.push_back({std::move(name), false, false, false, false, false});
      return all.back();
    };
    add("baseline");
    add("optimized").optimized = true;
    add("separate_scans").one_scan_a_component = true;
    add("sixteen_bit").sixteen_bit_quantisers = true;
    add("progressive").progressive = true;
    add("arithmetic").arithmetic = true;
    Coding& separate = add("arithmetic_separate_scans");
    separate.arithmetic = separate.one_scan_a_component = true;
    Coding& both = add("arithmetic_progressive");
    both.arithmetic = both.progressive = true;
    return all;
  }();
  return codings;
}

const Layout& layout(const std::string& name) {
  for (const Layout& l : all_layouts()) {
    if (l.name == name) return l;
  }
  throw std::out_of_range("no layout " + name);
}

const Coding& coding(const std::string& name) {
  for (const Coding& c : all_codings()) {
    if (c.name == name) return c;
  }
  throw std::out_of_range("no coding " + name);
}

std::vector<Case> cases_of(const Layout& layout, const Coding& coding) {
  std::vector<Case> cases;
  const auto add = [&](int width, int height) {
    cases.push_back(make_case(layout, coding, width, height, cases.size()));
  };
  const std::size_t every = coding.name == "baseline" ? 1 : coding.name == "separate_scans" ? 4 : 8;
  for (std::size_t i = 0; i < std::size(kSmallSizes); ++i) {
    for (std::size_t j = 0; j < std::size(kSmallSizes); ++j) {
      if ((i * 3 + j) % every == 0) add(kSmallSizes[i], kSmallSizes[j]);
    }
  }
  for (int n = 0; n < 2; ++n) add(250, 131);
  if (coding.name == "baseline" && (layout.name == "420" || layout.name == "gray")) {
    add(1023, 65);
    add(1024, 63);
    add(1025, 64);
    add(65, 1025);
  }
  return cases;
}

std::uint8_t picture_sample(int component, int x, int y, std::uint32_t seed) {
  const int phase = 7 * component + static_cast<int>(seed % 16);
  int value = 128 + 60 * wave(11 * x + 10 * phase) / 100 + 50 * wave(7 * y - 10 * phase) / 100;
  if ((x / 13 + y / 11) % 3 == 0) value += 45;  // edges that fall inside blocks
  std::uint32_t hash = seed * 977u + static_cast<std::uint32_t>(component) * 131u +
                       static_cast<std::uint32_t>(x) * 73856093u +
                       static_cast<std::uint32_t>(y) * 19349663u;
  hash ^= hash >> 13;
  hash *= 0x5bd1e995u;
  hash ^= hash >> 15;
  const int noise = (x / 40) % 2 == 0 ? 24 : 4;  // busy and quiet parts
  value += static_cast<int>(hash % static_cast<unsigned>(2 * noise + 1)) - noise;
  return static_cast<std::uint8_t>(std::clamp(value, 0, 255));
}

std::vector<std::uint8_t> make_jpeg(const Case& c) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  errors.error_exit = fail_encoding;
  errors.emit_message = keep_silent;
  jpeg_create_compress(&info);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &buffer, &size);
  std::array<jpeg_scan_info, 4> scans{};
  configure(info, c, scans);
  jpeg_start_compress(&info, TRUE);
  McuRow rows(info, c);
  const auto lines = static_cast<JDIMENSION>(8 * info.max_v_samp_factor);
  for (int row = 0; info.next_scanline < info.image_height; ++row) {
    jpeg_write_raw_data(&info, rows.fill(row), lines);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::vector<std::uint8_t> out(buffer, buffer + size);
  std::free(buffer);
  return out;
}

}  // namespace framewire::conformance
