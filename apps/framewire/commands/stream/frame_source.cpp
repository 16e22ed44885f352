#include <algorithm>
#include <codec/codec.hpp>
#include <commands/stream/frame_source.hpp>
#include <cstring>
#include <engine/request.hpp>

namespace framewire::app {

using frames::FrameFormat;
using frames::OutgoingFrame;

FrameMaker::FrameMaker(FrameKind kind, const ResizeOptions& options, Engine& engine,
                       FrameMemory& memory, DeviceFrames* device)
    : kind_(kind), options_(options), engine_(engine), memory_(memory), device_(device) {
  into_slices_ = kind == FrameKind::kResized && !engine.devices().empty();
}

// The file is read to where it is sent from.
Result<OutgoingFrame> FrameMaker::file(const batch::InputFile& input) const {
  const ResizeOptions limits;
  if (auto fit = input.check_size(limits.limits.max_input_bytes); !fit) return fail(fit.error());
  auto memory = memory_.take(std::max<std::uint64_t>(input.bytes(), 1));
  if (!memory) return fail(memory.error());
  const std::span jpeg(reinterpret_cast<std::uint8_t*>(memory->data()),
                       static_cast<std::size_t>(input.bytes()));
  engine::Request request;
  auto good = input.read_into(jpeg);
  if (good) {
    good = engine::parse_request(jpeg, limits, base::Clock::now(), jpeg::ParseDepth::kThroughFirst,
                                 request);
  }
  if (!good) {
    memory_.give_back(std::move(*memory));
    return fail(good.error());
  }
  OutgoingFrame frame;
  frame.header.width_px = request.file.frame.width_px;
  frame.header.height_px = request.file.frame.height_px;
  frame.header.payload_bytes = jpeg.size();
  frame.memory = std::move(*memory);
  return frame;
}

Result<OutgoingFrame> FrameMaker::packed(const Result<Resized>& made) const {
  if (!made) return fail(made.error());
  OutgoingFrame frame;
  frame.header.width_px = made->report.output.width_px;
  frame.header.height_px = made->report.output.height_px;
  frame.header.payload_bytes = made->bytes.size();
  auto memory = memory_.take(made->bytes.size());
  if (!memory) return fail(memory.error());
  std::memcpy(memory->data(), made->bytes.data(), made->bytes.size());
  frame.memory = std::move(*memory);
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
  codec::CodecOutcome outcome;
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

// Without the engine's memory each file has its own; so has one that does not say its size.
Result<InputSlice> FrameMaker::read(const batch::InputFile& input) const {
  const std::uint64_t limit = options_.limits.max_input_bytes;
  if (into_slices_ && input.bytes() > 0) {
    if (auto fit = input.check_size(limit); !fit) return fail(fit.error());
    auto slice = engine_.input_slice(static_cast<std::size_t>(input.bytes()));
    if (slice) {
      if (auto got = input.read_into(slice->bytes); !got) return fail(got.error());
      return slice;
    }
  }
  auto bytes = input.read(limit);
  if (!bytes) return fail(bytes.error());
  const auto kept = std::make_shared<std::vector<std::uint8_t>>(std::move(*bytes));
  return InputSlice{*kept, kept};
}

void FrameMaker::made_of(const batch::InputFile& input, Made done) const {
  if (kind_ == FrameKind::kFile) return done(file(input));
  if (kind_ == FrameKind::kResized) {
    auto jpeg = read(input);
    if (!jpeg) return done(fail(jpeg.error()));
    engine_.submit(jpeg->bytes, options_,
                   [this, keeper = jpeg->keeper,
                    done = std::move(done)](const Result<Resized>& made) { done(packed(made)); });
    return;
  }
  auto bytes = input.read(options_.limits.max_input_bytes);
  if (!bytes) return done(fail(bytes.error()));
  if (device_ != nullptr) {
    device_->add(std::move(*bytes), options_, std::move(done));
  } else {
    done(planes(*bytes));
  }
}

void FrameMaker::make(const std::string& path, FramesAhead::Done done) const {
  const auto input = batch::InputFile::open(path);
  if (!input) return done(fail(input.error()), 0);
  made_of(*input,
          [path, bytes = input->bytes(), done = std::move(done)](Result<OutgoingFrame> frame) {
            if (!frame) return done(fail(batch::about_file(frame.error(), path)), bytes);
            done(std::move(frame), bytes);
          });
}

}  // namespace framewire::app
