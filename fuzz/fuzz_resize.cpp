// The whole resize: whatever bytes and options, every codec gives a whole JPEG of the promised size
// or a typed error, twice the same, and the codecs agree on the size.
//
// The first eight bytes choose the options; the rest is the file.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <framewire/resizer.hpp>
#include <jpeg/parser.hpp>
#include <optional>

namespace {

using namespace framewire;

constexpr std::size_t kOptionBytes = 8;

/// A broken promise ends the run, also where assertions are compiled out.
void require(bool promise) {
  if (!promise) std::abort();
}

/// Any value of an enumeration whose last one is given.
template <typename Enum>
Enum choose(unsigned byte, Enum last) {
  return static_cast<Enum>(byte % (static_cast<unsigned>(last) + 1));
}

ResizeOptions make_options(const std::uint8_t* b) {
  ResizeOptions o;
  o.width_px = b[0];
  o.height_px = b[1];
  o.resize = choose(b[2] & 15u, ResizeMode::kAuto);
  o.enlarge = (b[2] & 16) != 0;
  o.crop_width = (b[2] & 32) != 0 ? (b[1] & 1) != 0 ? b[1] / 256.0 : 1 + b[1] : 0;
  o.crop_height = (b[2] & 64) != 0 ? 1 + b[0] : 0;
  o.gravity.anchor = choose(b[3] & 15u, Gravity::Anchor::kFocus);
  o.gravity.focus_x = b[0] / 255.0;
  o.kernel = choose(b[3] >> 4, Kernel::kNearest);
  o.sampling = choose(b[4] & 15u, Sampling::kGray);
  o.progressive = (b[4] & 16) != 0;
  o.optimize_huffman = (b[4] & 32) != 0;
  o.restart_interval_mcus = (b[4] & 64) != 0 ? 1 + b[0] % 7 : 0;
  o.metadata = choose(b[5] & 3u, Metadata::kKeep);
  o.color = choose(b[5] >> 2, ColorMode::kKeep);
  o.auto_orient = (b[5] & 16) != 0;
  o.has_background = (b[5] & 32) != 0 && b[0] != 0 && b[1] != 0;
  o.strict = (b[5] & 64) != 0;
  o.gain_map = (b[5] & 128) != 0 ? GainMap::kDrop : GainMap::kKeep;
  o.quality = 1 + b[6] % 100;
  o.sharpen_sigma = (b[7] & 7) * 0.25;
  o.max_bytes = (b[7] & 8) != 0 ? 1500 : 0;
  o.rotate = choose((b[7] >> 4) & 3u, Rotation::k270);
  o.flip = choose(b[7] >> 6, Flip::kBoth);
  // From bits that decide something else as well: any request can still come up.
  o.gravity.offset_x = b[1] / 16.0 - 8;
  if ((b[6] & 128) != 0) o.padding = {b[0] & 7, b[1] & 7, b[2] & 7, b[3] & 7};
  if ((b[4] & 128) != 0) o.extend = o.gravity;
  if ((b[5] & 2) != 0) o.extend_aspect_ratio = Gravity{};
  if ((b[3] & 64) != 0) o.dpr = (1 + b[1]) / 64.0;
  // Small enough that the slow reference codec keeps the fuzzer fast.
  o.limits.max_input_pixels = 1 << 16;
  o.limits.max_scan_pixels = 1 << 20;
  o.limits.max_output_pixels = 1 << 17;
  // Time must not decide a result that is compared with another run's.
  o.limits.deadline_ms = 0;
  return o;
}

void check_output(const Resized& resized) {
  const auto file = jpeg::parse(resized.bytes, Limits{});
  require(file.has_value());
  require(file->warnings.empty() && !file->truncated);
  require(jpeg::check_supported(*file).has_value());
  require(file->frame.width_px == resized.report.output.width_px);
  require(file->frame.height_px == resized.report.output.height_px);
  require(resized.report.output.bytes == resized.bytes.size());
}

void check_error(const Status& status) {
  constexpr std::array kPossible{StatusCode::kInvalidInput, StatusCode::kUnsupported,
                                 StatusCode::kTooLarge};
  require(std::find(kPossible.begin(), kPossible.end(), status.code()) != kPossible.end());
  require(!status.message().empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < kOptionBytes) return 0;
  ResizeOptions options = make_options(data);
  const std::span<const std::uint8_t> file(data + kOptionBytes, size - kOptionBytes);
  static const Resizer resizer;

  std::optional<ImageSummary> first;
  for (const CodecKind codec : {CodecKind::kTurbo, CodecKind::kReference}) {
    options.codec = codec;
    const auto once = resizer.resize(file, options);
    const auto again = resizer.resize(file, options);
    require(once.has_value() == again.has_value());
    if (!once) {
      check_error(once.error());
      continue;
    }
    require(once->bytes == again->bytes);
    require(once->report.codec == codec);
    check_output(*once);
    if (first) {
      require(first->width_px == once->report.output.width_px);
      require(first->height_px == once->report.output.height_px);
    }
    first = once->report.output;
  }
  return 0;
}
