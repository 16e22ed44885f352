// make_samples FOLDER [NAME]: writes the demo's photographs where a machine has none of its own;
// with NAME only that one.
#include <array>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <tests/tools/picture.hpp>
#include <tests/tools/scenes.hpp>

namespace {

using framewire::tools::Encoding;
using framewire::tools::Picture;

struct Sample {
  std::string_view name;
  Picture (*scene)(int, int, std::uint32_t);
  int width_px;
  int height_px;
  Encoding encoding;
};

namespace tools = framewire::tools;

// One of each kind of file that cameras, scanners and web sites leave behind.
constexpr std::array kSamples{
    Sample{"hills-12mp.jpg", tools::hills, 4000, 3000, {.quality = 92}},
    Sample{"hills-portrait-exif6.jpg", tools::hills, 1500, 2000, {.quality = 90, .orientation = 6}},
    Sample{"hills-panorama.jpg", tools::hills, 4200, 1100, {.quality = 85}},
    Sample{"hills-gray.jpg", tools::hills, 1600, 1200, {.quality = 90, .gray = true}},
    Sample{"night-progressive.jpg", tools::night, 2400, 1600, {.quality = 85, .progressive = true}},
    Sample{
        "night-444.jpg", tools::night, 1920, 1080, {.quality = 95, .chroma_h = 1, .chroma_v = 1}},
    Sample{"night-small.jpg", tools::night, 640, 427, {.quality = 75}},
    Sample{"page-scan.jpg", tools::page, 2480, 3508, {.quality = 80}},
    Sample{"page-odd-size.jpg", tools::page, 1037, 1481, {.quality = 90}},
    Sample{"rings-moire.jpg", tools::rings, 2001, 2001, {.quality = 95, .chroma_v = 1}},
    Sample{"still-life-6mp.jpg", tools::still_life, 3000, 2000, {.quality = 90}},
    Sample{"still-life-portrait-exif6.jpg",
           tools::still_life,
           1200,
           1600,
           {.quality = 88, .progressive = true, .orientation = 6}},
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 2 && count != 3) {
    std::fprintf(stderr, "usage: make_samples FOLDER [NAME]\n");
    return 2;
  }
  const std::filesystem::path folder = arguments[1];
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    std::fprintf(stderr, "%s: %s\n", folder.c_str(), error.message().c_str());
    return 3;
  }
  const std::string_view only = count == 3 ? arguments[2] : "";
  std::uint32_t seed = 0;
  int written = 0;
  for (const Sample& sample : kSamples) {
    ++seed;  // counted for those left out too, so that one alone looks as it does among all
    if (!only.empty() && sample.name != only) continue;
    const Picture picture = sample.scene(sample.width_px, sample.height_px, seed);
    if (!tools::write_jpeg(folder / sample.name, picture, sample.encoding)) return 3;
    ++written;
  }
  if (written == 0) {
    std::fprintf(stderr, "no sample is called '%s'\n", arguments[2]);
    return 2;
  }
  std::printf("%d sample photographs in %s\n", written, folder.c_str());
  return 0;
}
