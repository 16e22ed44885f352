// libvips as the peer of the comparisons: thumbnail to an exact size, then JPEG, in memory.
#pragma once

#include <vips/vips.h>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace framewire::bench {

/// One thread, no operation cache: what one image costs.
inline bool start_vips(const char* program) {
  if (VIPS_INIT(program) != 0) return false;
  vips_concurrency_set(1);
  vips_cache_set_max(0);
  return true;
}

/// Resizes to exactly width × height; empty on failure, see vips_error_buffer().
/// @param convert  to sRGB by the embedded profile; otherwise nothing is converted
inline std::vector<std::uint8_t> vips_resize(std::span<const std::uint8_t> jpeg, int width,
                                             int height, int quality, bool convert = false) {
  VipsImage* image = nullptr;
  void* data = nullptr;
  std::size_t bytes = 0;
  // The signature is not const, but the buffer is only read.
  void* input = const_cast<std::uint8_t*>(jpeg.data());
  std::vector<std::uint8_t> out;
  if (vips_thumbnail_buffer(input, jpeg.size(), &image, width, "height", height, "size",
                            VIPS_SIZE_FORCE, convert ? "export_profile" : nullptr, "srgb",
                            nullptr) == 0 &&
      vips_jpegsave_buffer(image, &data, &bytes, "Q", quality, "subsample_mode",
                           VIPS_FOREIGN_SUBSAMPLE_ON, "strip", TRUE, nullptr) == 0) {
    const auto* begin = static_cast<const std::uint8_t*>(data);
    out.assign(begin, begin + bytes);
    g_free(data);
  }
  if (image != nullptr) g_object_unref(image);
  return out;
}

}  // namespace framewire::bench
