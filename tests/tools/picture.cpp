#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <tests/tools/picture.hpp>
// libjpeg's header needs stdio's FILE declared before it.
#include <jpeglib.h>
#include <fstream>

namespace framewire::tools {
namespace {

/// "Exif", a little-endian TIFF header and one directory of one entry: tag 0x0112, SHORT.
std::array<std::uint8_t, 32> exif_with_orientation(int orientation) {
  constexpr std::array<std::uint8_t, 24> kUpToValue{
      'E', 'x', 'i', 'f', 0, 0, 'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0};
  std::array<std::uint8_t, 32> segment{};
  std::copy(kUpToValue.begin(), kUpToValue.end(), segment.begin());
  segment[kUpToValue.size()] = static_cast<std::uint8_t>(orientation);
  return segment;
}

/// What a camera held upright on its side would have stored for this view.
Picture turned_left(const Picture& upright) {
  Picture stored(upright.height_px, upright.width_px);
  for (int y = 0; y < stored.height_px; ++y) {
    for (int x = 0; x < stored.width_px; ++x) {
      stored.at(x, y) = upright.at(stored.height_px - 1 - y, x);
    }
  }
  return stored;
}

/// libjpeg reports fatal errors through this; a longjmp stays inside decode_jpeg().
struct ErrorExit {
  jpeg_error_mgr manager;
  std::jmp_buf back;
};

[[noreturn]] void leave(j_common_ptr info) {
  std::longjmp(reinterpret_cast<ErrorExit*>(info->err)->back, 1);
}

void configure(jpeg_compress_struct& info, const Picture& picture, const Encoding& how) {
  info.image_width = static_cast<JDIMENSION>(picture.width_px);
  info.image_height = static_cast<JDIMENSION>(picture.height_px);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  if (how.gray) jpeg_set_colorspace(&info, JCS_GRAYSCALE);
  jpeg_set_quality(&info, how.quality, TRUE);
  info.comp_info[0].h_samp_factor = how.gray ? 1 : how.chroma_h;
  info.comp_info[0].v_samp_factor = how.gray ? 1 : how.chroma_v;
  if (how.progressive) jpeg_simple_progression(&info);
}

}  // namespace

Picture::Picture(int width, int height, Rgb fill)
    : width_px(width), height_px(height), pixels(static_cast<std::size_t>(width) * height, fill) {}

bool write_jpeg(const std::filesystem::path& path, const Picture& picture, const Encoding& how) {
  const Picture stored = how.orientation == 6 ? turned_left(picture) : picture;
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) {
    std::perror(path.c_str());
    return false;
  }
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  jpeg_stdio_dest(&info, file);
  configure(info, stored, how);
  jpeg_start_compress(&info, TRUE);
  if (how.orientation != 1) {
    const auto exif = exif_with_orientation(how.orientation);
    jpeg_write_marker(&info, JPEG_APP0 + 1, exif.data(), exif.size());
  }
  for (int y = 0; y < stored.height_px; ++y) {
    // libjpeg takes rows that it may write to, but does not.
    auto* row = reinterpret_cast<JSAMPLE*>(const_cast<Rgb*>(&stored.at(0, y)));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const bool written = std::ferror(file) == 0;
  if (std::fclose(file) != 0 || !written) {
    std::perror(path.c_str());
    return false;
  }
  return true;
}

std::optional<Picture> decode_jpeg(std::span<const std::uint8_t> bytes) {
  jpeg_decompress_struct info{};
  ErrorExit errors{};
  info.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = leave;
  std::optional<Picture> picture;
  jpeg_create_decompress(&info);
  if (setjmp(errors.back) != 0) {
    jpeg_destroy_decompress(&info);
    return std::nullopt;
  }
  jpeg_mem_src(&info, bytes.data(), bytes.size());
  jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&info);
  picture.emplace(static_cast<int>(info.output_width), static_cast<int>(info.output_height));
  while (info.output_scanline < info.output_height) {
    auto* row = reinterpret_cast<JSAMPLE*>(&picture->at(0, static_cast<int>(info.output_scanline)));
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  return picture;
}

}  // namespace framewire::tools
