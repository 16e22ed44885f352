// An RGB picture in memory and its way to and from JPEG files, for the demo's tools.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

namespace framewire::tools {

struct Rgb {
  std::uint8_t r = 0;
  std::uint8_t g = 0;
  std::uint8_t b = 0;
};

struct Picture {
  Picture(int width, int height, Rgb fill = {});

  Rgb& at(int x, int y) { return pixels[static_cast<std::size_t>(y) * width_px + x]; }
  const Rgb& at(int x, int y) const { return pixels[static_cast<std::size_t>(y) * width_px + x]; }

  int width_px;
  int height_px;
  std::vector<Rgb> pixels;  ///< [height_px][width_px]
};

/// How write_jpeg() stores a picture.
struct Encoding {
  int quality = 90;
  int chroma_h = 2;  ///< luma samples a chroma sample, across
  int chroma_v = 2;  ///< … and down
  bool progressive = false;
  bool gray = false;
  int orientation = 1;  ///< 1, or 6: stored turned by 90°, with the EXIF tag that turns it back
};

/// @return false, having said why on standard error, where the file cannot be written
bool write_jpeg(const std::filesystem::path& path, const Picture& picture, const Encoding& how);

/// @return nothing where libjpeg refuses the stream
std::optional<Picture> decode_jpeg(std::span<const std::uint8_t> bytes);

}  // namespace framewire::tools
