// What libjpeg-turbo thinks of a file, as the judge of ours.
#pragma once

#include <cstdint>
#include <cstdio>
// jpeglib.h needs the two above.
#include <jpeglib.h>
#include <csetjmp>
#include <span>
#include <string>
#include <vector>

namespace framewire::jpeg::judge {

struct Verdict {
  bool header_ok = false;
  bool decoded = false;  ///< only where decode was asked for
  long warnings = 0;
  std::string error;
  std::int32_t width_px = 0;
  std::int32_t height_px = 0;
  J_COLOR_SPACE color = JCS_UNKNOWN;
  std::vector<std::uint8_t> samples;  ///< interleaved, in the file's own colour space
};

namespace detail {
struct ErrorManager {
  jpeg_error_mgr base;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};
inline void on_error(j_common_ptr info) {
  auto* manager = reinterpret_cast<ErrorManager*>(info->err);
  info->err->format_message(info, manager->message);
  std::longjmp(manager->jump, 1);
}
inline void on_message(j_common_ptr info, int level) {
  if (level < 0) ++info->err->num_warnings;
}
}  // namespace detail

/// Reads the header and, on request, every row.
inline void judge(std::span<const std::uint8_t> bytes, bool decode, Verdict& verdict) {
  jpeg_decompress_struct info;
  detail::ErrorManager manager;
  info.err = jpeg_std_error(&manager.base);
  manager.base.error_exit = detail::on_error;
  manager.base.emit_message = detail::on_message;
  if (setjmp(manager.jump) != 0) {
    verdict.error = manager.message;
  } else {
    jpeg_create_decompress(&info);
    jpeg_mem_src(&info, bytes.data(), bytes.size());
    jpeg_read_header(&info, TRUE);
    verdict.header_ok = true;
    verdict.width_px = static_cast<std::int32_t>(info.image_width);
    verdict.height_px = static_cast<std::int32_t>(info.image_height);
    verdict.color = info.jpeg_color_space;
    if (decode) {
      info.out_color_space = info.jpeg_color_space;
      jpeg_start_decompress(&info);
      const std::size_t pitch = std::size_t{info.output_width} * info.output_components;
      verdict.samples.resize(pitch * info.output_height);
      while (info.output_scanline < info.output_height) {
        JSAMPROW row = verdict.samples.data() + pitch * info.output_scanline;
        jpeg_read_scanlines(&info, &row, 1);
      }
      jpeg_finish_decompress(&info);
      verdict.decoded = true;
    }
    verdict.warnings = manager.base.num_warnings;
  }
  jpeg_destroy_decompress(&info);
}

}  // namespace framewire::jpeg::judge
