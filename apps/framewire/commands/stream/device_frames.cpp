#include <commands/stream/device_frames.hpp>
#include <engine/device_verdict.hpp>
#include <new>
#include <utility>

namespace framewire::app {

using engine::DeviceStages;
using engine::Request;
using frames::OutgoingFrame;

namespace {

/// What the encoder of this library takes, so that a sink's GPU can go on with the planes as they
/// arrive.
constexpr std::uint32_t kPitch_bytes = 16;
/// While one lane's frames are decoded, others' are prepared and packed.
constexpr std::size_t kLanes = 4;
/// Bounds on what a lane takes at once: frames, and bytes of decoded samples where there are
/// several.
constexpr std::size_t kMaxFrames = 128;
constexpr std::uint64_t kMaxBytes = 64u << 20;

Result<void> check_model(const Request& request, bool resize) {
  const auto model = request.file.color_model;
  const bool kept = model == jpeg::ColorModel::kGray || model == jpeg::ColorModel::kYcbcr;
  if (resize ? request.plan.encode.model != plan::OutputModel::kCmyk : kept) return {};
  return fail(StatusCode::kUnsupported, "planes of CMYK or RGB; gray and YCbCr travel as planes");
}

}  // namespace

Result<std::unique_ptr<DeviceFrames>> DeviceFrames::make(int device, FrameMemory& memory,
                                                         bool resize) {
  std::unique_ptr<DeviceFrames> made(new DeviceFrames(memory, resize));
  for (std::size_t i = 0; i < kLanes; ++i) {
    auto stages = DeviceStages::make(device);
    if (!stages) return fail(stages.error());
    made->stages_.push_back(std::move(*stages));
  }
  for (DeviceStages& stages : made->stages_) {
    made->lanes_.emplace_back([frames = made.get(), &stages] { frames->lane_main(stages); });
  }
  return made;
}

DeviceFrames::~DeviceFrames() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  added_.notify_all();
  for (std::thread& lane : lanes_) lane.join();
}

void DeviceFrames::add(std::vector<std::uint8_t> jpeg, const ResizeOptions& options, Done done) {
  auto job = std::make_unique<Job>();
  job->jpeg = std::move(jpeg);
  if (auto good = prepare(*job, options); !good) return done(fail(good.error()));
  job->done = std::move(done);
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(job));
  added_.notify_one();
}

Result<void> DeviceFrames::prepare(Job& job, const ResizeOptions& options) try {
  Request& request = job.request;
  auto good = engine::parse_request(job.jpeg, options, base::Clock::now(), jpeg::ParseDepth::kWhole,
                                    request);
  if (good && resize_) good = engine::plan_request(request, {}, converters_, color::Side::kDevice);
  if (good) good = check_model(request, resize_);
  if (!good) return good;
  const jpeg::FrameHeader& whole = request.file.frame;
  job.decoded_bytes = static_cast<std::uint64_t>(whole.width_px) *
                      static_cast<std::uint64_t>(whole.height_px) *
                      static_cast<std::uint64_t>(whole.component_count);
  return engine::entropy_on_host(whole) ? read_on_host(job) : Result<void>{};
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, "memory ran out");
}

Result<void> DeviceFrames::read_on_host(Job& job) {
  codec::CodecOutcome outcome;  // warnings of frames have no reader
  auto read = engine::read_on_host(job.request, outcome);
  if (!read) return fail(read.error());
  job.coefficients = std::move(*read);
  return {};
}

DeviceFrames::Jobs DeviceFrames::next() {
  std::unique_lock lock(mutex_);
  added_.wait(lock, [this] { return ended_ || !queue_.empty(); });
  Jobs jobs;
  std::uint64_t bytes = 0;
  while (!queue_.empty() && jobs.size() < kMaxFrames) {
    bytes += queue_.front()->decoded_bytes;
    if (bytes > kMaxBytes && !jobs.empty()) break;
    jobs.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return jobs;
}

void DeviceFrames::lane_main(DeviceStages& stages) {
  while (true) {
    Jobs jobs = next();
    if (jobs.empty()) return;
    // What the GPU gives up, the host reads.
    Jobs damaged = run(stages, std::move(jobs));
    Jobs again;
    for (auto& job : damaged) {
      if (auto read = read_on_host(*job); !read) {
        job->done(fail(read.error()));
      } else {
        again.push_back(std::move(job));
      }
    }
    if (!again.empty()) static_cast<void>(run(stages, std::move(again)));
  }
}

Result<void> DeviceFrames::decode(DeviceStages& stages, const Jobs& jobs) const {
  std::vector<DeviceStages::Source> sources;
  std::vector<DeviceStages::Planned> planned;
  for (const auto& job : jobs) {
    const auto* coefficients = job->coefficients ? &*job->coefficients : nullptr;
    if (resize_) {
      planned.push_back({&job->request, coefficients});
    } else {
      sources.push_back({&job->request.file, coefficients, plan::kFullScale});
    }
  }
  return resize_ ? stages.make_planes(planned) : stages.decode(sources);
}

// @return those that the host has to read first
DeviceFrames::Jobs DeviceFrames::run(DeviceStages& stages, Jobs jobs) {
  const auto decoded = decode(stages, jobs);
  std::vector<Result<OutgoingFrame>> made;
  std::vector<DeviceStages::Copy> copies;
  Jobs left;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Result<void>& result = decoded ? stages.result(i) : decoded;
    if (!result && result.error().code() == StatusCode::kUnsupported && !jobs[i]->coefficients) {
      left.push_back(std::move(jobs[i]));
      made.push_back(fail(result.error()));
    } else {
      made.push_back(result ? lay_out(*jobs[i], stages.planes(i), copies) : fail(result.error()));
    }
  }
  const auto copied = stages.copy(copies);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i] == nullptr) continue;
    if (made[i] && !copied) {
      memory_.give_back(std::move(made[i]->memory));
      made[i] = fail(copied.error());
    }
    jobs[i]->done(std::move(made[i]));
  }
  return left;
}

// A frame, and the copies that fill it.
Result<OutgoingFrame> DeviceFrames::lay_out(const Job& job, std::span<const DevicePlane> planes,
                                            std::vector<DeviceStages::Copy>& copies) {
  OutgoingFrame frame;
  frames::PictureHeader& header = frame.header;
  header.format = frames::FrameFormat::kPlanes;
  const jpeg::JpegFile& file = job.request.file;
  header.width_px = resize_ ? job.request.plan.encode.width_px : file.frame.width_px;
  header.height_px = resize_ ? job.request.plan.encode.height_px : file.frame.height_px;
  header.orientation = resize_ ? 1 : file.orientation;
  header.plane_count = static_cast<int>(planes.size());
  for (std::size_t i = 0; i < planes.size(); ++i) {
    const std::uint32_t pitch =
        (static_cast<std::uint32_t>(planes[i].width_px) + kPitch_bytes - 1) / kPitch_bytes *
        kPitch_bytes;
    header.planes[i] = {planes[i].width_px, planes[i].height_px, pitch};
    header.payload_bytes += header.planes[i].bytes();
  }
  auto memory = memory_.take(header.payload_bytes);
  if (!memory) return fail(memory.error());
  auto* to = reinterpret_cast<std::uint8_t*>(memory->data());
  for (std::size_t i = 0; i < planes.size(); ++i) {
    copies.push_back({planes[i], to, header.planes[i].pitch_bytes});
    to += header.planes[i].bytes();
  }
  frame.memory = std::move(*memory);
  return frame;
}

}  // namespace framewire::app
