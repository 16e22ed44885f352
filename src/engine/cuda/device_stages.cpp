#include <algorithm>
#include <bit>
#include <codec/cuda/encode/header_cache.hpp>
#include <codec/cuda/picture/copy_rows.hpp>
#include <codec/cuda/status_text.hpp>
#include <codec/cuda/transcoder.hpp>
#include <deque>
#include <engine/device_stages.hpp>
#include <gpu/buffer.hpp>
#include <gpu/device.hpp>
#include <gpu/error.hpp>

namespace framewire::engine {

using codec::cuda::Item;
using codec::cuda::RowCopy;

namespace {

Item item_of(const Request& request) {
  Item item;
  item.file = &request.file;
  item.plan = &request.plan;
  item.converter = request.converter.get();
  return item;
}

/// The planner's choices, with resampling already done: each sample is its own.
plan::Plan without_resampling(const plan::Plan& plan) {
  plan::Plan rest = plan;
  rest.kernel = Kernel::kNearest;
  for (int i = 0; i < plan.plane_count; ++i) {
    plan::PlanePlan& plane = rest.planes[static_cast<std::size_t>(i)];
    plane.component = i;
    plane.x = {plane.x.out_size, plane.x.out_size, 0, 1};
    plane.y = {plane.y.out_size, plane.y.out_size, 0, 1};
  }
  return rest;
}

/// The planner's resampling of the planes that have a stripe, and nothing behind it.
plan::Plan resampling_of(const plan::Plan& plan, std::span<const DeviceStages::Stripe> stripes) {
  plan::Plan part;
  part.kernel = plan.kernel;
  part.plane_count = static_cast<int>(stripes.size());
  for (std::size_t i = 0; i < stripes.size(); ++i) {
    part.planes[i] = plan.planes[static_cast<std::size_t>(stripes[i].plane)];
    part.planes[i].component = static_cast<int>(i);
  }
  // As far as encoding goes: a picture that nothing is done to.
  part.encode.component_count = part.plane_count;
  part.encode.width_px = part.planes[0].x.out_size;
  part.encode.height_px = part.planes[0].y.out_size;
  part.placement = {0, 0, part.encode.width_px, part.encode.height_px};
  return part;
}

/// Makes room for `bytes`, rounded up to a power of two so that batches of similar size do not grow
/// it again.
Result<void> grow(gpu::Buffer& buffer, gpu::BufferKind kind, std::size_t bytes) {
  return bytes <= buffer.bytes() ? Result<void>{} : buffer.reserve(kind, std::bit_ceil(bytes));
}

}  // namespace

class DeviceStages::Impl {
 public:
  Impl(int device, codec::cuda::Transcoder transcoder, gpu::Stream stream)
      : device_(device), transcoder_(std::move(transcoder)), stream_(std::move(stream)) {}

  Result<void> decode(std::span<const Source> sources);
  Result<void> make_planes(std::span<const Planned> pictures);
  Result<void> resample(std::span<const Striped> pictures);
  Result<void> complete(std::span<const Resampled> pictures, bool encode);
  Result<void> copy(std::span<const Copy> copies);
  Result<std::span<const std::uint8_t>> read(std::span<const DevicePlane> planes);
  [[nodiscard]] const Result<void>& result(std::size_t picture) const noexcept {
    return left_[picture].result;
  }
  [[nodiscard]] std::span<const DevicePlane> planes(std::size_t picture) const noexcept {
    return left_[picture].planes;
  }
  [[nodiscard]] DeviceStream stream(std::size_t picture) const;

 private:
  /// What a call leaves of a picture.
  struct Left {
    Result<void> result;
    std::size_t item = 0;  ///< of the batch
    int quality = 0;       ///< as planned
    std::vector<DevicePlane> planes;
  };

  void begin();
  void add(const Item& item);
  Result<void> run();
  void keep_output(std::span<const int> counts);

  int device_;
  codec::cuda::Transcoder transcoder_;
  gpu::Stream stream_;  ///< of copies
  codec::cuda::HeaderCache headers_;
  gpu::Buffer h_copies_;
  gpu::Buffer d_copies_;
  gpu::Buffer h_samples_;
  std::vector<Left> left_;
  // Storage for one call. `items_` holds pointers into the deques below, whose elements never move.
  std::vector<Item> items_;
  std::deque<plan::Plan> plans_;
  std::deque<std::vector<DevicePlane>> planes_;
  std::deque<std::vector<codec::cuda::RowPart>> parts_;
};

void DeviceStages::Impl::begin() {
  left_.clear();
  items_.clear();
  plans_.clear();
  planes_.clear();
  parts_.clear();
}

// Plans one more picture: enters `left_` always, and the batch only if check_item() accepts it.
void DeviceStages::Impl::add(const Item& item) {
  Left& left = left_.emplace_back();
  left.result = codec::cuda::check_item(item);
  left.item = items_.size();
  if (item.plan != nullptr) left.quality = item.plan->encode.quality;
  if (left.result) items_.push_back(item);
}

Result<void> DeviceStages::Impl::run() {
  if (items_.empty()) return {};
  if (auto ok = gpu::use_device(device_); !ok) return ok;
  if (auto ok = transcoder_.enqueue(items_); !ok) return ok;
  if (auto ok = transcoder_.wait(); !ok) return ok;
  for (Left& left : left_) {
    if (!left.result) continue;
    const codec::cuda::ImageResult result = transcoder_.result(left.item);
    if (result.status != 0) {
      left.result = fail(StatusCode::kUnsupported, codec::cuda::describe(result.status));
    } else if (result.missed_max_bytes) {
      left.result = fail(StatusCode::kUnsupported, "even the lowest quality is too large");
    }
  }
  return {};
}

// Keeps as many output planes of each picture as `counts` says.
void DeviceStages::Impl::keep_output(std::span<const int> counts) {
  for (std::size_t i = 0; i < left_.size(); ++i) {
    if (!left_[i].result) continue;
    for (int c = 0; c < counts[i]; ++c) {
      left_[i].planes.push_back(
          transcoder_.output_plane(left_[i].item, static_cast<std::size_t>(c)));
    }
  }
}

Result<void> DeviceStages::Impl::decode(std::span<const Source> sources) {
  begin();
  for (const Source& source : sources) {
    Item item;
    item.file = source.file;
    item.coefficients = source.coefficients;
    item.scales = source.scales;
    add(item);
  }
  if (auto ok = run(); !ok) return ok;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (!left_[i].result) continue;
    for (int c = 0; c < sources[i].file->frame.component_count; ++c) {
      left_[i].planes.push_back(transcoder_.plane(left_[i].item, static_cast<std::size_t>(c)));
    }
  }
  return {};
}

Result<void> DeviceStages::Impl::make_planes(std::span<const Planned> pictures) {
  begin();
  std::vector<int> counts;
  for (const Planned& picture : pictures) {
    Item item = item_of(*picture.request);
    item.coefficients = picture.coefficients;
    item.encode = false;
    add(item);
    counts.push_back(item.plan->encode.component_count);
  }
  if (auto ok = run(); !ok) return ok;
  keep_output(counts);
  return {};
}

Result<void> DeviceStages::Impl::resample(std::span<const Striped> pictures) {
  begin();
  std::vector<int> counts;
  for (const Striped& picture : pictures) {
    if (picture.stripes.empty() || picture.stripes.size() > picture.plan->planes.size()) {
      return fail(StatusCode::kInternal, "a picture has 1 to 4 planes with a stripe");
    }
    std::vector<DevicePlane>& planes = planes_.emplace_back();
    std::vector<codec::cuda::RowPart>& rows = parts_.emplace_back();
    for (const Stripe& stripe : picture.stripes) {
      planes.push_back(stripe.in);
      rows.push_back({stripe.out_first, stripe.out_count, stripe.in_first, stripe.in.height_px});
    }
    Item item;
    item.plan = &plans_.emplace_back(resampling_of(*picture.plan, picture.stripes));
    item.planes = planes;
    item.parts = rows;
    item.encode = false;
    add(item);
    counts.push_back(static_cast<int>(picture.stripes.size()));
  }
  if (auto ok = run(); !ok) return ok;
  keep_output(counts);
  for (std::size_t i = 0; i < left_.size(); ++i) {
    for (std::size_t p = 0; p < left_[i].planes.size(); ++p) {
      // The encoder's view of it is of no matter here.
      DevicePlane& plane = left_[i].planes[p];
      plane.width_px = plans_[i].planes[p].x.out_size;
      plane.height_px = pictures[i].stripes[p].out_count;
    }
  }
  return {};
}

Result<void> DeviceStages::Impl::complete(std::span<const Resampled> pictures, bool encode) {
  begin();
  headers_.trim();
  std::vector<int> counts;
  for (const Resampled& picture : pictures) {
    const plan::Plan& rest = plans_.emplace_back(without_resampling(picture.request->plan));
    Item item = item_of(*picture.request);
    item.plan = &rest;
    item.planes = picture.planes;
    item.encode = encode;
    if (encode) item.header = headers_.get(picture.head, rest.encode);
    add(item);
    counts.push_back(rest.encode.component_count);
  }
  if (auto ok = run(); !ok) return ok;
  if (!encode) keep_output(counts);
  return {};
}

DeviceStream DeviceStages::Impl::stream(std::size_t picture) const {
  const codec::cuda::ImageResult result = transcoder_.result(left_[picture].item);
  return {result.bytes, result.quality != 0 ? result.quality : left_[picture].quality};
}

Result<void> DeviceStages::Impl::copy(std::span<const Copy> copies) {
  if (copies.empty()) return {};
  if (auto ok = gpu::use_device(device_); !ok) return ok;
  const std::size_t bytes = copies.size() * sizeof(RowCopy);
  if (auto ok = grow(h_copies_, gpu::BufferKind::kPinned, bytes); !ok) return ok;
  if (auto ok = grow(d_copies_, gpu::BufferKind::kDevice, bytes); !ok) return ok;
  auto* const rows = reinterpret_cast<RowCopy*>(h_copies_.data());
  std::uint32_t max_quads = 0;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const auto& [from, to, pitch_bytes] = copies[i];
    const auto height = static_cast<std::uint32_t>(from.height_px);
    rows[i] = {from.samples,
               to,
               static_cast<std::uint32_t>(from.pitch_bytes),
               pitch_bytes,
               static_cast<std::uint32_t>(from.width_px),
               height};
    max_quads = std::max(max_quads, pitch_bytes / 16 * height);
  }
  if (auto ok = gpu::check(
          cudaMemcpyAsync(d_copies_.data(), rows, bytes, cudaMemcpyHostToDevice, stream_.get()),
          "copying planes");
      !ok) {
    return ok;
  }
  codec::cuda::launch_copy_rows(reinterpret_cast<const RowCopy*>(d_copies_.data()),
                                static_cast<std::uint32_t>(copies.size()), max_quads,
                                stream_.get());
  if (auto ok = gpu::check(cudaGetLastError(), "copying planes"); !ok) return ok;
  return stream_.synchronise();
}

Result<std::span<const std::uint8_t>> DeviceStages::Impl::read(
    std::span<const DevicePlane> planes) {
  if (auto ok = gpu::use_device(device_); !ok) return fail(ok.error());
  std::size_t bytes = 0;
  for (const DevicePlane& plane : planes) bytes += sample_count(plane);
  if (auto ok = grow(h_samples_, gpu::BufferKind::kPinned, bytes); !ok) return fail(ok.error());
  std::uint8_t* to = h_samples_.data();
  for (const DevicePlane& plane : planes) {
    const cudaError_t error =
        cudaMemcpy2DAsync(to, plane.width_px, plane.samples, plane.pitch_bytes, plane.width_px,
                          plane.height_px, cudaMemcpyDeviceToHost, stream_.get());
    if (auto ok = gpu::check(error, "reading planes"); !ok) return fail(ok.error());
    to += sample_count(plane);
  }
  if (auto ok = stream_.synchronise(); !ok) return fail(ok.error());
  return std::span<const std::uint8_t>(h_samples_.data(), bytes);
}

Result<DeviceStages> DeviceStages::make(int device) {
  if (auto ok = gpu::use_listed_device(device); !ok) return fail(ok.error());
  auto transcoder = codec::cuda::Transcoder::make();
  if (!transcoder) return fail(transcoder.error());
  auto stream = gpu::Stream::make();
  if (!stream) return fail(stream.error());
  return DeviceStages(std::make_unique<Impl>(device, std::move(*transcoder), std::move(*stream)));
}

DeviceStages::DeviceStages(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DeviceStages::~DeviceStages() = default;
DeviceStages::DeviceStages(DeviceStages&&) noexcept = default;
DeviceStages& DeviceStages::operator=(DeviceStages&&) noexcept = default;

Result<void> DeviceStages::decode(std::span<const Source> sources) {
  return impl_->decode(sources);
}
Result<void> DeviceStages::make_planes(std::span<const Planned> pictures) {
  return impl_->make_planes(pictures);
}
Result<void> DeviceStages::resample(std::span<const Striped> pictures) {
  return impl_->resample(pictures);
}
Result<void> DeviceStages::post_process(std::span<const Resampled> pictures) {
  return impl_->complete(pictures, false);
}
Result<void> DeviceStages::encode(std::span<const Resampled> pictures) {
  return impl_->complete(pictures, true);
}
const Result<void>& DeviceStages::result(std::size_t picture) const noexcept {
  return impl_->result(picture);
}
std::span<const DevicePlane> DeviceStages::planes(std::size_t picture) const noexcept {
  return impl_->planes(picture);
}
DeviceStream DeviceStages::stream(std::size_t picture) const { return impl_->stream(picture); }
Result<void> DeviceStages::copy(std::span<const Copy> copies) { return impl_->copy(copies); }
Result<std::span<const std::uint8_t>> DeviceStages::read(std::span<const DevicePlane> planes) {
  return impl_->read(planes);
}

}  // namespace framewire::engine
