// One image of a batch: whatever bytes, crop and options, the batch's memory is written and nothing
// else, twice the same, and an image is there or a typed error is.
//
// The first sixteen bytes choose the options and the crop; the rest is the file.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <framewire/tensor.hpp>
#include <vector>

namespace {

using namespace framewire;

constexpr std::size_t kOptionBytes = 16;
constexpr std::size_t kGuardBytes = 64;

/// A broken promise ends the run, also where assertions are compiled out.
void require(bool promise) {
  if (!promise) std::abort();
}

TensorOptions make_options(const std::uint8_t* b) {
  constexpr Kernel kKernels[] = {Kernel::kBilinear, Kernel::kBicubic, Kernel::kLanczos3,
                                 Kernel::kArea};
  TensorOptions o;
  o.width_px = 1 + b[0] % 96;
  o.height_px = 1 + b[1] % 96;
  o.type = static_cast<TensorType>(b[2] & 3);
  o.layout = static_cast<TensorLayout>(b[2] >> 2 & 1);
  o.color = static_cast<TensorColor>(b[2] >> 3 & 3);
  o.fidelity = static_cast<TensorFidelity>(b[2] >> 5 & 1);
  o.exif = (b[2] & 64) != 0;
  o.kernel = kKernels[b[3] & 3];
  o.antialias = (b[3] & 4) == 0 || (b[3] & 2) != 0;
  o.threads = 1;
  o.limits.max_input_pixels = 1 << 16;
  o.limits.max_scan_pixels = 1 << 20;
  // Time must not decide a result that is compared with another run's.
  o.limits.deadline_ms = 0;
  return o;
}

TensorItem make_item(const std::uint8_t* b, std::span<const std::uint8_t> file) {
  TensorItem item;
  item.jpeg = file;
  item.flip = (b[3] & 8) != 0;
  const auto number = [&](std::size_t at) {
    return static_cast<std::int16_t>(static_cast<std::uint16_t>(b[at] | b[at + 1] << 8));
  };
  if ((b[3] & 16) != 0) item.crop = CropBox{number(4), number(6), number(8), number(10)};
  return item;
}

void check_error(const Status& status) {
  constexpr std::array kPossible{StatusCode::kInvalidInput, StatusCode::kUnsupported,
                                 StatusCode::kTooLarge};
  require(std::find(kPossible.begin(), kPossible.end(), status.code()) != kPossible.end());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < kOptionBytes) return 0;
  const TensorOptions options = make_options(data);
  const TensorItem item = make_item(data, {data + kOptionBytes, size - kOptionBytes});
  auto decoder = TensorDecoder::make(options);
  require(decoder.has_value());
  const std::size_t bytes = decoder->image_bytes();
  std::vector<std::uint8_t> once(bytes + kGuardBytes, 0xA5);
  std::vector<std::uint8_t> again(bytes + kGuardBytes, 0x5A);
  std::uint8_t ok = 7;
  require(decoder->decode({&item, 1}, {once.data(), bytes, &ok}).has_value());
  const auto& image = decoder->image(0);
  require(ok == (image ? 1 : 0));
  if (!image) {
    check_error(image.error());
    require(std::all_of(once.begin(), once.end() - kGuardBytes, [](auto b) { return b == 0; }));
  } else {
    require(image->crop.width_px >= 1 && image->crop.left_px >= 0);
    require(image->crop.left_px + image->crop.width_px <= image->width_px);
    require(image->crop.top_px + image->crop.height_px <= image->height_px);
  }
  require(std::all_of(once.end() - kGuardBytes, once.end(), [](auto b) { return b == 0xA5; }));
  require(decoder->decode({&item, 1}, {again.data(), bytes, nullptr}).has_value());
  require(std::equal(once.begin(), once.end() - kGuardBytes, again.begin()));
  return 0;
}
