// device_planes < photo.jpg > half.jpg: decoded to planes in a GPU's memory at half the size, and
// encoded from there. Where there is no GPU it says so and exits with 77.
#include <framewire/device.hpp>
#include <iostream>
#include <iterator>

namespace {

int failed(const framewire::Status& status) {
  std::cerr << status.to_string() << '\n';
  return 1;
}

}  // namespace

int main() {
  const std::vector<std::uint8_t> jpeg(std::istreambuf_iterator<char>(std::cin), {});
  auto decoder = framewire::DeviceDecoder::make();
  auto encoder = framewire::DeviceEncoder::make();
  if (!decoder || !encoder) {
    const framewire::Status& why = decoder ? encoder.error() : decoder.error();
    std::cerr << "SKIPPED: " << why.to_string() << '\n';
    return why.code() == framewire::StatusCode::kUnsupported ? 77 : 1;
  }
  // Yours would be CudaStream(stream), of the cudaStream_t on which your kernels run.
  const auto stream = framewire::CudaStream::per_thread_default();
  const std::span<const std::uint8_t> files[] = {jpeg};
  if (const auto ok = decoder->decode(files, 4, stream); !ok) return failed(ok.error());
  if (const auto ok = decoder->wait(); !ok) return failed(ok.error());
  if (!decoder->image(0)) return failed(decoder->image(0).error());

  // A copy shares the planes' memory and keeps it, also when the decoder goes on or is gone.
  const framewire::DeviceImage image = *decoder->image(0);
  framewire::DeviceEncodeItem item;
  item.color_model = image.color_model;
  item.planes = std::span(image.planes).first(static_cast<std::size_t>(image.component_count));
  if (const auto ok = encoder->encode({&item, 1}, stream); !ok) return failed(ok.error());
  // What has been enqueued reads the planes: now even the last copy of the image may be dropped.
  if (const auto ok = image.record(stream); !ok) return failed(ok.error());
  if (const auto ok = encoder->wait(); !ok) return failed(ok.error());

  const auto half = encoder->stream(0);
  if (!half) return failed(half.error());
  std::cout.write(reinterpret_cast<const char*>(half->data()), std::ssize(*half));
  return std::cout.flush() ? 0 : 1;
}
