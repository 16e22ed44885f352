#include <fmt/format.h>
#include <algorithm>
#include <base/null_stream.hpp>
#include <codec/cuda/encode/header_cache.hpp>
#include <codec/cuda/transcoder.hpp>
#include <framewire/device.hpp>
#include <gpu/device.hpp>
#include <gpu/on_device.hpp>
#include <jpeg/head.hpp>
#include <jpeg/types.hpp>

namespace framewire {
namespace {

tl::unexpected<Status> bad_item(std::size_t index, std::string what) {
  return fail(
      Status(StatusCode::kInvalidInput, std::move(what)).about(fmt::format("item {}", index)));
}

/// How often the chroma's size fits into the luma's, rounding up: 1 or 2; 0 where it does not fit.
int factor_of(std::int32_t luma, std::int32_t chroma) {
  if (chroma == luma) return 1;
  return chroma == (luma + 1) / 2 ? 2 : 0;
}

Result<void> check_options(std::size_t index, const DeviceEncodeOptions& options) {
  if (options.quality < 1 || options.quality > 100) {
    return bad_item(index, fmt::format("found quality {}; accepted: 1 to 100", options.quality));
  }
  if (options.restart_interval_mcus < 0 || options.restart_interval_mcus > 65535) {
    return bad_item(index, fmt::format("found restart interval {}; accepted: 0 to 65535",
                                       options.restart_interval_mcus));
  }
  return {};
}

Result<void> check_planes(std::size_t index, std::span<const DevicePlane> planes) {
  if (planes.size() != 1 && planes.size() != 3) {
    return bad_item(index, fmt::format("found {} planes; accepted: 1 or 3", planes.size()));
  }
  for (const DevicePlane& plane : planes) {
    const auto address = reinterpret_cast<std::uintptr_t>(plane.samples);
    if (plane.samples == nullptr || address % 16 != 0 || plane.pitch_bytes % 16 != 0 ||
        plane.pitch_bytes < plane.width_px) {
      return bad_item(index, "planes begin at, and their rows follow at, multiples of 16 bytes");
    }
    if (plane.width_px < 1 || plane.height_px < 1 || plane.width_px > 65535 ||
        plane.height_px > 65535) {
      return bad_item(index, fmt::format("found a plane of {}x{}; accepted: sides of 1 to 65535",
                                         plane.width_px, plane.height_px));
    }
  }
  if (planes.size() == 1) return {};
  const auto same_size =
      planes[1].width_px == planes[2].width_px && planes[1].height_px == planes[2].height_px;
  const int h = factor_of(planes[0].width_px, planes[1].width_px);
  const int v = factor_of(planes[0].height_px, planes[1].height_px);
  if (same_size && h != 0 && v != 0) return {};
  return bad_item(index, "chroma planes are as large as the first one, or half, rounded up");
}

/// A plan that resamples nothing.
plan::Plan make_plan(const DeviceEncodeItem& item) {
  plan::Plan plan;
  const std::span<const DevicePlane> planes = item.planes;
  plan.resized_width_px = planes[0].width_px;
  plan.resized_height_px = planes[0].height_px;
  plan.source = {0, 0, static_cast<double>(planes[0].width_px),
                 static_cast<double>(planes[0].height_px)};
  plan.placement = {0, 0, planes[0].width_px, planes[0].height_px};
  plan.kernel = Kernel::kNearest;
  plan.plane_count = static_cast<int>(planes.size());
  for (std::size_t i = 0; i < planes.size(); ++i) {
    plan.planes[i].component = static_cast<int>(i);
    plan.planes[i].x = {planes[i].width_px, planes[i].width_px, 0, 1};
    plan.planes[i].y = {planes[i].height_px, planes[i].height_px, 0, 1};
  }
  plan::EncodePlan& encode = plan.encode;
  encode.width_px = planes[0].width_px;
  encode.height_px = planes[0].height_px;
  encode.component_count = plan.plane_count;
  encode.model = planes.size() == 1 ? plan::OutputModel::kGray : plan::OutputModel::kYcbcr;
  if (planes.size() == 3) {
    encode.h[0] = static_cast<std::uint8_t>(factor_of(planes[0].width_px, planes[1].width_px));
    encode.v[0] = static_cast<std::uint8_t>(factor_of(planes[0].height_px, planes[1].height_px));
  }
  encode.quality = item.options.quality;
  encode.optimize_huffman = item.options.optimize_huffman;
  encode.restart_interval_mcus = item.options.restart_interval_mcus;
  return plan;
}

}  // namespace

class DeviceEncoder::Impl {
 public:
  Impl(int device, codec::cuda::Transcoder transcoder, std::vector<std::uint8_t> head)
      : device_(device), transcoder_(std::move(transcoder)), head_(std::move(head)) {}

  Result<void> encode(std::span<const DeviceEncodeItem> items, CudaStream stream);
  Result<void> wait() { return count_ == 0 ? Result<void>{} : transcoder_.wait(); }
  [[nodiscard]] Result<std::span<const std::uint8_t>> stream(std::size_t index) const;

 private:
  /// One item; what the batch points into.
  struct Entry {
    plan::Plan plan;
    std::vector<DevicePlane> planes;
  };

  int device_;
  codec::cuda::Transcoder transcoder_;
  std::vector<std::uint8_t> head_;  ///< SOI and JFIF
  codec::cuda::HeaderCache headers_;
  std::vector<Entry> entries_;
  std::size_t count_ = 0;
};

Result<void> DeviceEncoder::Impl::encode(std::span<const DeviceEncodeItem> items,
                                         CudaStream stream) {
  if (stream.is_null()) return base::null_stream();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (auto ok = check_options(i, items[i].options); !ok) return ok;
    if (auto ok = check_planes(i, items[i].planes); !ok) return ok;
    if (items[i].planes.size() == 3 && items[i].color_model != DeviceColorModel::kYcbcr) {
      return fail(Status(StatusCode::kUnsupported,
                         "found three planes that are not YCbCr; accepted: YCbCr, or one of gray")
                      .about(fmt::format("item {}", i)));
    }
  }
  count_ = 0;
  if (items.empty()) return {};
  const gpu::OnDevice on(device_);
  headers_.trim();
  entries_.assign(items.size(), {});
  std::vector<codec::cuda::Item> batch;
  for (std::size_t i = 0; i < items.size(); ++i) {
    Entry& entry = entries_[i];
    entry.plan = make_plan(items[i]);
    entry.planes.assign(items[i].planes.begin(), items[i].planes.end());
    codec::cuda::Item item;
    item.plan = &entry.plan;
    item.planes = entry.planes;
    item.header = headers_.get(head_, entry.plan.encode);
    if (auto ok = codec::cuda::check_item(item); !ok) return bad_item(i, ok.error().message());
    batch.push_back(item);
  }
  auto* const cuda_stream = static_cast<cudaStream_t>(stream.get());
  if (auto ok = transcoder_.wait_for(cuda_stream); !ok) return ok;
  if (auto ok = transcoder_.enqueue(batch); !ok) return ok;
  count_ = items.size();
  return transcoder_.make_wait(cuda_stream);
}

Result<std::span<const std::uint8_t>> DeviceEncoder::Impl::stream(std::size_t index) const {
  const codec::cuda::ImageResult result = transcoder_.result(index);
  if (result.status == 0) return result.bytes;
  return fail(StatusCode::kTooLarge, "the stream outgrew its buffer: noise at this quality");
}

Result<DeviceEncoder> DeviceEncoder::make(int device) {
  if (auto ok = gpu::use_listed_device(device); !ok) return fail(ok.error());
  auto transcoder = codec::cuda::Transcoder::make();
  if (!transcoder) return fail(transcoder.error());
  auto head = jpeg::make_head(jpeg::JpegFile{}, Metadata::kStrip, jpeg::HeadFacts{});
  if (!head) return fail(head.error());
  return DeviceEncoder(std::make_unique<Impl>(device, std::move(*transcoder), std::move(*head)));
}

DeviceEncoder::DeviceEncoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DeviceEncoder::~DeviceEncoder() = default;
DeviceEncoder::DeviceEncoder(DeviceEncoder&&) noexcept = default;
DeviceEncoder& DeviceEncoder::operator=(DeviceEncoder&&) noexcept = default;

Result<void> DeviceEncoder::encode(std::span<const DeviceEncodeItem> items, CudaStream stream) {
  return impl_->encode(items, stream);
}
Result<void> DeviceEncoder::wait() { return impl_->wait(); }
Result<std::span<const std::uint8_t>> DeviceEncoder::stream(std::size_t index) const {
  return impl_->stream(index);
}

}  // namespace framewire
