#include <fmt/format.h>
#include <new>
#include <split/splitter.hpp>
#include <utility>

namespace framewire::split {

Result<std::unique_ptr<Splitter>> Splitter::make(std::size_t workers, std::size_t in_flight,
                                                 Form form) {
  if (workers == 0 || in_flight == 0) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("a split over {} workers with {} pictures in flight; 1 or more of each",
                            workers, in_flight));
  }
  std::deque<Scatter::Ends> channels;
  for (std::size_t i = 0; i < workers; ++i) {
    auto ends = transport::connect_loopback();
    if (!ends) return fail(ends.error());
    channels.push_back(std::move(*ends));
  }
  return std::unique_ptr<Splitter>(new Splitter(std::move(channels), in_flight, form));
}

Splitter::Splitter(std::deque<Scatter::Ends> channels, std::size_t in_flight, Form form)
    : workers_(channels.size()), in_flight_(in_flight), form_(form) {
  auto ready = [this](std::shared_ptr<Picture> picture) {
    const std::lock_guard lock(mutex_);
    resampled_.push_back(std::move(picture));
    changed_.notify_all();
  };
  scatter_ = std::make_unique<Scatter>(stages_, std::move(channels), std::move(ready));
  encoder_ = std::thread([this] { encoder_main(); });
}

Splitter::~Splitter() {
  drain();
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  encoder_.join();
}

void Splitter::submit(std::vector<std::uint8_t> jpeg, const ResizeOptions& options, Done done) {
  auto picture = std::make_shared<Picture>();
  picture->bytes = std::move(jpeg);
  picture->options = options;
  picture->done = std::move(done);
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return unanswered_ < in_flight_; });
    ++unanswered_;
    if (!spare_.empty()) {
      std::tie(picture->decoded, picture->resampled) = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  if (auto decoded = decode(*picture); !decoded)
    return answer(std::move(picture), fail(decoded.error()));
  scatter_->hand_in(std::move(picture));
}

Result<void> Splitter::decode(Picture& picture) try {
  engine::Request& request = picture.request;
  if (auto ok = engine::parse_request(picture.bytes, picture.options, base::Clock::now(),
                                      jpeg::ParseDepth::kWhole, request);
      !ok)
    return ok;
  if (auto ok = engine::plan_request(request, stages_.codec().capabilities(), converters_); !ok)
    return ok;
  if (form_ == Form::kJpeg)
    if (auto ok = engine::resize_gain_map(request, stages_.codec()); !ok) return ok;
  if (auto ok = picture.decoded.lay_out(codec::decoded_sizes(request.file, request.plan)); !ok)
    return ok;
  if (auto ok = picture.resampled.lay_out(codec::resampled_sizes(request.plan)); !ok) return ok;
  return stages_.decode(request.file, request.plan, request.context, picture.decoded.planes,
                        picture.outcome);
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, "memory ran out");
}

Result<Output> Splitter::finish(Picture& picture) try {
  if (picture.error) return fail(*picture.error);
  engine::Request& request = picture.request;
  auto planes = stages_.finish(request.plan, request.context, picture.resampled.planes);
  if (!planes) return fail(planes.error());
  Report& report = request.report;
  report.codec = stages_.codec().kind();
  report.codec_reason = fmt::format("split over {} workers", workers_);
  report.times.decode_resample_us = picture.outcome.decode_resample_us;
  Output output;
  output.planes = std::move(*planes);
  if (form_ == Form::kJpeg) {
    if (auto ok = encode(picture, output); !ok) return fail(ok.error());
    output.planes.planes.clear();
    return output;
  }
  engine::add_warnings(report, picture.outcome.warnings);
  auto finished = engine::finish_request(request, {});
  if (!finished) return fail(finished.error());
  output.resized = std::move(*finished);
  return output;
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, "memory ran out");
}

Result<void> Splitter::encode(Picture& picture, Output& output) {
  engine::Request& request = picture.request;
  auto stream = engine::make_head(request);
  if (!stream) return fail(stream.error());
  auto encoded = stages_.codec().encode(output.planes, request.plan.encode, request.context,
                                        *stream, picture.outcome);
  if (!encoded) return fail(encoded.error());
  request.report.quality = picture.outcome.quality;
  request.report.times.encode_us = picture.outcome.encode_us;
  engine::add_warnings(request.report, picture.outcome.warnings);
  auto finished = engine::finish_request(request, std::move(*stream));
  if (!finished) return fail(finished.error());
  output.resized = std::move(*finished);
  return {};
}

void Splitter::encoder_main() {
  while (true) {
    std::shared_ptr<Picture> picture;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stop_ || !resampled_.empty(); });
      if (resampled_.empty()) return;
      picture = std::move(resampled_.front());
      resampled_.pop_front();
    }
    auto result = finish(*picture);
    answer(std::move(picture), std::move(result));
  }
}

void Splitter::answer(std::shared_ptr<Picture> picture, Result<Output> result) {
  picture->done(std::move(result));
  const std::lock_guard lock(mutex_);
  // What a lost worker may still touch is not used again.
  if (!picture->error)
    spare_.emplace_back(std::move(picture->decoded), std::move(picture->resampled));
  --unanswered_;
  changed_.notify_all();
}

void Splitter::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return unanswered_ == 0; });
}

}  // namespace framewire::split
