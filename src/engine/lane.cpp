#include <fmt/format.h>
#include <engine/device_verdict.hpp>
#include <engine/lane.hpp>
#include <exception>
#include <new>

namespace framewire::engine {
namespace {

/// Input of one batch. More only makes it wait longer: the copy alone takes a millisecond.
constexpr std::uint64_t kBatchInputBytes = 48u << 20;
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
          work.traits.pinned};
}

}  // namespace

void Lane::run() {
  const WorkQueue::Bounds bounds{
      options_.max_batch != 0 ? options_.max_batch : device_.lanes.most_images, kMinShare,
      kBatchInputBytes, options_.batch_wait_us, all_lanes_};
  WorkQueue& queue = flow_.device_queue();
  std::vector<WorkPtr> taken;
  std::size_t done = 0;
  while (!device_.lost) {
    if (!queue.take(bounds, done, taken)) return;
    done = taken.size();
    // The device was lost while this lane waited: the requests are for another device.
    if (device_.lost) {
      queue.put_back(std::move(taken));
      break;
    }
    sort_out(taken);
    taken.clear();
    if (!batch_.empty()) run_batch();
  }
  device_.device_bytes -= memory_.device_bytes;
  device_.pinned_bytes -= memory_.pinned_bytes;
  if (done != 0) queue.leave(done);
}

/// Answers and moves what cannot be in a batch; the rest becomes this lane's batch.
void Lane::sort_out(std::vector<WorkPtr>& taken) {
  batch_.clear();
  items_.clear();
  batch_bytes_ = 0;
  std::vector<WorkPtr> left_over;
  for (WorkPtr& work : taken) {
    if (!left_over.empty()) {
      left_over.push_back(std::move(work));
      continue;
    }
    Verdict verdict = prepare(*work);
    switch (verdict.kind) {
      case Verdict::Kind::kReady:
        add(std::move(work), left_over);
        break;
      case Verdict::Kind::kHost:
        flow_.fall_back(std::move(work), std::move(verdict.reason));
        break;
      case Verdict::Kind::kHostFirst:
        flow_.host_first(std::move(work));
        break;
      case Verdict::Kind::kError:
        flow_.answer(std::move(work), fail(std::move(*verdict.error)));
        break;
    }
  }
  if (!left_over.empty()) flow_.device_queue().put_back(std::move(left_over));
}

void Lane::add(WorkPtr work, std::vector<WorkPtr>& left_over) {
  const codec::BatchItem item = item_of(*work);
  const std::uint64_t bytes = codec_.device_bytes(item, items_.size());
  const std::uint64_t most = device_.lanes.lane_bytes;
  if (bytes > most) {
    flow_.fall_back(std::move(work), fmt::format("it needs {} MB of GPU memory; a batch may take "
                                                 "{} MB",
                                                 bytes >> 20, most >> 20));
    return;
  }
  if (batch_bytes_ + bytes > most) {
    left_over.push_back(std::move(work));
    return;
  }
  batch_bytes_ += bytes;
  items_.push_back(item);
  batch_.push_back(std::move(work));
}

Lane::Verdict Lane::prepare(Work& work) try {
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
  if (work.stop.stop_requested()) return error(*why_over(work, base::Clock::now()));
  if (work.prepared != Prepared::kAll) {
    const jpeg::JpegFile& file = work.request.file;
    if (auto ok = jpeg::check_supported(file); !ok) return error(ok.error());
    if (entropy_on_host(file.frame) || file.gain_map) return {Verdict::Kind::kHostFirst, {}, {}};
    if (auto ok = preparation_.plan(work); !ok) return error(ok.error());
  }
  auto taken = codec_.check(item_of(work));
  if (!taken) return {Verdict::Kind::kHost, taken.error().message(), {}};
  return {};
}

void Lane::run_batch() {
  const auto start = base::Clock::now();
  auto done = codec_.enqueue(items_);
  if (done) done = codec_.wait();
  const codec::BatchMemory memory = codec_.memory();
  device_.device_bytes += memory.device_bytes - memory_.device_bytes;
  device_.pinned_bytes += memory.pinned_bytes - memory_.pinned_bytes;
  memory_ = memory;
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
  if (!outcome.done) return flow_.fall_back(std::move(work), outcome.reason);
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
