#include <codec/cuda/tuning.h>
#include <cuda_runtime_api.h>
#include <algorithm>
#include <base/checked.hpp>
#include <base/stream_copy.hpp>
#include <codec/turbo/coefficient_reader.hpp>
#include <gpu/error.hpp>
#include <gpu/upload.hpp>
#include <iterator>
#include <jpeg/head_parser.hpp>
#include <jpeg/parser.hpp>
#include <limits>
#include <new>
#include <tensor/cuda/kernels.hpp>
#include <tensor/cuda/lane.hpp>
#include <tensor/cuda/tuning.hpp>
#include <utility>

namespace framewire::tensor::cuda {
namespace {

/// Segments between restart markers.
std::uint64_t count_segments(const jpeg::FrameHeader& frame, const jpeg::Scan& scan) {
  if (scan.restart_interval_mcus == 0) return 1;
  const jpeg::Component& first = frame.components[scan.component[0]];
  const bool alone = scan.component_count == 1;
  const auto columns = static_cast<std::uint64_t>(alone ? first.width_blocks : frame.mcu_columns);
  const auto rows = static_cast<std::uint64_t>(alone ? first.height_blocks : frame.mcu_rows);
  return base::ceil_div(columns * rows, static_cast<std::uint64_t>(scan.restart_interval_mcus));
}

/// Groups are smaller than an engine's batches, and fewer are under way: short subsequences pay
/// whatever their number. Measured (H200, 1920×1080, three batches of 256 under way, images/s of
/// exact and fast ones): 256 bytes and 3,072 bits of warm-up 87,300 and 88,800, 320 and 1,024
/// 88,700 and 87,300, 384 and 1,536 88,400 and 85,700. Small groups keep theirs: with 1,024 bits of
/// warm-up 256 pictures of 500×375 at a time lose 12 %.
codec::cuda::Tuning tensor_tuning() {
  codec::cuda::Tuning tuning;
  tuning.medium_batch_bytes = std::numeric_limits<std::uint32_t>::max();
  tuning.medium_subsequence_bytes = 320;
  tuning.medium_warm_bits = 1024;
  return tuning;
}

Result<void> grow(gpu::Buffer& buffer, gpu::BufferKind kind, std::uint64_t bytes) {
  return bytes <= buffer.bytes() ? Result<void>{} : buffer.reserve(kind, bytes + bytes / 4);
}

}  // namespace

std::uint64_t TensorLane::estimate_device_bytes(const jpeg::JpegFile& file,
                                                const ImageGeometry& geometry) {
  // A column of words, a head and the states of one subsequence: a segment has one at least.
  constexpr std::uint64_t kSegmentBytes = codec::cuda::kMaxSubsequenceBytes + 160;
  const jpeg::FrameHeader& frame = file.frame;
  std::uint64_t samples = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(frame.component_count); ++i) {
    samples += static_cast<std::uint64_t>(frame.components[i].width_px) *
               static_cast<std::uint64_t>(frame.components[i].height_px);
  }
  std::uint64_t segments = 0;
  for (const jpeg::Scan& scan : file.scans) segments += count_segments(frame, scan);
  return 3 * samples + segments * kSegmentBytes +
         static_cast<std::uint64_t>(geometry.stored.height_px) *
             static_cast<std::uint64_t>(geometry.width_px) * 12;
}

Result<TensorLane> TensorLane::make(const TensorOptions& options,
                                    std::shared_ptr<codec::cuda::EntropyLoad> load) {
  auto transcoder = codec::cuda::Transcoder::make(false, tensor_tuning());
  if (!transcoder) return fail(transcoder.error());
  transcoder->share({std::move(load), nullptr, nullptr, nullptr});
  return TensorLane(options, std::move(*transcoder));
}

Result<void> TensorLane::begin(Call& call, std::size_t first, std::size_t count) {
  call_ = &call;
  first_ = first;
  entries_.clear();
  entries_.resize(count);
  offsets_.clear();
  std::size_t bytes = 0;
  for (const TensorItem& item : call.items.subspan(first, count)) {
    offsets_.push_back(bytes);
    bytes += base::ceil_div(item.jpeg.size(), std::size_t{16}) * 16;
  }
  auto grown = grow(files_, gpu::BufferKind::kPinned, bytes + codec::kPinnedGuardBytes);
  begun_ = grown.has_value();
  return begun_ || grown.error().code() == StatusCode::kBusy ? Result<void>{} : grown;
}

void TensorLane::prepare(std::size_t n) { entries_[n] = read(n); }

std::optional<TensorLane::Entry> TensorLane::read(std::size_t n) {
  const TensorItem& item = call_->items[first_ + n];
  if (!begun_ || item.jpeg.empty()) return std::nullopt;
  const base::Deadline deadline(options_->limits.deadline_ms);
  // The copies alone are believed: the caller's bytes may change meanwhile.
  Entry entry;
  entry.index = first_ + n;
  const auto head = item.jpeg.first(jpeg::count_head_bytes(item.jpeg, deadline));
  entry.head.assign(head.begin(), head.end());
  const std::span bytes(files_.data() + offsets_[n], item.jpeg.size());
  base::stream_copy(bytes.data(), item.jpeg.data(), bytes.size());
  if (!read_file(entry, bytes, deadline)) return std::nullopt;  // a host thread says why
  auto geometry = plan_image(entry.file, item.crop, *options_);
  if (!geometry || !TensorBatchPlan::takes(*geometry, *options_)) return std::nullopt;
  entry.geometry = *geometry;
  // Few lanes of a device decode the scans of a progressive file: a host thread is faster.
  if (entry.file.frame.process == jpeg::Process::kProgressive || entry.file.frame.arithmetic) {
    codec::Context context;
    context.deadline = deadline;
    context.max_scans = options_->limits.max_scans;
    auto coefficients = codec::read_coefficients(entry.file, context, entry.outcome);
    if (!coefficients) return std::nullopt;
    entry.coefficients = std::move(*coefficients);
  }
  if (!codec::cuda::check_item(item_of(entry))) return std::nullopt;
  return entry;
}

bool TensorLane::read_file(Entry& entry, std::span<const std::uint8_t> bytes,
                           base::Deadline deadline) const {
  // Behind the scan of a file that ends with EOI there is, but for rare damage, nothing; the device
  // looks, and a host thread then says what it is.
  const bool ends =
      bytes.size() >= 2 && bytes[bytes.size() - 2] == 0xFF && bytes[bytes.size() - 1] == 0xD9;
  if (ends) {
    auto file = jpeg::parse_head(entry.head, bytes, options_->limits, deadline);
    if (file && !file->frame.arithmetic && jpeg::check_supported(*file)) {
      entry.file = std::move(*file);
      entry.head_only = true;
      return true;
    }
  }
  auto file = tensor::read_file(bytes, options_->limits, deadline);
  if (file) entry.file = std::move(*file);
  return file.has_value();
}

codec::cuda::Item TensorLane::item_of(const Entry& entry) const {
  codec::cuda::Item item;
  item.file = &entry.file;
  item.pinned = true;
  item.head_only = entry.head_only;
  if (entry.coefficients) item.coefficients = &*entry.coefficients;
  const CropBox& crop = entry.geometry.stored;
  item.needed_pixels = {crop.left_px, crop.top_px, crop.width_px, crop.height_px};
  for (std::size_t i = 0; i < static_cast<std::size_t>(entry.file.frame.component_count); ++i) {
    item.scales[i] = entry.geometry.exact ? 8 : entry.geometry.components[i].scale;
  }
  return item;
}

Result<void> TensorLane::enqueue() {
  for (std::size_t n = 0; n < entries_.size(); ++n) {
    if (!entries_[n]) call_->outcome.leave(first_ + n);
  }
  const auto end = std::remove(entries_.begin(), entries_.end(), std::nullopt);
  for (auto from = entries_.begin(); from != end;) {
    finish();
    if (call_->outcome.failed()) return {};
    std::uint64_t bytes = 0;
    auto to = from;
    while (to != end && bytes < kMaxBatchBytes) {
      bytes += estimate_device_bytes((*to)->file, (*to)->geometry);
      ++to;
    }
    const std::span part(from, to);
    from = to;
    auto enqueued = enqueue_part(part);
    if (enqueued) {
      part_ = part;
      continue;
    }
    if (enqueued.error().code() != StatusCode::kBusy) return enqueued;
    leave(part);  // the device has too little memory, the host has some
  }
  return {};
}

Result<void> TensorLane::enqueue_part(Part part) {
  items_.clear();
  plan_.clear();
  for (const auto& entry : part) {
    items_.push_back(item_of(*entry));
    plan_.add(entry->file, entry->geometry, call_->items[entry->index].flip,
              call_->out + entry->index * call_->image_bytes);
  }
  plan_.lay_out();
  auto enqueued = transcoder_.enqueue(items_);
  if (enqueued) enqueued = enqueue_tensors();
  if (!enqueued) {
    // Behind this its memory may be taken for others.
    (void)transcoder_.wait();
    (void)transcoder_.stream().synchronise();
  }
  return enqueued;
}

Result<void> TensorLane::enqueue_tensors() {
  const gpu::Arena& arena = plan_.arena();
  const std::uint64_t uploaded = arena.bytes(gpu::Part::kUploaded);
  if (auto ok = grow(staging_, gpu::BufferKind::kPinnedMapped, uploaded); !ok) return ok;
  if (auto ok = grow(device_, gpu::BufferKind::kDevice, arena.total_bytes()); !ok) return ok;
  const BatchDesc batch = plan_.write(staging_.data(), device_.data(), transcoder_, call_->tables);
  const gpu::Stream& stream = transcoder_.stream();
  gpu::upload(device_.data(), staging_.data(), uploaded, stream.get());
  launch_weights(batch, stream.get());
  launch_across(batch, stream.get());
  if (auto ok = stream.wait_for(call_->after); !ok) return ok;
  launch_down(batch, stream.get());
  return transcoder_.extend();
}

void TensorLane::finish() noexcept {
  if (part_.empty()) return;
  const Part part = std::exchange(part_, {});
  try {
    auto done = transcoder_.wait();
    if (done) {
      tell(part);
    } else if (done.error().code() == StatusCode::kBusy) {
      leave(part);
    } else {
      call_->outcome.note(std::move(done));
    }
  } catch (const std::bad_alloc&) {
    call_->outcome.note(fail(StatusCode::kBusy, "memory ran out"));
  }
}

void TensorLane::tell(Part part) {
  for (std::size_t i = 0; i < part.size(); ++i) {
    Entry& entry = *part[i];
    if (transcoder_.result(i).status != 0) {
      call_->outcome.leave(entry.index);
      continue;
    }
    TensorImage image = describe(entry.file, entry.geometry);
    std::move(entry.outcome.warnings.begin(), entry.outcome.warnings.end(),
              std::back_inserter(image.warnings));
    call_->images[entry.index] = std::move(image);
  }
}

void TensorLane::leave(Part part) {
  for (const auto& entry : part) call_->outcome.leave(entry->index);
}

}  // namespace framewire::tensor::cuda
