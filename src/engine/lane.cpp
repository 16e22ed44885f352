#include <fmt/format.h>
#include <algorithm>
#include <engine/device_verdict.hpp>
#include <engine/lane.hpp>
#include <exception>
#include <new>

namespace framewire::engine {
namespace {

/// Images of a batch below which sharing does not pay: a launch costs the same for one image, and
/// takes the driver's time from other lanes. Measured (H200, 64 requests under way, 1920×1080 →
/// 480×270): 4 made 25,800 images/s, 8 28,700 and 16 34,600 while each launch went to the driver by
/// itself; as graphs 8 made 42,900 and 16 36,200.
constexpr std::size_t kMinShare = 8;

codec::BatchItem item_of(const Work& work) {
  return {&work.request.file,
          &work.request.plan,
          work.head,
          work.request.converter.get(),
          work.coefficients ? &*work.coefficients : nullptr,
          work.traits.pinned,
          work.options.strict};
}

std::string why_too_large(const codec::BatchMemory& need, const codec::BatchMemory& bound) {
  const auto describe = [](std::uint64_t bytes, std::string_view of, std::uint64_t most) {
    return fmt::format("it needs {} MB of {} memory; a batch may take {} MB", bytes >> 20, of,
                       most >> 20);
  };
  return need.device_bytes > bound.device_bytes
             ? describe(need.device_bytes, "GPU", bound.device_bytes)
             : describe(need.pinned_bytes, "pinned", bound.pinned_bytes);
}

}  // namespace

void LaneDevice::update_headers(base::CacheUse& was, const base::CacheUse& now) {
  const std::lock_guard lock(mutex_);
  headers_ -= was;
  headers_ += now;
  was = now;
}

base::CacheUse LaneDevice::headers() const {
  const std::lock_guard lock(mutex_);
  return headers_;
}

void Lane::run() {
  const WorkQueue::Bounds bounds{
      options_.max_batch != 0 ? options_.max_batch : device_.lanes.max_images, kMinShare,
      kBatchInputBytes, options_.batch_wait_us, all_lanes_};
  WorkQueue& queue = flow_.device_queue();
  WorkList taken;
  std::size_t done = 0;
  while (!device_.lost) {
    if (!queue.take(bounds, done, taken)) return;
    done = taken.size();
    // The device was lost while this lane waited: the requests are for another device.
    if (device_.lost) {
      queue.put_back(std::move(taken));
      break;
    }
    // Requests that are left where memory runs out are answered: see DropWork.
    try {
      if (WorkList rest = sort_out(taken); !rest.empty()) queue.put_back(std::move(rest));
      if (!batch_.empty()) run_batch();
    } catch (const std::bad_alloc&) {
      taken = WorkList();
      batch_.clear();
    }
  }
  end();
  if (done != 0) queue.leave(done);
}

void Lane::run_progressive() {
  const codec::ProgressiveBatches batches = codec_.progressive();
  const std::size_t most = options_.max_batch != 0 ? options_.max_batch : device_.lanes.max_images;
  // In smaller batches host threads are the faster way.
  if (batches.min_images == 0 || most < batches.min_images) return;
  const WorkQueue::DeviceBounds bounds{batches.min_images, batches.good_images, most,
                                       batches.max_bytes};
  WorkQueue& queue = flow_.host_queue();
  queue.join_device_takers();
  WorkList taken;
  while (!device_.lost && queue.take_for_device(bounds, taken)) {
    if (device_.lost) {
      queue.put_back(std::move(taken));
      break;
    }
    try {
      run_progressive_batch(std::move(taken));
    } catch (const std::bad_alloc&) {
      batch_.clear();
    }
  }
  queue.leave_device_takers();
  end();
}

/// What has no room in memory goes back to whom it was taken from.
void Lane::run_progressive_batch(WorkList taken) {
  WorkList for_device;
  while (!taken.empty()) {
    taken.front().go_to(WorkState::kForDevice);
    for_device.push_back(taken.pop_front());
  }
  WorkList rest = sort_out(for_device);
  while (!rest.empty()) {
    rest.front().go_to(WorkState::kHostFirst);
    taken.push_back(rest.pop_front());
  }
  if (!taken.empty()) flow_.host_queue().put_back(std::move(taken));
  if (!batch_.empty()) run_batch();
}

void Lane::end() {
  count_memory({});
  device_.update_headers(headers_, {});
}

/// Answers and moves what cannot be in a batch; the rest becomes this lane's batch.
/// @return what has no room in it
WorkList Lane::sort_out(WorkList& taken) {
  batch_.clear();
  items_.clear();
  batch_need_ = {};
  WorkList left_over;
  while (!taken.empty()) {
    WorkPtr work = taken.pop_front();
    if (!left_over.empty()) {
      left_over.push_back(std::move(work));
      continue;
    }
    Verdict verdict = prepare(*work);
    switch (verdict.kind) {
      case Verdict::Kind::kReady:
        if (work->claim_turn()) {
          add(std::move(work), left_over);
        } else {
          flow_.answer(std::move(work), fail(superseded()));
        }
        break;
      case Verdict::Kind::kHost:
        flow_.fall_back(std::move(work), std::move(verdict.reason));
        break;
      case Verdict::Kind::kHostFirst:
        flow_.host_first(std::move(work));
        break;
      case Verdict::Kind::kAwaitsConversion:
        // A progressive file then comes as if for the first time, and goes to the host threads.
        work->device_could_decode = false;
        flow_.await_conversion(std::move(work), color::Side::kDevice);
        break;
      case Verdict::Kind::kError:
        flow_.answer(std::move(work), fail(std::move(*verdict.error)));
        break;
    }
  }
  return left_over;
}

void Lane::add(WorkPtr work, WorkList& left_over) {
  const codec::BatchItem item = item_of(*work);
  const codec::BatchMemory need = codec_.need(item, items_.size());
  if (need.device_bytes > bound_.device_bytes || need.pinned_bytes > bound_.pinned_bytes) {
    return give_up(std::move(work), why_too_large(need, bound_));
  }
  // The lane pins nothing for a file that lies in pinned memory. Above such a file counts, so that
  // its place decides nothing about the image.
  const std::uint64_t pinned = need.pinned_bytes - need.in_place_bytes;
  if (!items_.empty() && (batch_need_.device_bytes + need.device_bytes > bound_.device_bytes ||
                          batch_need_.pinned_bytes + pinned > several_pinned_bytes_)) {
    left_over.push_back(std::move(work));
    return;
  }
  batch_need_.device_bytes += need.device_bytes;
  batch_need_.pinned_bytes += pinned;
  items_.push_back(item);
  try {
    batch_.push_back(std::move(work));
  } catch (...) {
    items_.pop_back();
    throw;
  }
}

void Lane::count_memory(const codec::BatchMemory& memory) {
  device_.device_bytes += memory.device_bytes - memory_.device_bytes;
  device_.pinned_bytes += memory.pinned_bytes - memory_.pinned_bytes;
  memory_ = memory;
}

/// Hands on what this lane's device does not finish. Where it has read all scans of a file that a
/// host thread would have read, had fewer waited, that thread goes on as if nobody had tried: load
/// must not show in an answer.
void Lane::give_up(WorkPtr work, std::string reason) {
  if (!work->device_could_decode || work->coefficients) {
    return flow_.fall_back(std::move(work), std::move(reason));
  }
  work->device_could_decode = false;
  flow_.host_first(std::move(work));
}

Lane::Verdict Lane::prepare(Work& work) try {
  work.begin();
  return examine(work);
} catch (const std::bad_alloc&) {
  return {Verdict::Kind::kError, {}, Status(StatusCode::kBusy, "memory ran out")};
}

Lane::Verdict Lane::examine(Work& work) {
  const auto error = [](Status status) {
    return Verdict{Verdict::Kind::kError, {}, std::move(status)};
  };
  if (work.prepared == Prepared::kNothing) {
    if (work.traits.changes) {
      auto enough = preparation_.parse_head(work);
      if (!enough) return error(enough.error());
      if (!*enough) return {Verdict::Kind::kHostFirst, {}, {}};
    } else if (auto ok = preparation_.parse(work); !ok) {
      return error(ok.error());
    }
  }
  if (work.request.context.deadline.passed()) {
    return error(Status(StatusCode::kDeadline, "its time was over before a GPU was free"));
  }
  if (work.stop.stop_requested()) return error(why_over(work));
  if (work.prepared != Prepared::kAll) {
    const jpeg::JpegFile& file = work.request.file;
    if (auto ok = jpeg::check_supported(file); !ok) return error(ok.error());
    if ((entropy_on_host(file.frame) && !work.device_could_decode) || file.gain_map) {
      work.device_could_decode = entropy_on_host(file.frame) && could_decode(work);
      work.has_gain_map_to_do = file.gain_map.has_value();
      return {Verdict::Kind::kHostFirst, {}, {}};
    }
    const auto planned = preparation_.plan(work);
    if (!planned) return error(planned.error());
    if (*planned == Planned::kAwaitsConversion) return {Verdict::Kind::kAwaitsConversion, {}, {}};
  }
  auto taken = codec_.check(item_of(work));
  if (!taken) return {Verdict::Kind::kHost, taken.error().message(), {}};
  return {};
}

/// Whether this lane's codec can read all scans of a file that a host thread shall read first.
bool Lane::could_decode(const Work& work) {
  if (codec_.progressive().min_images == 0 || work.traits.changes) return false;
  codec::BatchItem item;
  item.file = &work.request.file;
  return codec_.check(item).has_value();
}

void Lane::run_batch() {
  const auto start = base::Clock::now();
  auto done = codec_.enqueue(items_);
  if (done) done = codec_.wait();
  count_memory(codec_.memory());
  device_.update_headers(headers_, codec_.headers());
  if (!done) {
    const Status status = done.error();
    if (status.code() == StatusCode::kDeviceLost) return lose_device(status);
    // Memory ran out, or the fault is of this batch alone: the device goes on with others.
    for (WorkPtr& work : batch_) flow_.fall_back(std::move(work), status.message());
    return;
  }
  ++flow_.counters().batches;
  if (options_.timed) flow_.counters().add_stages(codec_.stages());
  const double us = base::elapsed_us(start);
  Answers answers = flow_.answers();
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    answer(std::move(batch_[i]), codec_.outcome(i), us, answers);
  }
}

void Lane::answer(WorkPtr work, const codec::BatchOutcome& outcome, double batch_us,
                  Answers& answers) try {
  if (!outcome.done) return give_up(std::move(work), outcome.reason);
  Request& request = work->request;
  Report& report = request.report;
  report.codec = codec_.kind();
  report.codec_reason = work->options.codec == codec_.kind() ? "requested" : "a GPU is there";
  report.quality = outcome.quality;
  report.times.decode_resample_us = batch_us;
  auto finished = complete_copy(request, outcome.bytes, work->sink);
  if (finished) ++flow_.counters().gpu_images;
  answers.add(std::move(work), std::move(finished));
} catch (const std::bad_alloc&) {
  if (work) answers.add(std::move(work), fail(StatusCode::kBusy, "memory ran out"));
}

void Lane::lose_device(const Status& status) {
  device_.lost = true;
  for (WorkPtr& work : batch_) {
    flow_.answer(std::move(work),
                 fail(StatusCode::kDeviceLost,
                      fmt::format("GPU {} failed: {}", device_.lanes.ordinal, status.message())));
  }
  batch_.clear();
}

}  // namespace framewire::engine
