#include <codec/cuda/header_cache.hpp>
#include <codec/cuda/status_text.hpp>
#include <codec/cuda/transcoder.hpp>
#include <engine/device_stages.hpp>
#include <gpu/device.hpp>
#include <gpu/error.hpp>

namespace framewire::engine {

using codec::DevicePlane;
using codec::cuda::Item;

namespace {

Item item_of(const Request& request) {
  Item item;
  item.file = &request.file;
  item.plan = &request.plan;
  item.converter = request.converter.get();
  return item;
}

/// The planner's choices, with resampling already done: each sample is its own.
plan::Plan without_resampling(const plan::Plan& plan) {
  plan::Plan rest = plan;
  rest.kernel = Kernel::kNearest;
  for (int i = 0; i < plan.plane_count; ++i) {
    plan::PlanePlan& plane = rest.planes[static_cast<std::size_t>(i)];
    plane.component = i;
    plane.x = {plane.x.out_size, plane.x.out_size, 0, 1};
    plane.y = {plane.y.out_size, plane.y.out_size, 0, 1};
  }
  return rest;
}

/// The planner's resampling of the planes that have a stripe, and nothing behind it.
plan::Plan resampling_of(const plan::Plan& plan, std::span<const DeviceStages::Stripe> stripes) {
  plan::Plan part;
  part.kernel = plan.kernel;
  part.plane_count = static_cast<int>(stripes.size());
  for (std::size_t i = 0; i < stripes.size(); ++i) {
    part.planes[i] = plan.planes[static_cast<std::size_t>(stripes[i].plane)];
    part.planes[i].component = static_cast<int>(i);
  }
  // As far as encoding goes: a picture that nothing is done to.
  part.encode.component_count = part.plane_count;
  part.encode.width_px = part.planes[0].x.out_size;
  part.encode.height_px = part.planes[0].y.out_size;
  part.placement = {0, 0, part.encode.width_px, part.encode.height_px};
  return part;
}

}  // namespace

class DeviceStages::Impl {
 public:
  Impl(int device, codec::cuda::Transcoder transcoder, gpu::Stream stream)
      : device_(device), transcoder_(std::move(transcoder)), stream_(std::move(stream)) {}

  Result<void> decode(const Item& item);
  Result<void> picture(const Item& item);
  Result<void> resample(const plan::Plan& plan, std::span<const Stripe> stripes);
  Result<void> finish(const Request& request, std::span<const DevicePlane> planes);
  Result<DeviceStream> encode(const Request& request, std::span<const DevicePlane> planes,
                              std::span<const std::uint8_t> head);
  Result<void> copy_planes(std::span<const Target> targets);
  Result<std::vector<std::uint8_t>> read_plane(const DevicePlane& plane);
  [[nodiscard]] std::span<const DevicePlane> planes() const noexcept { return planes_; }

 private:
  Result<void> run(const Item& item);

  int device_;
  codec::cuda::Transcoder transcoder_;
  gpu::Stream stream_;  ///< of copies
  codec::cuda::HeaderCache headers_;
  std::vector<DevicePlane> planes_;
};

Result<void> DeviceStages::Impl::run(const Item& item) {
  planes_.clear();
  if (auto ok = gpu::use_device(device_); !ok) return ok;
  if (auto ok = codec::cuda::check_item(item); !ok) return ok;
  if (auto ok = transcoder_.enqueue({&item, 1}); !ok) return ok;
  if (auto ok = transcoder_.wait(); !ok) return ok;
  const codec::cuda::ImageResult result = transcoder_.result(0);
  if (result.status != 0)
    return fail(StatusCode::kUnsupported, codec::cuda::describe(result.status));
  if (result.missed_max_bytes)
    return fail(StatusCode::kUnsupported, "even the lowest quality is too large");
  return {};
}

Result<void> DeviceStages::Impl::decode(const Item& item) {
  if (auto ok = run(item); !ok) return ok;
  for (int c = 0; c < item.file->frame.component_count; ++c)
    planes_.push_back(transcoder_.plane(0, static_cast<std::size_t>(c)));
  return {};
}

Result<void> DeviceStages::Impl::picture(const Item& item) {
  if (auto ok = run(item); !ok) return ok;
  for (int c = 0; c < item.plan->encode.component_count; ++c)
    planes_.push_back(transcoder_.output_plane(0, static_cast<std::size_t>(c)));
  return {};
}

Result<void> DeviceStages::Impl::resample(const plan::Plan& plan, std::span<const Stripe> stripes) {
  if (stripes.empty() || stripes.size() > plan.planes.size())
    return fail(StatusCode::kInternal, "a picture has 1 to 4 planes with a stripe");
  const plan::Plan part = resampling_of(plan, stripes);
  std::vector<DevicePlane> planes;
  std::vector<codec::cuda::RowPart> rows;
  for (const Stripe& stripe : stripes) {
    planes.push_back(stripe.in);
    rows.push_back({stripe.out_first, stripe.out_count, stripe.in_first,
                    static_cast<std::int32_t>(stripe.in.height_px)});
  }
  Item item;
  item.plan = &part;
  item.planes = planes;
  item.parts = rows;
  item.encode = false;
  if (auto ok = run(item); !ok) return ok;
  for (std::size_t i = 0; i < stripes.size(); ++i) {
    DevicePlane plane = transcoder_.output_plane(0, i);
    // The encoder's view of it is of no matter here.
    plane.width_px = static_cast<std::uint32_t>(part.planes[i].x.out_size);
    plane.height_px = static_cast<std::uint32_t>(stripes[i].out_count);
    planes_.push_back(plane);
  }
  return {};
}

Result<void> DeviceStages::Impl::finish(const Request& request,
                                        std::span<const DevicePlane> planes) {
  const plan::Plan rest = without_resampling(request.plan);
  Item item = item_of(request);
  item.plan = &rest;
  item.planes = planes;
  item.encode = false;
  return picture(item);
}

Result<DeviceStream> DeviceStages::Impl::encode(const Request& request,
                                                std::span<const DevicePlane> planes,
                                                std::span<const std::uint8_t> head) {
  const plan::Plan rest = without_resampling(request.plan);
  headers_.trim();
  Item item = item_of(request);
  item.plan = &rest;
  item.planes = planes;
  item.header = headers_.get(head, rest.encode);
  if (auto ok = run(item); !ok) return fail(ok.error());
  const codec::cuda::ImageResult result = transcoder_.result(0);
  return DeviceStream{result.bytes, result.quality != 0 ? result.quality : rest.encode.quality};
}

Result<void> DeviceStages::Impl::copy_planes(std::span<const Target> targets) {
  if (targets.size() != planes_.size())
    return fail(StatusCode::kInternal, "as many targets as planes are needed");
  if (auto ok = gpu::use_device(device_); !ok) return ok;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const DevicePlane& from = planes_[i];
    const Target& to = targets[i];
    if (to.samples == nullptr) continue;
    // The rest of a row may hold what an earlier picture left there.
    if (to.pitch_bytes != from.width_px)
      if (auto ok = gpu::check(
              cudaMemsetAsync(to.samples, 0, std::size_t{to.pitch_bytes} * from.height_px,
                              stream_.get()),
              "clearing rows");
          !ok)
        return ok;
    const cudaError_t error =
        cudaMemcpy2DAsync(to.samples, to.pitch_bytes, from.samples, from.pitch_bytes, from.width_px,
                          from.height_px, cudaMemcpyDeviceToDevice, stream_.get());
    if (auto ok = gpu::check(error, "copying planes"); !ok) return ok;
  }
  return stream_.synchronise();
}

Result<std::vector<std::uint8_t>> DeviceStages::Impl::read_plane(const DevicePlane& plane) {
  if (auto ok = gpu::use_device(device_); !ok) return fail(ok.error());
  std::vector<std::uint8_t> samples(std::size_t{plane.width_px} * plane.height_px);
  const cudaError_t error =
      cudaMemcpy2DAsync(samples.data(), plane.width_px, plane.samples, plane.pitch_bytes,
                        plane.width_px, plane.height_px, cudaMemcpyDeviceToHost, stream_.get());
  if (auto ok = gpu::check(error, "reading planes"); !ok) return fail(ok.error());
  if (auto ok = stream_.synchronise(); !ok) return fail(ok.error());
  return samples;
}

Result<DeviceStages> DeviceStages::make(int device) {
  if (auto ok = gpu::use_listed_device(device); !ok) return fail(ok.error());
  auto transcoder = codec::cuda::Transcoder::make();
  if (!transcoder) return fail(transcoder.error());
  auto stream = gpu::Stream::make();
  if (!stream) return fail(stream.error());
  return DeviceStages(std::make_unique<Impl>(device, std::move(*transcoder), std::move(*stream)));
}

DeviceStages::DeviceStages(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DeviceStages::~DeviceStages() = default;
DeviceStages::DeviceStages(DeviceStages&&) noexcept = default;
DeviceStages& DeviceStages::operator=(DeviceStages&&) noexcept = default;

Result<void> DeviceStages::decode(const jpeg::JpegFile& file,
                                  const codec::Coefficients* coefficients,
                                  const plan::Scales& scales) {
  Item item;
  item.file = &file;
  item.coefficients = coefficients;
  item.scales = scales;
  return impl_->decode(item);
}
Result<void> DeviceStages::make_planes(const Request& request,
                                       const codec::Coefficients* coefficients) {
  Item item = item_of(request);
  item.coefficients = coefficients;
  item.encode = false;
  return impl_->picture(item);
}
Result<void> DeviceStages::resample(const plan::Plan& plan, std::span<const Stripe> stripes) {
  return impl_->resample(plan, stripes);
}
Result<void> DeviceStages::finish(const Request& request, std::span<const DevicePlane> planes) {
  return impl_->finish(request, planes);
}
Result<DeviceStream> DeviceStages::encode(const Request& request,
                                          std::span<const DevicePlane> planes,
                                          std::span<const std::uint8_t> head) {
  return impl_->encode(request, planes, head);
}
std::span<const DevicePlane> DeviceStages::planes() const noexcept { return impl_->planes(); }
Result<void> DeviceStages::copy_planes(std::span<const Target> targets) {
  return impl_->copy_planes(targets);
}
Result<std::vector<std::uint8_t>> DeviceStages::read_plane(const DevicePlane& plane) {
  return impl_->read_plane(plane);
}

}  // namespace framewire::engine
