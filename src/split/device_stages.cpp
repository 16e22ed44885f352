// The stages of a split on a GPU.
#include <codec/turbo/coefficient_reader.hpp>
#include <engine/device_stages.hpp>
#include <engine/device_verdict.hpp>
#include <mutex>
#include <split/stages.hpp>
#include <utility>

namespace framewire::split {
namespace {

std::vector<codec::DevicePlane> planes_of(const PlaneStack& stack) {
  std::vector<codec::DevicePlane> planes;
  for (std::size_t p = 0; p < stack.planes.size(); ++p) {
    const codec::PlaneView& plane = stack.planes[p];
    planes.push_back({plane.samples, static_cast<std::uint32_t>(plane.width_px),
                      static_cast<std::uint32_t>(plane.height_px),
                      static_cast<std::uint32_t>(stack.pitch_bytes[p])});
  }
  return planes;
}

engine::DeviceStages::Target target_of(const PlaneStack& stack, std::size_t plane) {
  return {reinterpret_cast<std::byte*>(stack.planes[plane].samples),
          static_cast<std::uint32_t>(stack.pitch_bytes[plane])};
}

class GpuStages final : public Stages {
 public:
  GpuStages(const Place& place, engine::DeviceStages stages)
      : place_(place), stages_(std::move(stages)) {}

  Place place() const noexcept override { return place_; }

  // The engine's way: what the GPU's entropy decoder never takes is read here first.
  Result<void> decode(Picture& picture) override {
    engine::Request& request = picture.request;
    if (auto ok = engine::check_for_cuda(request.file, request.plan, request.converter.get()); !ok)
      return ok;
    std::optional<codec::Coefficients> coefficients;
    if (engine::entropy_on_host(request.file.frame)) {
      auto read = codec::read_coefficients(request.file, request.context, picture.outcome);
      if (!read) return fail(read.error());
      coefficients = std::move(*read);
    }
    const std::lock_guard lock(mutex_);
    const auto start = base::Clock::now();
    if (auto ok = stages_.decode(request.file, coefficients ? &*coefficients : nullptr,
                                 request.plan.scales);
        !ok)
      return ok;
    // Components that the output has no use for, such as the chroma of a gray one, stay behind.
    std::vector<engine::DeviceStages::Target> targets(stages_.planes().size());
    for (std::size_t p = 0; p < picture.decoded.planes.size(); ++p)
      targets[static_cast<std::size_t>(request.plan.planes[p].component)] =
          target_of(picture.decoded, p);
    auto copied = stages_.copy_planes(targets);
    picture.outcome.decode_resample_us = base::elapsed_us(start);
    return copied;
  }

  Result<void> resample(const plan::Plan& plan, const Stripe& stripe, const PlaneStack& in,
                        const PlaneStack& out) override {
    const auto planes = planes_of(in);
    std::vector<engine::DeviceStages::Stripe> stripes;
    std::vector<engine::DeviceStages::Target> targets;
    for (std::size_t p = 0; p < stripe.size(); ++p) {
      const PlanePart& part = stripe[p];
      if (part.out.count == 0) continue;
      stripes.push_back(
          {static_cast<int>(p), part.out.first, part.out.count, part.in.first, planes[p]});
      targets.push_back(target_of(out, p));
    }
    if (auto ok = stages_.resample(plan, stripes); !ok) return ok;
    return stages_.copy_planes(targets);
  }

  Result<Output> finish(Picture& picture, Form form) override {
    engine::Request& request = picture.request;
    request.report.codec = CodecKind::kCuda;
    const auto planes = planes_of(picture.resampled);
    const auto start = base::Clock::now();
    auto made = form == Form::kJpeg ? encode(request, planes) : keep(request, planes);
    if (!made) return made;
    request.report.times.encode_us = base::elapsed_us(start);
    engine::add_warnings(request.report, picture.outcome.warnings);
    auto finished = engine::finish_request(request, std::move(made->resized.bytes));
    if (!finished) return fail(finished.error());
    made->resized = std::move(*finished);
    return made;
  }

 private:
  Result<Output> encode(engine::Request& request, std::span<const codec::DevicePlane> planes) {
    const auto head = engine::make_head(request);
    if (!head) return fail(head.error());
    const auto stream = stages_.encode(request, planes, *head);
    if (!stream) return fail(stream.error());
    request.report.quality = stream->quality;
    Output output;
    output.resized.bytes.assign(stream->bytes.begin(), stream->bytes.end());
    return output;
  }

  Result<Output> keep(const engine::Request& request, std::span<const codec::DevicePlane> planes) {
    if (auto ok = stages_.finish(request, planes); !ok) return fail(ok.error());
    Output output;
    for (const codec::DevicePlane& plane : stages_.planes()) {
      auto samples = stages_.read_plane(plane);
      if (!samples) return fail(samples.error());
      codec::Plane& kept = output.planes.planes.emplace_back();
      kept.width_px = static_cast<std::int32_t>(plane.width_px);
      kept.height_px = static_cast<std::int32_t>(plane.height_px);
      kept.samples = std::move(*samples);
    }
    return output;
  }

  Place place_;
  std::mutex mutex_;  ///< of decode()
  engine::DeviceStages stages_;
};

}  // namespace

Result<std::unique_ptr<Stages>> make_device_stages(int device) {
  auto stages = engine::DeviceStages::make(device);
  if (!stages) return fail(stages.error());
  const auto devices = transport::cuda_devices();
  if (!devices) return fail(devices.error());
  return std::make_unique<GpuStages>(Place{*devices, device}, std::move(*stages));
}

}  // namespace framewire::split
