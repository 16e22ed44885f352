// Framewire's CPU codec against libvips: the same images to the same size, in memory, one thread.
//
// The two take turns, a whole pass over the images each, so that drift of the machine meets both.
// Timed: JPEG bytes to JPEG bytes. Not timed: reading files, checking outputs.

#include <fmt/format.h>
#include <bench/files.hpp>
#include <bench/vips_peer.hpp>
#include <chrono>
#include <ctime>
#include <framewire/resizer.hpp>
#include <nlohmann/json.hpp>

namespace {

using framewire::bench::InputFile;
using Clock = std::chrono::steady_clock;

constexpr int kQuality = 90;

struct Target {
  int width = 0;
  int height = 0;  ///< 0: from each image's shape
};

struct Series {
  std::vector<double> images_per_second;      ///< one a pass
  std::vector<double> images_per_cpu_second;  ///< by processor time, which load does not distort
  std::size_t bytes_out = 0;
};

framewire::ResizeOptions options_for(const Target& target) {
  framewire::ResizeOptions options;
  options.width_px = target.width;
  options.height_px = target.height;
  options.resize = target.height != 0 ? framewire::ResizeMode::kForce : framewire::ResizeMode::kFit;
  options.quality = kQuality;
  options.gain_map = framewire::GainMap::kDrop;  // the peer knows none
  options.codec = framewire::CodecKind::kTurbo;
  return options;
}

/// One pass over all images; `resize` gives the output's bytes, 0 on failure.
template <typename Resize>
bool pass(const std::vector<InputFile>& inputs, Series& series, const Resize& resize) {
  const auto start = Clock::now();
  const std::clock_t cpu_start = std::clock();
  std::size_t bytes = 0;
  for (const InputFile& input : inputs) {
    const std::size_t n = resize(input);
    if (n == 0) return false;
    bytes += n;
  }
  const std::chrono::duration<double> elapsed = Clock::now() - start;
  series.images_per_second.push_back(static_cast<double>(inputs.size()) / elapsed.count());
  const double cpu_s = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
  series.images_per_cpu_second.push_back(static_cast<double>(inputs.size()) / cpu_s);
  series.bytes_out = bytes;
  return true;
}

double median(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

nlohmann::json row(const char* peer, Series series) {
  auto& rates = series.images_per_second;
  const double middle = median(rates);
  return {{"peer", peer},
          {"images_per_second", middle},
          {"images_per_cpu_second", median(series.images_per_cpu_second)},
          {"min", rates.front()},
          {"max", rates.back()},
          {"passes", rates.size()},
          {"bytes_out", series.bytes_out}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "usage: compare_vips_speed WIDTHx[HEIGHT] PASSES FILE-OR-FOLDER…\n");
    return 2;
  }
  if (!framewire::bench::start_vips(argv[0])) return 3;
  Target target;
  const std::string size = argv[1];
  target.width = std::atoi(size.c_str());
  if (const auto x = size.find('x'); x + 1 < size.size()) target.height = std::atoi(&size[x + 1]);
  const int passes = std::max(1, std::atoi(argv[2]));
  const auto inputs = framewire::bench::read_inputs({argv + 3, argv + argc});

  const framewire::Resizer resizer;
  const auto options = options_for(target);
  std::vector<int> heights;
  for (const InputFile& input : inputs) {  // also the warm-up
    const auto first = resizer.resize(input.bytes, options);
    if (!first) {
      fmt::print(stderr, "{}: {}\n", input.name, first.error().to_string());
      return 1;
    }
    heights.push_back(first->report.output.height_px);
  }
  Series ours, theirs;
  for (int p = 0; p < passes; ++p) {
    const bool ok = pass(inputs, ours, [&](const InputFile& input) -> std::size_t {
      const auto made = resizer.resize(input.bytes, options);
      return made ? made->bytes.size() : 0;
    });
    std::size_t next = 0;
    const bool ok_vips = pass(inputs, theirs, [&](const InputFile& input) {
      return framewire::bench::vips_resize(input.bytes, target.width, heights[next++], kQuality)
          .size();
    });
    if (!ok || !ok_vips) {
      fmt::print(stderr, "a resize failed: {}\n", vips_error_buffer());
      return 1;
    }
  }
  nlohmann::json rows = {row("framewire turbo", ours), row("libvips", theirs)};
  const auto ratio = [&](const char* key) {
    return rows[0][key].get<double>() / rows[1][key].get<double>();
  };
  fmt::print("{}\n", nlohmann::json{{"size", size},
                                    {"images", inputs.size()},
                                    {"quality", kQuality},
                                    {"libvips", vips_version_string()},
                                    {"rows", rows},
                                    {"ratio", ratio("images_per_second")},
                                    {"cpu_ratio", ratio("images_per_cpu_second")}}
                         .dump(2));
  return 0;
}
