// JPEGs of any kind written with libjpeg-turbo from a function, and planes read back with it.
#pragma once

#include <cstdint>
#include <cstdio>
// jpeglib.h needs the two above.
#include <jpeglib.h>
#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace framewire::sample {

using Bytes = std::vector<std::uint8_t>;

struct Spec {
  int width_px = 64;
  int height_px = 48;
  J_COLOR_SPACE space = JCS_YCbCr;  ///< as stored
  int h = 1;                        ///< factors of the first component (and of YCCK's K)
  int v = 1;
  int quality = 90;
  bool progressive = false;
  bool arithmetic = false;
  bool optimized = false;  ///< with Huffman tables of its own
  bool separate_scans = false;
  int restart_mcus = 0;
  bool adobe = true;  ///< mark four components as Adobe does
  /// Scans instead of all others, progressive or not; must outlive the call.
  std::span<const jpeg_scan_info> script{};
};

/// A sample of one component, from its centre in full-size pixels.
using Picture = std::function<double(int component, double x, double y)>;

struct Plane {
  int width_px = 0;
  int height_px = 0;
  Bytes samples;
  [[nodiscard]] int at(int x, int y) const {
    return samples[static_cast<std::size_t>(y) * width_px + x];
  }
};

namespace detail {

[[noreturn]] inline void on_error(j_common_ptr info) {
  char text[JMSG_LENGTH_MAX];
  info->err->format_message(info, text);
  throw std::runtime_error(text);
}
inline void count_warning(j_common_ptr info, int level) {
  if (level < 0) ++info->err->num_warnings;
}
inline void prepare(jpeg_error_mgr& errors) {
  jpeg_std_error(&errors);
  errors.error_exit = on_error;
  errors.emit_message = count_warning;
}

/// Rows of all components for one MCU row.
struct RawRows {
  std::array<std::vector<Bytes>, 4> rows;
  std::array<std::vector<JSAMPROW>, 4> pointers;
  std::array<JSAMPARRAY, 4> arrays{};
  void resize(int component, int count, std::size_t width) {
    const auto at = static_cast<std::size_t>(component);
    rows[at].assign(static_cast<std::size_t>(count), Bytes(width));
    pointers[at].clear();
    for (Bytes& row : rows[at]) pointers[at].push_back(row.data());
    arrays[at] = pointers[at].data();
  }
};

inline std::uint8_t to_byte(double value) {
  return static_cast<std::uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value + 0.5);
}

inline void configure(jpeg_compress_struct& info, const Spec& spec, jpeg_scan_info (&scans)[4]) {
  info.image_width = static_cast<JDIMENSION>(spec.width_px);
  info.image_height = static_cast<JDIMENSION>(spec.height_px);
  info.in_color_space = spec.space;
  info.input_components = spec.space == JCS_GRAYSCALE                        ? 1
                          : spec.space == JCS_CMYK || spec.space == JCS_YCCK ? 4
                                                                             : 3;
  jpeg_set_defaults(&info);
  jpeg_set_colorspace(&info, spec.space);
  jpeg_set_quality(&info, spec.quality, TRUE);
  info.optimize_coding = spec.optimized ? TRUE : FALSE;
  for (int i = 0; i < info.num_components; ++i) {
    const bool fine = i == 0 || i == 3;
    info.comp_info[i].h_samp_factor = fine ? spec.h : 1;
    info.comp_info[i].v_samp_factor = fine ? spec.v : 1;
  }
  info.raw_data_in = TRUE;
  info.dct_method = JDCT_ISLOW;
  info.arith_code = spec.arithmetic ? TRUE : FALSE;
  info.restart_interval = static_cast<unsigned>(spec.restart_mcus);
  if (info.num_components == 4 && !spec.adobe) info.write_Adobe_marker = FALSE;
  if (spec.progressive) jpeg_simple_progression(&info);
  if (spec.separate_scans) {
    for (int i = 0; i < info.num_components; ++i) scans[i] = {1, {i}, 0, 63, 0, 0};
    info.scan_info = scans;
    info.num_scans = info.num_components;
  }
  if (!spec.script.empty()) {
    info.scan_info = spec.script.data();
    info.num_scans = static_cast<int>(spec.script.size());
  }
}

}  // namespace detail

/// Writes a picture; beyond the edge, block padding holds the function's own continuation.
inline Bytes make(const Spec& spec, const Picture& picture) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  detail::prepare(errors);
  info.err = &errors;
  jpeg_create_compress(&info);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &buffer, &size);
  jpeg_scan_info scans[4] = {};
  detail::configure(info, spec, scans);
  jpeg_start_compress(&info, TRUE);
  detail::RawRows raw;
  const int h_max = info.max_h_samp_factor, v_max = info.max_v_samp_factor;
  for (int c = 0; c < info.num_components; ++c) {
    raw.resize(c, 8 * info.comp_info[c].v_samp_factor,
               static_cast<std::size_t>(info.comp_info[c].width_in_blocks) * 8 + 32);
  }
  for (int band = 0; info.next_scanline < info.image_height; ++band) {
    for (int c = 0; c < info.num_components; ++c) {
      const double wide = static_cast<double>(h_max) / info.comp_info[c].h_samp_factor;
      const double high = static_cast<double>(v_max) / info.comp_info[c].v_samp_factor;
      auto& rows = raw.rows[static_cast<std::size_t>(c)];
      for (std::size_t r = 0; r < rows.size(); ++r) {
        for (std::size_t x = 0; x < rows[r].size(); ++x) {
          rows[r][x] = detail::to_byte(picture(
              c, (static_cast<double>(x) + 0.5) * wide,
              (band * static_cast<double>(rows.size()) + static_cast<double>(r) + 0.5) * high));
        }
      }
    }
    jpeg_write_raw_data(&info, raw.arrays.data(), static_cast<JDIMENSION>(8 * v_max));
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  Bytes out(buffer, buffer + size);
  std::free(buffer);
  return out;
}

/// What libjpeg reads: every component's own samples. Throws where it refuses.
struct Decoded {
  std::vector<Plane> planes;
  int width_px = 0;
  int height_px = 0;
  J_COLOR_SPACE space = JCS_UNKNOWN;
  bool progressive = false;
  unsigned restart_mcus = 0;
  long warnings = 0;
};

inline Decoded decode(std::span<const std::uint8_t> bytes) {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  detail::prepare(errors);
  info.err = &errors;
  jpeg_create_decompress(&info);
  // Freed also where libjpeg's error leaves by an exception.
  const std::unique_ptr<jpeg_decompress_struct, void (*)(j_decompress_ptr)> owner(
      &info, jpeg_destroy_decompress);
  jpeg_mem_src(&info, bytes.data(), bytes.size());
  jpeg_read_header(&info, TRUE);
  info.raw_data_out = TRUE;
  info.out_color_space = info.jpeg_color_space;
  info.dct_method = JDCT_ISLOW;
  info.do_block_smoothing = FALSE;
  jpeg_start_decompress(&info);
  Decoded out;
  out.width_px = static_cast<int>(info.image_width);
  out.height_px = static_cast<int>(info.image_height);
  out.space = info.jpeg_color_space;
  out.progressive = info.progressive_mode != 0;
  detail::RawRows raw;
  for (int c = 0; c < info.num_components; ++c) {
    const auto& component = info.comp_info[c];
    raw.resize(c, 8 * component.v_samp_factor,
               static_cast<std::size_t>(component.width_in_blocks) * 8 + 64);
    out.planes.push_back({static_cast<int>(component.downsampled_width),
                          static_cast<int>(component.downsampled_height),
                          {}});
  }
  while (info.output_scanline < info.output_height) {
    jpeg_read_raw_data(&info, raw.arrays.data(),
                       static_cast<JDIMENSION>(8 * info.max_v_samp_factor));
    for (std::size_t c = 0; c < out.planes.size(); ++c) {
      Plane& plane = out.planes[c];
      const auto width = static_cast<std::ptrdiff_t>(plane.width_px);
      for (const Bytes& row : raw.rows[c]) {
        if (plane.samples.size() < static_cast<std::size_t>(width) * plane.height_px) {
          plane.samples.insert(plane.samples.end(), row.begin(), row.begin() + width);
        }
      }
    }
  }
  jpeg_finish_decompress(&info);
  out.restart_mcus = info.restart_interval;
  out.warnings = errors.num_warnings;
  return out;
}

/// How far apart two planes of the same size are.
struct Difference {
  int largest = 0;
  double mean = 0;
};
inline Difference difference(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) {
  if (a.size() != b.size() || a.empty()) return {1000, 1000};
  Difference d;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const int apart = std::abs(static_cast<int>(a[i]) - static_cast<int>(b[i]));
    d.largest = apart > d.largest ? apart : d.largest;
    d.mean += apart;
  }
  d.mean /= static_cast<double>(a.size());
  return d;
}

/// Inserts APPn or COM segments right behind SOI.
inline Bytes with_segments(const Bytes& jpeg,
                           const std::vector<std::pair<std::uint8_t, Bytes>>& segments) {
  Bytes out(jpeg.begin(), jpeg.begin() + 2);
  for (const auto& [marker, payload] : segments) {
    const std::size_t length = payload.size() + 2;
    out.insert(out.end(), {0xFF, marker, static_cast<std::uint8_t>(length >> 8),
                           static_cast<std::uint8_t>(length)});
    out.insert(out.end(), payload.begin(), payload.end());
  }
  out.insert(out.end(), jpeg.begin() + 2, jpeg.end());
  return out;
}

}  // namespace framewire::sample
