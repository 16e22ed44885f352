#include "device_frames.hpp"
#include <engine/request.hpp>
#include <utility>

namespace framewire::app {

using engine::DeviceStages;
using engine::Request;
using frames::OutgoingFrame;

namespace {

/// What the encoder of this library takes, so that a sink's GPU can go on with the planes as they
/// arrive.
constexpr std::uint32_t kPitch_bytes = 16;

Result<void> check_model(const Request& request, bool resize) {
  const auto model = request.file.color_model;
  const bool kept = model == jpeg::ColorModel::kGray || model == jpeg::ColorModel::kYcbcr;
  if (resize ? request.plan.encode.model != plan::OutputModel::kCmyk : kept) return {};
  return fail(StatusCode::kUnsupported, "planes of CMYK or RGB; gray and YCbCr travel as planes");
}

}  // namespace

Result<std::unique_ptr<DeviceFrames>> DeviceFrames::make(int device, FrameMemory& memory) {
  std::unique_ptr<DeviceFrames> made(new DeviceFrames(device, memory));
  auto first = made->take();
  if (!first) return fail(first.error());
  made->give_back(std::move(*first));
  return made;
}

Result<DeviceStages> DeviceFrames::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!spare_.empty()) {
      DeviceStages stages = std::move(spare_.back());
      spare_.pop_back();
      return stages;
    }
  }
  return DeviceStages::make(device_);
}

void DeviceFrames::give_back(DeviceStages stages) {
  const std::lock_guard lock(mutex_);
  spare_.push_back(std::move(stages));
}

Result<OutgoingFrame> DeviceFrames::pack(DeviceStages& stages) {
  OutgoingFrame frame;
  frame.header.format = frames::FrameFormat::kPlanes;
  std::vector<DeviceStages::Target> targets;
  for (const codec::DevicePlane& plane : stages.planes()) {
    const std::uint32_t pitch = (plane.width_px + kPitch_bytes - 1) / kPitch_bytes * kPitch_bytes;
    frames::PlaneShape& shape = frame.header.planes[targets.size()];
    shape = {static_cast<std::int32_t>(plane.width_px), static_cast<std::int32_t>(plane.height_px),
             pitch};
    targets.push_back({nullptr, pitch});
    frame.header.payload_bytes += shape.bytes();
  }
  frame.header.plane_count = static_cast<int>(targets.size());
  auto memory = memory_.take(frame.header.payload_bytes);
  if (!memory) return fail(memory.error());
  std::byte* to = memory->data();
  for (std::size_t i = 0; i < targets.size(); ++i) {
    targets[i].samples = to;
    to += frame.header.planes[i].bytes();
  }
  if (auto copied = stages.copy_planes(targets); !copied) {
    memory_.give_back(std::move(*memory));
    return fail(copied.error());
  }
  frame.memory = std::move(*memory);
  return frame;
}

Result<OutgoingFrame> DeviceFrames::planes(std::span<const std::uint8_t> jpeg,
                                           const ResizeOptions& options, bool resize) {
  Request request;
  auto good =
      engine::parse_request(jpeg, options, base::Clock::now(), jpeg::ParseDepth::kWhole, request);
  if (good && resize) good = engine::plan_request(request, {}, converters_);
  if (good) good = check_model(request, resize);
  if (!good) return fail(good.error());
  auto stages = take();
  if (!stages) return fail(stages.error());
  const auto made = engine::read_planes(*stages, request, resize);
  Result<OutgoingFrame> frame = made ? pack(*stages) : fail(made.error());
  give_back(std::move(*stages));
  if (!frame) return frame;
  const jpeg::FrameHeader& whole = request.file.frame;
  frame->header.width_px = resize ? request.plan.encode.width_px : whole.width_px;
  frame->header.height_px = resize ? request.plan.encode.height_px : whole.height_px;
  frame->header.orientation = resize ? 1 : request.file.orientation;
  return frame;
}

}  // namespace framewire::app
