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

Result<void> check_devices(const EngineOptions& /*options*/) {
  return fail(Status(StatusCode::kUnsupported,
                     "this build has no GPU codec; it has auto, turbo and reference")
                  .about("codec"));
}
Result<std::vector<DeviceLanes>> find_devices(const EngineOptions& options) {
  return fail(check_devices(options).error());
}

Result<void> check_for_cuda(const jpeg::JpegFile& /*file*/, const plan::Plan& /*plan*/,
                            const color::Converter* /*converter*/) {
  return no_cuda();
}

class DeviceStages::Impl {
 public:
  Result<void> none = no_cuda();
};
DeviceStages::DeviceStages(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DeviceStages::~DeviceStages() = default;
DeviceStages::DeviceStages(DeviceStages&&) noexcept = default;
DeviceStages& DeviceStages::operator=(DeviceStages&&) noexcept = default;
Result<DeviceStages> DeviceStages::make(int /*device*/) { return no_cuda(); }
Result<void> DeviceStages::decode(std::span<const Source> /*sources*/) { return no_cuda(); }
Result<void> DeviceStages::make_planes(std::span<const Planned> /*pictures*/) { return no_cuda(); }
Result<void> DeviceStages::resample(std::span<const Striped> /*pictures*/) { return no_cuda(); }
Result<void> DeviceStages::post_process(std::span<const Resampled> /*pictures*/) {
  return no_cuda();
}
Result<void> DeviceStages::encode(std::span<const Resampled> /*pictures*/) { return no_cuda(); }
const Result<void>& DeviceStages::result(std::size_t /*picture*/) const noexcept {
  return impl_->none;
}
std::span<const DevicePlane> DeviceStages::planes(std::size_t /*picture*/) const noexcept {
  return {};
}
DeviceStream DeviceStages::stream(std::size_t /*picture*/) const { return {}; }
Result<void> DeviceStages::copy(std::span<const Copy> /*copies*/) { return no_cuda(); }
Result<std::span<const std::uint8_t>> DeviceStages::read(std::span<const DevicePlane> /*planes*/) {
  return no_cuda();
}

}  // namespace engine

struct DeviceImage::Memory {};
Result<void> DeviceImage::record(CudaStream /*stream*/) const { return no_cuda(); }

class DeviceDecoder::Impl {
 public:
  Result<DeviceImage> none = no_cuda();
};
DeviceDecoder::DeviceDecoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DeviceDecoder::~DeviceDecoder() = default;
DeviceDecoder::DeviceDecoder(DeviceDecoder&&) noexcept = default;
DeviceDecoder& DeviceDecoder::operator=(DeviceDecoder&&) noexcept = default;
Result<DeviceDecoder> DeviceDecoder::make(int /*device*/, const DeviceDecoderOptions& /*options*/) {
  return no_cuda();
}
Result<void> DeviceDecoder::decode(std::span<const std::span<const std::uint8_t>> /*jpegs*/,
                                   int /*scale*/, CudaStream /*stream*/, const Limits& /*limits*/) {
  return no_cuda();
}
Result<void> DeviceDecoder::decode(std::span<const DeviceDecodeItem> /*items*/, int /*scale*/,
                                   CudaStream /*stream*/, const Limits& /*limits*/) {
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
