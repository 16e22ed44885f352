#include <codec/cuda/tuning.h>
#include <cuda_runtime_api.h>
#include <algorithm>
#include <codec/cuda/transcoder.hpp>
#include <gpu/dependent_launches.hpp>
#include <gpu/error.hpp>
#include <gpu/graph_recording.hpp>
#include <gpu/upload.hpp>
#include <utility>

namespace framewire::codec::cuda {
namespace {

using gpu::Part;

/// A quarter more than is needed: batches of similar size do not grow it again, and streams larger
/// than expected have room. Small ones double: the lanes of a device begin together, and
/// pinning holds them all up.
Result<void> grow(gpu::PinnedBuffer& buffer, std::uint64_t bytes) {
  constexpr std::uint64_t kDoubledBytes = 32 << 20;
  if (bytes <= buffer.bytes()) return {};
  const std::uint64_t doubled = std::min<std::uint64_t>(2 * buffer.bytes(), kDoubledBytes);
  return buffer.reserve(std::max(bytes + bytes / 4, doubled));
}

template <typename T>
T* as(const gpu::PinnedBuffer& buffer) {
  return reinterpret_cast<T*>(buffer.data());
}

/// Of the calling thread, since the last check.
Result<void> check_launches() { return gpu::check(cudaGetLastError(), "launching a batch"); }

DevicePlane as_plane(const SampleView& view) {
  return {view.samples, static_cast<std::int32_t>(view.width_px),
          static_cast<std::int32_t>(view.height_px), static_cast<std::int32_t>(view.pitch_bytes)};
}

}  // namespace

Result<Transcoder> Transcoder::make(bool timed, const Tuning& tuning) {
  auto stream = gpu::Stream::make();
  if (!stream) return fail(stream.error());
  auto order = gpu::Event::make_untimed();
  if (!order) return fail(order.error());
  auto over = gpu::Event::make_blocking();
  if (!over) return fail(over.error());
  auto copied = gpu::Event::make_untimed();
  if (!copied) return fail(copied.error());
  auto timeline = Timeline::make(timed);
  if (!timeline) return fail(timeline.error());
  return Transcoder(std::move(*stream), std::move(*order), std::move(*over), std::move(*copied),
                    std::move(*timeline), tuning);
}

Result<void> Transcoder::enqueue(std::span<const Item> items) {
  if (items.empty()) return fail(StatusCode::kInternal, "a batch without images was enqueued");
  if (auto ok = check_batch(items); !ok) return ok;
  if (in_flight_) {
    if (auto ok = wait(); !ok) return ok;
  }
  load_share_ = EntropyLoad::Share(shared_.load, entropy_bytes(items));
  plan_.clear(choose_layout(tuning_, load_share_.total_bytes(), items.size()));
  for (const Item& item : items) plan_.add(item);
  plan_.lay_out();
  next_part_ = plan_.decode().parts();  // nothing to go on with until run() has begun
  if (auto ok = reserve(); !ok) return ok;
  in_flight_ = true;
  gpu::forget_errors();
  return run();
}

Result<void> Transcoder::reserve_ahead(std::uint64_t device_bytes) {
  constexpr std::uint64_t kMaxPinnedBytes = 64u << 20;  // more than any batch of photographs takes
  if (device_bytes == 0) return {};
  const std::uint64_t pinned_bytes = std::min(device_bytes / 8, kMaxPinnedBytes);
  if (auto ok = device_.reserve(device_bytes, stream_); !ok) return ok;
  if (auto ok = staging_.reserve(pinned_bytes); !ok) return ok;
  return output_.reserve(pinned_bytes);
}

/// A buffer that must grow gets a quarter more than it needs, so that batches of similar size do
/// not grow it again.
Result<void> Transcoder::reserve_device(std::uint64_t bytes) {
  if (bytes <= device_.bytes()) return {};
  const std::uint64_t more = std::min(bytes + bytes / 4, max_device_bytes_);
  return device_.reserve(std::max(bytes, more), stream_);
}

Result<void> Transcoder::reserve() {
  const gpu::Arena& arena = plan_.arena();
  records_bytes_ = plan_.records_bytes();
  if (auto ok = grow(staging_, arena.bytes(Part::kUploaded)); !ok) return ok;
  if (auto ok = reserve_device(arena.total_bytes()); !ok) return ok;
  if (auto ok = grow(host_status_, plan_.status().bytes()); !ok) return ok;
  return grow(output_, records_bytes_ + plan_.encode().output_bytes());
}

/// Enqueues the pipeline. Work that needs no upload begins while the host still fills the staging
/// buffer.
Result<void> Transcoder::run() try {
  const gpu::Memory memory = this->memory();
  const gpu::Arena& arena = plan_.arena();
  const StageRun run{memory, memory.at(plan_.status()), stream_, timeline_};
  const bool fetches = !plan_.decode().fetches().empty();
  if (fetches) timeline_.begin(stream_);
  // A small batch waits for its copies alone; in a stream of their own they would come later.
  const bool by_turns = fetches && shared_.copies != nullptr && !plan_.decode().is_small();
  gpu::CopyList& copies = plan_.decode().copies(memory);
  if (by_turns) shared_.copies->enqueue(copies, copied_, stream_);
  (void)cudaMemsetAsync(memory.start(Part::kZeroed), 0, arena.zeroed_bytes(), stream_.get());
  if (!by_turns) copies.enqueue(stream_.get());
  plan_.decode().begin(run);
  plan_.write(staging_.data(), device_.data());

  if (!fetches) timeline_.begin(stream_);
  // A graph cannot record when stages end. A small batch does without: its kernels are set up
  // early, which saves it more.
  const bool as_graph = !timeline_.timed() && !plan_.decode().is_small();
  const unsigned parts = plan_.decode().parts();
  next_part_ = in_parts_ && parts > 1 ? 1 : parts;
  const auto enqueue = [&] { enqueue_parts(run, 0, next_part_); };
  if (next_part_ != parts) {
    enqueue();
    auto enqueued = check_launches();
    if (!enqueued) next_part_ = parts;  // nobody goes on with what has not begun
    return enqueued;
  }
  if (!as_graph || !launcher_.launch(stream_, enqueue)) enqueue();
  return record_end();
} catch (...) {
  // Memory ran out. What has been enqueued still uses this object's memory, and nobody goes on with
  // the rest: its descriptors may not be on the device.
  next_part_ = plan_.decode().parts();
  (void)wait();
  throw;
}

/// A part that waits in a hardware queue for the chains before it holds up every stream that shares
/// the queue, for as long as they take; so does an event behind them. Measured (H100, ten queues, a
/// mix of files, images/s): 6,000 with everything enqueued at once, 9,400 with events between
/// parts, 16,300 so; with twice as many lanes for progressive files 3,800 with events and 22,000.
Result<void> Transcoder::enqueue_other_parts() {
  constexpr std::chrono::microseconds kStep{500};
  const unsigned parts = plan_.decode().parts();
  if (next_part_ == parts) return {};
  const gpu::Memory memory = this->memory();
  const StageRun run{memory, memory.at(plan_.status()), stream_, timeline_};
  for (; next_part_ < parts; ++next_part_) {
    if (auto ok = stream_.wait_until_idle(kStep); !ok) return ok;
    enqueue_parts(run, next_part_, next_part_ + 1);
    if (auto ok = check_launches(); !ok) return ok;
  }
  return record_end();
}

void Transcoder::enqueue_parts(const StageRun& run, unsigned first, unsigned end) {
  // Setting kernels up early helps a small batch, which waits for launches. A large one would only
  // take threads from other streams.
  const gpu::DependentLaunches dependent(plan_.decode().is_small());
  if (first == 0) {
    gpu::upload(device_.data(), staging_.data(), plan_.arena().bytes(Part::kUploaded),
                stream_.get());
    timeline_.end(Stage::kCopyIn, stream_);
  }
  for (unsigned part = first; part < end; ++part) plan_.decode().enqueue(run, part);
  if (end != plan_.decode().parts()) return;
  plan_.picture().enqueue(run);
  plan_.encode().enqueue(run, {as<OutputRecord>(output_), output_.data() + records_bytes_,
                               output_.bytes() - records_bytes_});
  gpu::copy_async(host_status_.data(), run.status, plan_.status().bytes(), cudaMemcpyDeviceToHost,
                  stream_.get());
}

Result<void> Transcoder::record_end() {
  if (auto ok = check_launches(); !ok) return ok;
  // Waiting asleep leaves the core to others during the millisecond or more of a large batch. For a
  // small batch, being woken would take a tenth of its time.
  if (plan_.decode().is_small()) return {};
  auto recorded = over_.record(stream_);
  asleep_ = recorded.has_value();
  return recorded;
}

Result<void> Transcoder::extend() {
  if (auto ok = gpu::check(cudaGetLastError(), "launching kernels behind a batch"); !ok) return ok;
  auto recorded = over_.record(stream_);
  asleep_ = recorded.has_value();
  return recorded;
}

Result<void> Transcoder::copy_planes(std::span<const PlaneCopy> copies) {
  if (copies.empty()) return {};
  for (const PlaneCopy& copy : copies) {
    const DevicePlane from = plane(copy.image, copy.component);
    (void)cudaMemcpy2DAsync(copy.to, copy.pitch_bytes, from.samples, from.pitch_bytes,
                            from.width_px, from.height_px, cudaMemcpyDeviceToDevice, stream_.get());
  }
  return record_end();
}

Result<void> Transcoder::wait() {
  in_flight_ = false;
  auto done = enqueue_other_parts();
  next_part_ = plan_.decode().parts();
  const bool asleep = std::exchange(asleep_, false);
  // After a failure, too: what has been enqueued still uses this object's memory.
  if (auto over = done && asleep ? over_.synchronise() : stream_.synchronise(); done) done = over;
  load_share_ = {};
  return done;
}

Result<void> Transcoder::wait_for(cudaStream_t stream) {
  if (auto ok = order_.record(stream); !ok) return ok;
  return stream_.wait_for(order_.get());
}

Result<void> Transcoder::make_wait(cudaStream_t stream) {
  if (auto ok = order_.record(stream_); !ok) return ok;
  return gpu::check(cudaStreamWaitEvent(stream, order_.get(), 0), "ordering streams");
}

ImageResult Transcoder::result(std::size_t image) const {
  ImageResult result;
  result.status = as<const std::uint32_t>(host_status_)[image];
  const std::uint32_t stream = plan_.stream(image);
  if (stream == BatchPlan::kNoStream) return result;
  const OutputRecord& record = as<const OutputRecord>(output_)[stream];
  result.status |= record.status;
  result.quality = static_cast<int>(record.quality);
  result.missed_max_bytes = record.missed != 0;
  if (result.status == 0) {
    result.bytes = {output_.data() + records_bytes_ + record.offset, record.bytes};
  }
  return result;
}

DevicePlane Transcoder::plane(std::size_t image, std::size_t component) const {
  return as_plane(plan_.sources(image)[component].resolve(memory()));
}

DevicePlane Transcoder::output_plane(std::size_t image, std::size_t component) const {
  return as_plane(plan_.picture(image)[component].resolve(memory()));
}

PlaneDesc Transcoder::decoded_plane(std::size_t image, std::size_t component) const {
  return plan_.decode().plane(plan_.first_decoded(image) + component).resolve(memory());
}

}  // namespace framewire::codec::cuda
