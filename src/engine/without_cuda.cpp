// What a build without CUDA says where a GPU is asked for.
#include <engine/device_lanes.hpp>
#include <engine/device_stages.hpp>
#include <engine/device_verdict.hpp>
#include <framewire/device.hpp>

namespace framewire {
namespace {

tl::unexpected<Status> no_cuda() {
  return fail(StatusCode::kUnsupported, "this build has no CUDA");
}

}  // namespace

namespace engine {

Result<std::vector<DeviceLanes>> find_devices(const EngineOptions& /*options*/) {
  return fail(Status(StatusCode::kUnsupported,
                     "this build has no GPU codec; it has auto, turbo and reference")
                  .about("codec"));
}

Result<void> check_for_cuda(const jpeg::JpegFile& /*file*/, const plan::Plan& /*plan*/,
                            const color::Converter* /*converter*/) {
  return no_cuda();
}

class DeviceStages::Impl {};
DeviceStages::DeviceStages(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DeviceStages::~DeviceStages() = default;
DeviceStages::DeviceStages(DeviceStages&&) noexcept = default;
DeviceStages& DeviceStages::operator=(DeviceStages&&) noexcept = default;
Result<DeviceStages> DeviceStages::make(int /*device*/) { return no_cuda(); }
Result<void> DeviceStages::decode(const jpeg::JpegFile& /*file*/,
                                  const codec::Coefficients* /*coefficients*/,
                                  const plan::Scales& /*scales*/) {
  return no_cuda();
}
Result<void> DeviceStages::make_planes(const Request& /*request*/,
                                       const codec::Coefficients* /*coefficients*/) {
  return no_cuda();
}
Result<void> DeviceStages::resample(const plan::Plan& /*plan*/,
                                    std::span<const Stripe> /*stripes*/) {
  return no_cuda();
}
Result<void> DeviceStages::finish(const Request& /*request*/,
                                  std::span<const codec::DevicePlane> /*planes*/) {
  return no_cuda();
}
Result<DeviceStream> DeviceStages::encode(const Request& /*request*/,
                                          std::span<const codec::DevicePlane> /*planes*/,
                                          std::span<const std::uint8_t> /*head*/) {
  return no_cuda();
}
std::span<const codec::DevicePlane> DeviceStages::planes() const noexcept { return {}; }
Result<void> DeviceStages::copy_planes(std::span<const Target> /*targets*/) { return no_cuda(); }
Result<std::vector<std::uint8_t>> DeviceStages::read_plane(const codec::DevicePlane& /*plane*/) {
  return no_cuda();
}

}  // namespace engine

class DeviceDecoder::Impl {
 public:
  Result<DeviceImage> none = no_cuda();
};
DeviceDecoder::DeviceDecoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DeviceDecoder::~DeviceDecoder() = default;
DeviceDecoder::DeviceDecoder(DeviceDecoder&&) noexcept = default;
DeviceDecoder& DeviceDecoder::operator=(DeviceDecoder&&) noexcept = default;
Result<DeviceDecoder> DeviceDecoder::make(int /*device*/) { return no_cuda(); }
Result<void> DeviceDecoder::decode(std::span<const std::span<const std::uint8_t>> /*jpegs*/,
                                   int /*scale*/, CudaStream /*stream*/, const Limits& /*limits*/) {
  return no_cuda();
}
Result<void> DeviceDecoder::wait() { return no_cuda(); }
const Result<DeviceImage>& DeviceDecoder::image(std::size_t /*index*/) const { return impl_->none; }

class DeviceEncoder::Impl {};
DeviceEncoder::DeviceEncoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DeviceEncoder::~DeviceEncoder() = default;
DeviceEncoder::DeviceEncoder(DeviceEncoder&&) noexcept = default;
DeviceEncoder& DeviceEncoder::operator=(DeviceEncoder&&) noexcept = default;
Result<DeviceEncoder> DeviceEncoder::make(int /*device*/) { return no_cuda(); }
Result<void> DeviceEncoder::encode(std::span<const DeviceEncodeItem> /*items*/,
                                   CudaStream /*stream*/) {
  return no_cuda();
}
Result<void> DeviceEncoder::wait() { return no_cuda(); }
Result<std::span<const std::uint8_t>> DeviceEncoder::stream(std::size_t /*index*/) const {
  return no_cuda();
}

}  // namespace framewire
