#include <cuda_runtime_api.h>
#include <algorithm>
#include <codec/turbo/coefficient_reader.hpp>
#include <gpu/error.hpp>
#include <iterator>
#include <tensor/cuda/kernels.hpp>
#include <tensor/cuda/lane.hpp>
#include <tensor/cuda/tuning.hpp>

namespace framewire::tensor::cuda {
namespace {

/// A guess: coefficients of 16 bits, planes, and rows filtered along one axis.
std::uint64_t device_bytes(const jpeg::FrameHeader& frame, const ImageGeometry& geometry) {
  std::uint64_t samples = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(frame.component_count); ++i) {
    samples += static_cast<std::uint64_t>(frame.components[i].width_px) *
               static_cast<std::uint64_t>(frame.components[i].height_px);
  }
  return 3 * samples + static_cast<std::uint64_t>(geometry.stored.height_px) *
                           static_cast<std::uint64_t>(geometry.width_px) * 12;
}

Result<void> grow(gpu::Buffer& buffer, gpu::BufferKind kind, std::uint64_t bytes) {
  return bytes <= buffer.bytes() ? Result<void>{} : buffer.reserve(kind, bytes + bytes / 4);
}

}  // namespace

Result<TensorLane> TensorLane::make(const TensorOptions& options, const ImageMaker& maker) {
  auto transcoder = codec::cuda::Transcoder::make();
  if (!transcoder) return fail(transcoder.error());
  return TensorLane(options, maker, std::move(*transcoder));
}

Result<void> TensorLane::run(Call& call) {
  while (collect(call)) {
    if (!entries_.empty()) {
      auto made = enqueue(call);
      if (made) made = take_results(call);
      if (!made && made.error().code() != StatusCode::kBusy) return made;
      if (!made) {  // too little of the device's memory: the host has some
        for (const Entry& entry : entries_) on_host_.push_back(entry.index);
      }
    }
    if (auto made = make_on_host(call); !made) return made;
  }
  return {};
}

bool TensorLane::collect(Call& call) {
  entries_.clear();
  on_host_.clear();
  std::uint64_t bytes = 0;
  std::size_t taken = 0;
  while (taken < call.batch && bytes < kMaxBatchBytes) {
    const std::size_t index = call.next.fetch_add(1, std::memory_order_relaxed);
    if (index >= call.items.size()) break;
    ++taken;
    prepare(call, index, bytes);
  }
  return taken > 0;
}

void TensorLane::prepare(Call& call, std::size_t index, std::uint64_t& bytes) {
  const TensorItem& item = call.items[index];
  const base::Deadline deadline(options_->limits.deadline_ms);
  auto file = read_file(item.jpeg, options_->limits, deadline);
  if (!file) {
    on_host_.push_back(index);  // which says why
    return;
  }
  auto geometry = plan_image(*file, item.crop, *options_);
  Entry entry{index, std::move(*file), geometry ? *geometry : ImageGeometry{}};
  // Few lanes of a device decode the scans of a progressive file: a host thread is faster.
  const bool apart =
      entry.file.frame.process == jpeg::Process::kProgressive || entry.file.frame.arithmetic;
  if (!geometry || !TensorBatchPlan::takes(entry.geometry, *options_) ||
      (apart && !read_on_host(entry, item, deadline)) || !codec::cuda::check_item(item_of(entry))) {
    on_host_.push_back(index);
    return;
  }
  bytes += device_bytes(entry.file.frame, entry.geometry);
  entries_.push_back(std::move(entry));
}

bool TensorLane::read_on_host(Entry& entry, const TensorItem& item, base::Deadline deadline) const {
  // From a copy: the caller may change the original meanwhile, and host code must not see that.
  const std::vector<std::uint8_t> copy(item.jpeg.begin(), item.jpeg.end());
  const auto file = read_file(copy, options_->limits, deadline);
  if (!file) return false;
  codec::Context context;
  context.deadline = deadline;
  context.max_scans = options_->limits.max_scans;
  auto read = codec::read_coefficients(*file, context, entry.outcome);
  if (!read) return false;
  entry.coefficients = std::move(*read);
  return true;
}

codec::cuda::Item TensorLane::item_of(const Entry& entry) const {
  codec::cuda::Item item;
  item.file = &entry.file;
  if (entry.coefficients) item.coefficients = &*entry.coefficients;
  for (std::size_t i = 0; i < static_cast<std::size_t>(entry.file.frame.component_count); ++i) {
    item.scales[i] = entry.geometry.exact ? 8 : entry.geometry.components[i].scale;
  }
  return item;
}

Result<void> TensorLane::enqueue(Call& call) {
  items_.clear();
  plan_.clear();
  for (const Entry& entry : entries_) {
    items_.push_back(item_of(entry));
    plan_.add(entry.file, entry.geometry, call.items[entry.index].flip,
              call.out + entry.index * call.image_bytes);
  }
  plan_.lay_out();
  if (auto ok = transcoder_.enqueue(items_); !ok) return ok;
  auto enqueued = enqueue_tensors(call);
  if (!enqueued) (void)transcoder_.wait();  // its bytes may be freed behind this
  return enqueued;
}

Result<void> TensorLane::enqueue_tensors(const Call& call) {
  const gpu::Arena& arena = plan_.arena();
  const std::uint64_t uploaded = arena.bytes(gpu::Part::kUploaded);
  if (auto ok = grow(staging_, gpu::BufferKind::kPinned, uploaded); !ok) return ok;
  if (auto ok = grow(device_, gpu::BufferKind::kDevice, arena.total_bytes()); !ok) return ok;
  const BatchDesc batch = plan_.write(staging_.data(), device_.data(), transcoder_, call.tables);
  const cudaStream_t stream = transcoder_.stream().get();
  (void)cudaMemcpyAsync(device_.data(), staging_.data(), uploaded, cudaMemcpyHostToDevice, stream);
  launch_weights(batch, stream);
  launch_across(batch, stream);
  if (auto ok = transcoder_.wait_for(call.after); !ok) return ok;
  launch_down(batch, stream);
  return transcoder_.extend();
}

Result<void> TensorLane::take_results(Call& call) {
  if (auto ok = transcoder_.wait(); !ok) return ok;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    if (transcoder_.result(i).status == 0) {
      TensorImage image = describe(entry.file, entry.geometry);
      std::move(entry.outcome.warnings.begin(), entry.outcome.warnings.end(),
                std::back_inserter(image.warnings));
      call.images[entry.index] = std::move(image);
    } else {
      on_host_.push_back(entry.index);
    }
  }
  return {};
}

Result<void> TensorLane::make_on_host(Call& call) {
  if (on_host_.empty()) return {};
  elements_.resize(call.image_bytes);
  const gpu::Stream& stream = transcoder_.stream();
  if (auto ok = transcoder_.wait_for(call.after); !ok) return ok;
  for (const std::size_t index : on_host_) {
    void* const to = call.out + index * call.image_bytes;
    call.images[index] = maker_->make(index, call.items[index], elements_.data(), workspace_);
    const auto error = call.images[index] ? cudaMemcpyAsync(to, elements_.data(), call.image_bytes,
                                                            cudaMemcpyHostToDevice, stream.get())
                                          : cudaMemsetAsync(to, 0, call.image_bytes, stream.get());
    if (auto ok = gpu::check(error, "copying an image of a batch"); !ok) return ok;
    if (auto ok = stream.synchronise(); !ok) return ok;
  }
  return {};
}

}  // namespace framewire::tensor::cuda
