#include "frame_source.hpp"
#include <algorithm>
#include <batch/input_file.hpp>
#include <codec/codec.hpp>
#include <cstring>
#include <engine/request.hpp>

namespace framewire::app {

using frames::FrameFormat;
using frames::OutgoingFrame;

Result<transport::Region> FrameMemory::take(std::uint64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(spare_.begin(), spare_.end(),
                                    [&](const auto& region) { return region.size() >= bytes; });
    if (found != spare_.end()) {
      transport::Region region = std::move(*found);
      spare_.erase(found);
      return region;
    }
    // Smaller ones would only pile up.
    if (!spare_.empty()) spare_.erase(spare_.begin());
  }
  return transport::Region::allocate_host(static_cast<std::size_t>(bytes));
}

void FrameMemory::give_back(transport::Region region) {
  const std::lock_guard lock(mutex_);
  spare_.push_back(std::move(region));
}

Result<void> FrameMaker::fill(OutgoingFrame& frame, std::span<const std::uint8_t> jpeg) const {
  auto memory = memory_.take(jpeg.size());
  if (!memory) return fail(memory.error());
  std::memcpy(memory->data(), jpeg.data(), jpeg.size());
  frame.memory = std::move(*memory);
  frame.header.format = FrameFormat::kJpeg;
  frame.header.payload_bytes = jpeg.size();
  return {};
}

Result<OutgoingFrame> FrameMaker::file(std::span<const std::uint8_t> jpeg) const {
  engine::Request request;
  const ResizeOptions limits;
  if (auto parsed = engine::parse_request(jpeg, limits, base::Clock::now(),
                                          jpeg::ParseDepth::kThroughFirst, request);
      !parsed) {
    return fail(parsed.error());
  }
  OutgoingFrame frame;
  frame.header.width_px = request.file.frame.width_px;
  frame.header.height_px = request.file.frame.height_px;
  if (auto filled = fill(frame, jpeg); !filled) return fail(filled.error());
  return frame;
}

Result<OutgoingFrame> FrameMaker::resized(std::span<const std::uint8_t> jpeg) const {
  const auto made = backend_.resize(jpeg, options_);
  if (!made) return fail(made.error());
  OutgoingFrame frame;
  frame.header.width_px = made->report.output.width_px;
  frame.header.height_px = made->report.output.height_px;
  if (auto filled = fill(frame, made->bytes); !filled) return fail(filled.error());
  return frame;
}

Result<OutgoingFrame> FrameMaker::planes(std::span<const std::uint8_t> jpeg) const {
  engine::Request request;
  if (auto parsed = engine::parse_request(jpeg, options_, base::Clock::now(),
                                          jpeg::ParseDepth::kWhole, request);
      !parsed) {
    return fail(parsed.error());
  }
  const auto model = request.file.color_model;
  if (model != jpeg::ColorModel::kGray && model != jpeg::ColorModel::kYcbcr) {
    return fail(StatusCode::kUnsupported, "planes of CMYK or RGB; gray and YCbCr travel as planes");
  }
  const auto route = router_.choose(options_.codec);
  if (!route) return fail(route.error());
  codec::Outcome outcome;
  const auto decoded =
      route->codec->decode(request.file, plan::kFullScale, request.context, outcome);
  if (!decoded) return fail(decoded.error());
  OutgoingFrame frame;
  frame.header.format = FrameFormat::kPlanes;
  frame.header.width_px = request.file.frame.width_px;
  frame.header.height_px = request.file.frame.height_px;
  frame.header.orientation = request.file.orientation;
  frame.header.plane_count = static_cast<int>(decoded->planes.size());
  for (std::size_t i = 0; i < decoded->planes.size(); ++i) {
    const codec::Plane& plane = decoded->planes[i];
    frame.header.planes[i] = {plane.width_px, plane.height_px,
                              static_cast<std::uint32_t>(plane.width_px)};
    frame.header.payload_bytes += frame.header.planes[i].bytes();
  }
  auto memory = memory_.take(frame.header.payload_bytes);
  if (!memory) return fail(memory.error());
  std::byte* to = memory->data();
  for (const codec::Plane& plane : decoded->planes) {
    std::memcpy(to, plane.samples.data(), plane.samples.size());
    to += plane.samples.size();
  }
  frame.memory = std::move(*memory);
  return frame;
}

Result<OutgoingFrame> FrameMaker::make(const std::string& path) const {
  const auto input = batch::InputFile::open(path);
  if (!input) return fail(input.error());
  const auto bytes = input->read(options_.limits.max_input_bytes);
  if (!bytes) return fail(bytes.error());
  auto frame = kind_ == FrameKind::kFile      ? file(*bytes)
               : kind_ == FrameKind::kResized ? resized(*bytes)
                                              : planes(*bytes);
  if (!frame) return fail(batch::about_file(frame.error(), path));
  return frame;
}

}  // namespace framewire::app
