#include <fmt/format.h>
#include <base/checked.hpp>
#include <files/y4m.hpp>

namespace framewire::app {
namespace {

struct Chroma {
  std::int32_t step_x;
  std::int32_t step_y;
  const char* name;
};
constexpr Chroma kChromas[] = {
    {2, 2, "420jpeg"}, {2, 1, "422"}, {1, 1, "444"}, {1, 2, "440"}, {4, 1, "411"}};

/// The format's name for these planes; null where it has none.
const char* name_of(std::span<const Y4mPlane> planes) {
  if (planes.size() == 1) return "mono";
  if (planes.size() != 3) return nullptr;
  for (const Chroma& chroma : kChromas) {
    bool fits = true;
    for (const Y4mPlane& plane : planes.subspan(1)) {
      fits = fits && plane.width_px == base::ceil_div(planes[0].width_px, chroma.step_x) &&
             plane.height_px == base::ceil_div(planes[0].height_px, chroma.step_y);
    }
    if (fits) return chroma.name;
  }
  return nullptr;
}

}  // namespace

Result<std::vector<std::uint8_t>> make_y4m(std::span<const Y4mPlane> planes) {
  const char* name = name_of(planes);
  if (name == nullptr) {
    return fail(StatusCode::kUnsupported,
                "Y4M takes gray or YCbCr of 4:4:4, 4:2:2, 4:2:0, 4:4:0 or 4:1:1; other planes have "
                "to leave as JPEG");
  }
  const std::string head =
      fmt::format("YUV4MPEG2 W{} H{} F1:1 Ip A1:1 C{} XCOLORRANGE=FULL\nFRAME\n",
                  planes[0].width_px, planes[0].height_px, name);
  std::vector<std::uint8_t> file(head.begin(), head.end());
  for (const Y4mPlane& plane : planes) {
    const auto bytes = static_cast<std::size_t>(plane.width_px) * plane.height_px;
    file.insert(file.end(), plane.samples, plane.samples + bytes);
  }
  return file;
}

}  // namespace framewire::app
