#include <fmt/format.h>
#include <algorithm>
#include <base/no_memory.hpp>
#include <base/start_thread.hpp>
#include <engine/fallback.hpp>
#include <new>
#include <split/splitter.hpp>
#include <stdexcept>
#include <utility>

namespace framewire::split {
namespace {

using base::no_memory;

// What a caller's function throws is dropped: the splitter has others to serve.
void deliver(const PictureDone& done, Result<SplitOutput> answer) noexcept try {
  done(std::move(answer));
} catch (...) {
}

// Whether a worker was lost: it may still be at work on the group's pictures, and in their memory.
bool worker_failed(const Group& group) {
  return std::any_of(group.parcels.begin(), group.parcels.end(), [](const Parcel& parcel) {
    return parcel.lost && parcel.lost->code() != StatusCode::kBusy;
  });
}

}  // namespace

// On GPUs six groups are decoded at once, which is most of the work, four finished, and the others
// are in the workers' hands; more would only make groups smaller. The host works on pictures one by
// one, as its cores do.
Splitter::Splitter(std::size_t in_flight, PictureForm form, bool on_gpu)
    : form_(form),
      on_gpu_(on_gpu),
      lane_counts_(on_gpu ? LaneCounts{6, 4} : LaneCounts{1, 1}),
      bounds_(on_gpu ? PictureQueue::Bounds{in_flight, 128, 16}
                     : PictureQueue::Bounds{in_flight, 1, in_flight}),
      queue_(bounds_) {
  resampled_.reserve(bounds_.groups);
}

Result<std::unique_ptr<Splitter>> Splitter::make(std::size_t workers, std::size_t in_flight,
                                                 PictureForm form) try {
  Parties host;
  host.workers.assign(workers, -1);
  return make(host, in_flight, form);
} catch (const std::bad_alloc&) {
  return fail(no_memory());
}

Result<std::unique_ptr<Splitter>> Splitter::make(const Parties& parties, std::size_t in_flight,
                                                 PictureForm form) try {
  if (parties.workers.empty() || in_flight == 0) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("a split over {} workers with {} pictures in flight; 1 or more of each",
                            parties.workers.size(), in_flight));
  }
  std::vector<int> all = parties.workers;
  all.insert(all.end(), {parties.decoder, parties.encoder});
  const auto on_gpu = std::count_if(all.begin(), all.end(), [](int device) { return device >= 0; });
  if (on_gpu != 0 && on_gpu != static_cast<std::ptrdiff_t>(all.size())) {
    return fail(StatusCode::kInvalidInput, "a split over GPUs and the host; either, not both");
  }
  std::unique_ptr<Splitter> splitter(new Splitter(in_flight, form, on_gpu != 0));
  if (auto started = splitter->start(parties); !started) return fail(started.error());
  return splitter;
} catch (const std::bad_alloc&) {
  return fail(no_memory());
} catch (const std::length_error&) {  // more pictures in flight than any memory holds
  return fail(no_memory());
}

Result<std::unique_ptr<Stages>> Splitter::make_stages(int device) const {
  if (device >= 0) return make_device_stages(device);
  return make_host_stages(turbo_);
}

Result<void> Splitter::start(const Parties& parties) {
  for (std::size_t i = 0; i < lane_counts_.decoders; ++i) {
    auto decoder = make_stages(parties.decoder);
    if (!decoder) return fail(decoder.error());
    decoders_.push_back(std::move(*decoder));
  }
  for (std::size_t i = 0; i < lane_counts_.encoders; ++i) {
    auto encoder = make_stages(parties.encoder);
    if (!encoder) return fail(encoder.error());
    encoders_.push_back(std::move(*encoder));
  }
  gathered_at_ = encoders_.front()->place();
  std::deque<Scatter::NewWorker> workers;
  for (const int device : parties.workers) {
    auto ends = transport::connect_loopback();
    if (!ends) return fail(ends.error());
    auto stages = make_stages(device);
    if (!stages) return fail(stages.error());
    workers.push_back({std::move(*ends), std::move(*stages)});
  }
  reason_ = fmt::format("split over {} {}", workers.size(), on_gpu_ ? "GPUs" : "workers");
  scatter_ = std::make_unique<Scatter>(std::move(workers), bounds_.groups,
                                       [this](std::shared_ptr<Group> group) noexcept {
                                         const std::lock_guard lock(results_mutex_);
                                         resampled_.push_back(std::move(group));
                                         results_.notify_one();
                                       });
  auto started = scatter_->start();
  for (const auto& stages : decoders_) {
    if (!started) break;
    started =
        base::add_thread(threads_, "fw-split-decode", [this, &stages] { decoder_main(*stages); });
  }
  for (const auto& stages : encoders_) {
    if (!started) break;
    started =
        base::add_thread(threads_, "fw-split-encode", [this, &stages] { encoder_main(*stages); });
  }
  return started;
}

Splitter::~Splitter() {
  drain();
  queue_.end();
  {
    const std::lock_guard lock(results_mutex_);
    stop_ = true;
  }
  results_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Splitter::submit(std::vector<std::uint8_t> jpeg, const ResizeOptions& options,
                      PictureDone done) noexcept {
  std::unique_ptr<Picture> picture;
  try {
    picture = std::make_unique<Picture>();
    picture->options = options;
  } catch (const std::bad_alloc&) {
    return deliver(done, fail(no_memory()));
  }
  picture->bytes = std::move(jpeg);
  picture->done = std::move(done);
  picture->host_bytes = picture->bytes.size();
  queue_.admit(picture->host_bytes);
  auto answer = begin(*picture);
  if (!answer) return queue_.push(std::move(picture));
  deliver(picture->done, std::move(*answer));
  queue_.answered(*picture);
}

std::optional<Result<SplitOutput>> Splitter::begin(Picture& picture) try {
  if (auto planned = prepare(picture); !planned) return fail(std::move(planned.error()));
  const auto taken = decoders_.front()->prepare(picture);
  if (taken) return std::nullopt;
  return resize_whole(picture, taken.error());
} catch (const std::bad_alloc&) {
  return fail(no_memory());
}

Result<void> Splitter::prepare(Picture& picture) try {
  engine::Request& request = picture.request;
  if (auto ok = engine::parse_request(picture.bytes, picture.options, base::Clock::now(),
                                      jpeg::ParseDepth::kWhole, request);
      !ok) {
    return ok;
  }
  const auto side = on_gpu_ ? color::Side::kDevice : color::Side::kHost;
  if (auto ok = engine::plan_request(request, turbo_.codec().capabilities(), converters_, side);
      !ok) {
    return ok;
  }
  if (form_ == PictureForm::kJpeg) {
    if (auto ok = engine::resize_gain_map(request, turbo_.codec()); !ok) return ok;
  }
  request.report.codec_reason = reason_;
  for (const auto& [width, height] : codec::decoded_sizes(request.file, request.plan)) {
    picture.decoded_bytes += static_cast<std::uint64_t>(width) * static_cast<std::uint64_t>(height);
  }
  return {};
} catch (const std::bad_alloc&) {
  return fail(no_memory());
}

// Resizes on the CPU what a GPU leaves to it, as an engine does. Other errors stay what they are.
Result<SplitOutput> Splitter::resize_whole(const Picture& picture, const Status& why) try {
  if (!on_gpu_ || why.code() != StatusCode::kUnsupported) return fail(why);
  auto whole = std::make_unique<Picture>();
  whole->options = picture.options;
  engine::Request& request = whole->request;
  if (auto ok = engine::parse_fallback(picture.bytes, whole->options, base::Clock::now(),
                                       why.message(), request);
      !ok) {
    return fail(ok.error());
  }
  if (form_ == PictureForm::kPlanes) return planes_of_whole(std::move(whole), why);
  auto resized = engine::run_request(request, turbo_.codec(), why.message(), converters_);
  if (!resized) return fail(resized.error());
  SplitOutput output;
  output.resized = std::move(*resized);
  return output;
} catch (const std::bad_alloc&) {
  return fail(no_memory());
}

// Makes the planes of a parsed picture in one stripe on the host.
Result<SplitOutput> Splitter::planes_of_whole(std::unique_ptr<Picture> picture, const Status& why) {
  engine::Request& request = picture->request;
  if (auto ok = engine::plan_request(request, turbo_.codec().capabilities(), converters_); !ok) {
    return fail(ok.error());
  }
  request.report.codec_reason = why.message();
  picture->stripes = divide(turbo_, request.plan, 1);
  Group group;
  group.pictures.push_back(std::move(picture));
  Parcel& all = group.parcels.emplace_back();
  if (auto ok = all.decoded.lay_out(decoded_rows(group, 0), {}); !ok) return fail(ok.error());
  if (auto ok = all.resampled.lay_out(resampled_rows(group, 0), {}); !ok) return fail(ok.error());
  const auto host = make_host_stages(turbo_);
  if (auto ok = host->decode(group); !ok) return fail(ok.error());
  group.pictures.front()->undecoded = group.pictures.front()->error.has_value();
  if (auto ok = host->resample(group, 0, all.decoded, all.resampled); !ok) return fail(ok.error());
  auto outputs = host->make_outputs(group, form_);
  if (!outputs) return fail(outputs.error());
  return std::move(outputs->front());
}

void Splitter::decoder_main(Stages& stages) noexcept {
  while (true) {
    std::shared_ptr<Group> group;
    try {
      group = queue_.next_group();
      if (group == nullptr) return;
    } catch (const std::bad_alloc&) {
      refuse_oldest();
      continue;
    }
    if (auto decoded = decode(stages, *group); decoded) {
      scatter_->hand_in(std::move(group));
    } else {
      give_up(*group, decoded.error());
    }
  }
}

// Answers a picture for which there is not even memory for a group.
void Splitter::refuse_oldest() noexcept {
  const auto picture = queue_.take_oldest();
  if (picture == nullptr) return;
  deliver(picture->done, fail(no_memory()));
  queue_.answered(*picture);
}

// Frees the memory that all stages keep. They are idle: the one group in work has not begun.
void Splitter::let_go() {
  queue_.let_go();
  for (const auto* all : {&decoders_, &encoders_}) {
    for (const auto& stages : *all) (void)stages->let_go();  // what fails here fails again at work
  }
}

Result<void> Splitter::decode(Stages& stages, Group& group) try {
  if (is_alone(group)) let_go();
  if (auto ready = lay_out(group, stages.place()); !ready) return ready;
  if (auto decoded = stages.decode(group); !decoded) return decoded;
  for (const auto& picture : group.pictures) picture->undecoded = picture->error.has_value();
  return {};
} catch (const std::bad_alloc&) {
  return fail(no_memory());
}

// Divides the pictures among the workers that there are.
Result<void> Splitter::lay_out(Group& group, const MemoryPlace& from) try {
  const std::vector<std::size_t> active = scatter_->active_workers();
  if (active.empty()) return fail(StatusCode::kPeerLost, "no device of the split is left");
  group.parcels.resize(scatter_->workers());
  for (const auto& picture : group.pictures) {
    auto parts = divide(turbo_, picture->request.plan, active.size());
    picture->stripes.assign(group.parcels.size(), {});
    for (std::size_t i = 0; i < active.size(); ++i) {
      picture->stripes[active[i]] = std::move(parts[i]);
    }
  }
  for (std::size_t w = 0; w < group.parcels.size(); ++w) {
    Parcel& parcel = group.parcels[w];
    if (auto ok = parcel.decoded.lay_out(decoded_rows(group, w), from); !ok) return ok;
    if (auto ok = parcel.resampled.lay_out(resampled_rows(group, w), gathered_at_); !ok) return ok;
  }
  return {};
} catch (const std::bad_alloc&) {
  return fail(no_memory());
}

void Splitter::encoder_main(Stages& stages) noexcept {
  while (true) {
    std::shared_ptr<Group> group;
    {
      std::unique_lock lock(results_mutex_);
      results_.wait(lock, [this] { return stop_ || !resampled_.empty(); });
      if (resampled_.empty()) return;
      group = std::move(resampled_.front());
      resampled_.erase(resampled_.begin());
    }
    conclude(stages, *group);
  }
}

void Splitter::conclude(Stages& stages, Group& group) noexcept {
  const auto refused = std::find_if(group.parcels.begin(), group.parcels.end(),
                                    [](const Parcel& parcel) { return parcel.lost.has_value(); });
  if (refused != group.parcels.end() && !worker_failed(group)) {
    return give_up(group, *refused->lost);
  }
  if (auto noted = note_losses(group); !noted) return give_up(group, noted.error());
  answer(stages, group);
}

Result<void> Splitter::note_losses(Group& group) try {
  for (const auto& picture : group.pictures) {
    picture->request.report.times.decode_resample_us = picture->outcome.decode_resample_us;
    for (std::size_t w = 0; w < group.parcels.size() && !picture->error; ++w) {
      if (!is_empty(picture->stripes[w])) picture->error = group.parcels[w].lost;
    }
  }
  return {};
} catch (const std::bad_alloc&) {
  return fail(no_memory());
}

void Splitter::answer(Stages& stages, Group& group) noexcept {
  auto outputs = base::unless_memory_runs_out([&] { return stages.make_outputs(group, form_); });
  if (!outputs) return give_up(group, outputs.error());
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    const Picture& picture = *group.pictures[i];
    auto& output = (*outputs)[i];
    deliver(picture.done, output ? std::move(output) : resize_whole(picture, output.error()));
  }
  queue_.done(group);
}

// Answers a group of which nothing could be made. Where a GPU's memory ran out, tries it again.
void Splitter::give_up(Group& group, const Status& why) noexcept {
  if (on_gpu_ && why.code() == StatusCode::kBusy && !is_alone(group) && !worker_failed(group)) {
    return queue_.again(group);
  }
  for (const auto& picture : group.pictures) deliver(picture->done, resize_whole(*picture, why));
  queue_.done(group);
}

}  // namespace framewire::split
