#include <tests/conformance/libjpeg.hpp>
// clang-format off
#include <cstddef>
#include <cstdio>  // jpeglib.h needs size_t and FILE
#include <jpeglib.h>
// clang-format on

#include <algorithm>

namespace framewire::conformance {
namespace {

struct Refused {};

[[noreturn]] void refuse(j_common_ptr) { throw Refused{}; }
void count_warning(j_common_ptr info, int level) {
  if (level < 0) ++info->err->num_warnings;
}

/// Owns a decompressor over bytes in memory, its header read.
class Decompressor {
 public:
  explicit Decompressor(std::span<const std::uint8_t> bytes) {
    info.err = jpeg_std_error(&errors_);
    errors_.error_exit = refuse;
    errors_.emit_message = count_warning;
    jpeg_create_decompress(&info);
    jpeg_mem_src(&info, bytes.data(), static_cast<unsigned long>(bytes.size()));
  }
  ~Decompressor() { jpeg_destroy_decompress(&info); }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  jpeg_decompress_struct info{};

 private:
  jpeg_error_mgr errors_{};
};

LibjpegBlocks copy_blocks(jpeg_decompress_struct& info, jpeg_component_info& component,
                          jvirt_barray_ptr array) {
  LibjpegBlocks out;
  const auto round_up = [](JDIMENSION value, int unit) {
    const auto u = static_cast<JDIMENSION>(unit);
    return static_cast<std::int32_t>((value + u - 1) / u * u);
  };
  out.width_blocks = static_cast<std::int32_t>(component.width_in_blocks);
  out.height_blocks = static_cast<std::int32_t>(component.height_in_blocks);
  out.stored_width_blocks = round_up(component.width_in_blocks, component.h_samp_factor);
  out.stored_height_blocks = round_up(component.height_in_blocks, component.v_samp_factor);
  for (std::int32_t y = 0; y < out.stored_height_blocks; ++y) {
    JBLOCKARRAY rows = info.mem->access_virt_barray(reinterpret_cast<j_common_ptr>(&info), array,
                                                    static_cast<JDIMENSION>(y), 1, FALSE);
    for (std::int32_t x = 0; x < out.stored_width_blocks; ++x) {
      std::array<std::int16_t, 64> block{};
      std::copy_n(rows[0][x], 64, block.begin());
      out.blocks.push_back(block);
    }
  }
  return out;
}

/// Room for one MCU row of a component, and the plane that it is copied into.
struct RawRows {
  std::int32_t width = 0;
  std::int32_t height = 0;
  std::vector<JSAMPLE> samples;
  std::vector<JSAMPROW> rows;

  explicit RawRows(const jpeg_component_info& c)
      : width(static_cast<std::int32_t>(c.width_in_blocks + c.MCU_width) * 8),
        height(c.v_samp_factor * 8),
        samples(static_cast<std::size_t>(width) * height) {
    for (std::int32_t y = 0; y < height; ++y) {
      rows.push_back(&samples[static_cast<std::size_t>(y) * width]);
    }
  }
};

codec::Planes read_raw(jpeg_decompress_struct& info) {
  std::vector<RawRows> raw;
  codec::Planes out;
  std::array<JSAMPARRAY, 4> pointers{};
  for (int i = 0; i < info.num_components; ++i) {
    const jpeg_component_info& c = info.comp_info[i];
    raw.emplace_back(c);
    out.planes.push_back({static_cast<std::int32_t>(c.downsampled_width),
                          static_cast<std::int32_t>(c.downsampled_height),
                          {}});
  }
  for (std::size_t i = 0; i < raw.size(); ++i) pointers[i] = raw[i].rows.data();
  const auto lines = static_cast<JDIMENSION>(8 * info.max_v_samp_factor);
  while (info.output_scanline < info.output_height) {
    jpeg_read_raw_data(&info, pointers.data(), lines);
    for (std::size_t i = 0; i < raw.size(); ++i) {
      for (const JSAMPROW row : raw[i].rows) {
        out.planes[i].samples.insert(out.planes[i].samples.end(), row,
                                     row + out.planes[i].width_px);
      }
    }
  }
  for (codec::Plane& plane : out.planes) {
    plane.samples.resize(static_cast<std::size_t>(plane.width_px) * plane.height_px);
  }
  return out;
}

}  // namespace

std::optional<LibjpegCoefficients> libjpeg_coefficients(std::span<const std::uint8_t> bytes) {
  try {
    Decompressor d(bytes);
    jpeg_read_header(&d.info, TRUE);
    jvirt_barray_ptr* arrays = jpeg_read_coefficients(&d.info);
    LibjpegCoefficients out;
    for (int i = 0; i < d.info.num_components; ++i) {
      out.components.push_back(copy_blocks(d.info, d.info.comp_info[i], arrays[i]));
    }
    out.warning_count = d.info.err->num_warnings;
    return out;
  } catch (const Refused&) {
    return std::nullopt;
  }
}

std::optional<codec::Planes> libjpeg_planes(std::span<const std::uint8_t> bytes) {
  try {
    Decompressor d(bytes);
    jpeg_read_header(&d.info, TRUE);
    d.info.raw_data_out = TRUE;
    d.info.out_color_space = d.info.jpeg_color_space;
    d.info.dct_method = JDCT_ISLOW;
    d.info.do_block_smoothing = FALSE;
    jpeg_start_decompress(&d.info);
    return read_raw(d.info);
  } catch (const Refused&) {
    return std::nullopt;
  }
}

std::optional<LibjpegPixels> libjpeg_pixels(std::span<const std::uint8_t> bytes,
                                            LibjpegColor color) {
  constexpr J_COLOR_SPACE kSpaces[] = {JCS_GRAYSCALE, JCS_RGB, JCS_YCbCr, JCS_CMYK};
  try {
    Decompressor decompressor(bytes);
    jpeg_decompress_struct& info = decompressor.info;
    jpeg_read_header(&info, TRUE);
    info.out_color_space = kSpaces[static_cast<std::size_t>(color)];
    info.dct_method = JDCT_ISLOW;
    info.do_fancy_upsampling = TRUE;
    info.do_block_smoothing = FALSE;
    jpeg_start_decompress(&info);
    LibjpegPixels out{static_cast<int>(info.output_width),
                      static_cast<int>(info.output_height),
                      info.output_components,
                      {}};
    const std::size_t pitch = static_cast<std::size_t>(out.width_px) * out.channels;
    out.samples.resize(pitch * static_cast<std::size_t>(out.height_px));
    while (info.output_scanline < info.output_height) {
      JSAMPROW row = out.samples.data() + pitch * info.output_scanline;
      jpeg_read_scanlines(&info, &row, 1);
    }
    return out;
  } catch (const Refused&) {
    return std::nullopt;
  }
}

}  // namespace framewire::conformance
