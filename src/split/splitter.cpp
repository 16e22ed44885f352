#include <fmt/format.h>
#include <algorithm>
#include <new>
#include <split/splitter.hpp>
#include <utility>

namespace framewire::split {

Result<std::unique_ptr<Splitter>> Splitter::make(std::size_t workers, std::size_t in_flight,
                                                 Form form) {
  Parties host;
  host.workers.assign(workers, -1);
  return make(host, in_flight, form);
}

Result<std::unique_ptr<Splitter>> Splitter::make(const Parties& parties, std::size_t in_flight,
                                                 Form form) {
  if (parties.workers.empty() || in_flight == 0) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("a split over {} workers with {} pictures in flight; 1 or more of each",
                            parties.workers.size(), in_flight));
  }
  std::vector<int> all = parties.workers;
  all.insert(all.end(), {parties.decoder, parties.encoder});
  const auto on_gpu = std::count_if(all.begin(), all.end(), [](int device) { return device >= 0; });
  if (on_gpu != 0 && on_gpu != static_cast<std::ptrdiff_t>(all.size()))
    return fail(StatusCode::kInvalidInput, "a split over GPUs and the host; either, not both");
  std::unique_ptr<Splitter> splitter(new Splitter(in_flight, form));
  if (auto hired = splitter->hire(parties); !hired) return fail(hired.error());
  return splitter;
}

Result<std::unique_ptr<Stages>> Splitter::make_stages(int device) const {
  if (device >= 0) return make_device_stages(device);
  return make_host_stages(turbo_);
}

Result<void> Splitter::hire(const Parties& parties) {
  auto decoder = make_stages(parties.decoder);
  if (!decoder) return fail(decoder.error());
  auto finisher = make_stages(parties.encoder);
  if (!finisher) return fail(finisher.error());
  std::deque<Scatter::Hire> workers;
  for (const int device : parties.workers) {
    auto ends = transport::connect_loopback();
    if (!ends) return fail(ends.error());
    auto stages = make_stages(device);
    if (!stages) return fail(stages.error());
    workers.push_back({std::move(*ends), std::move(*stages)});
  }
  reason_ =
      fmt::format("split over {} {}", workers.size(), parties.decoder >= 0 ? "GPUs" : "workers");
  decoder_ = std::move(*decoder);
  finisher_ = std::move(*finisher);
  auto ready = [this](std::shared_ptr<Picture> picture) {
    const std::lock_guard lock(mutex_);
    resampled_.push_back(std::move(picture));
    changed_.notify_all();
  };
  scatter_ = std::make_unique<Scatter>(turbo_, std::move(workers), std::move(ready));
  encoder_ = std::thread([this] { encoder_main(); });
  return {};
}

Splitter::~Splitter() {
  if (!encoder_.joinable()) return;  // it was never complete
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
  if (auto prepared = prepare(*picture); !prepared)
    return answer(std::move(picture), fail(prepared.error()));
  if (auto decoded = decode(*picture); !decoded) {
    auto whole = resize_whole(*picture, decoded.error());
    return answer(std::move(picture), std::move(whole));
  }
  scatter_->hand_in(std::move(picture));
}

Result<void> Splitter::prepare(Picture& picture) try {
  engine::Request& request = picture.request;
  if (auto ok = engine::parse_request(picture.bytes, picture.options, base::Clock::now(),
                                      jpeg::ParseDepth::kWhole, request);
      !ok)
    return ok;
  if (auto ok = engine::plan_request(request, turbo_.codec().capabilities(), converters_); !ok)
    return ok;
  if (form_ == Form::kJpeg)
    if (auto ok = engine::resize_gain_map(request, turbo_.codec()); !ok) return ok;
  if (auto ok = picture.decoded.lay_out(codec::decoded_sizes(request.file, request.plan),
                                        decoder_->place());
      !ok)
    return ok;
  return picture.resampled.lay_out(codec::resampled_sizes(request.plan), finisher_->place());
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, "memory ran out");
}

Result<void> Splitter::decode(Picture& picture) try {
  return decoder_->decode(picture);
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, "memory ran out");
}

Result<Output> Splitter::finish(Picture& picture) try {
  if (picture.error) return fail(*picture.error);
  Report& report = picture.request.report;
  report.codec_reason = reason_;
  report.times.decode_resample_us = picture.outcome.decode_resample_us;
  auto output = finisher_->finish(picture, form_);
  if (!output) return resize_whole(picture, output.error());
  return output;
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, "memory ran out");
}

// What a GPU leaves to the CPU, as an engine does it; other errors stay what they are.
Result<Output> Splitter::resize_whole(Picture& picture, const Status& why) try {
  if (decoder_->place().devices == nullptr || why.code() != StatusCode::kUnsupported)
    return fail(why);
  if (picture.options.strict)
    return fail(
        StatusCode::kUnsupported,
        "codec_fallback: " + why.message() + " (strict accepts no other codec than the one named)");
  Picture whole;
  whole.options = picture.options;
  engine::Request& request = whole.request;
  if (auto ok = engine::parse_request(picture.bytes, whole.options, base::Clock::now(),
                                      jpeg::ParseDepth::kWhole, request);
      !ok)
    return fail(ok.error());
  request.report.warnings.push_back({"codec_fallback", why.message(), {}});
  if (form_ == Form::kPlanes) return planes_of_whole(whole, why);
  auto resized = engine::run_request(request, turbo_.codec(), why.message(), converters_);
  if (!resized) return fail(resized.error());
  Output output;
  output.resized = std::move(*resized);
  return output;
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, "memory ran out");
}

Result<Output> Splitter::planes_of_whole(Picture& picture, const Status& why) {
  engine::Request& request = picture.request;
  const plan::Plan& plan = request.plan;
  if (auto ok = engine::plan_request(request, turbo_.codec().capabilities(), converters_); !ok)
    return fail(ok.error());
  request.report.codec_reason = why.message();
  if (auto ok = picture.decoded.lay_out(codec::decoded_sizes(request.file, plan), {}); !ok)
    return fail(ok.error());
  if (auto ok = picture.resampled.lay_out(codec::resampled_sizes(plan), {}); !ok)
    return fail(ok.error());
  const auto host = make_host_stages(turbo_);
  if (auto ok = host->decode(picture); !ok) return fail(ok.error());
  const Stripe all = divide(turbo_, plan, 1).front();
  for (std::size_t p = 0; p < all.size(); ++p) {
    const Stretch in = stretch_of(picture.decoded, p, all[p].in);
    turbo_.resample(
        plan, static_cast<int>(p), all[p].out,
        reinterpret_cast<const std::uint8_t*>(picture.decoded.memory.data() + in.offset_bytes),
        picture.resampled.planes[p].samples);
  }
  return host->finish(picture, form_);
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
