#include <codec/cuda/transcoder.hpp>
#include <codec/turbo/coefficient_reader.hpp>
#include <framewire/device.hpp>
#include <gpu/device.hpp>
#include <jpeg/markers.hpp>
#include <jpeg/parser.hpp>

namespace framewire {

class DeviceDecoder::Impl {
 public:
  Impl(int device, codec::cuda::Transcoder first, codec::cuda::Transcoder again)
      : device_(device), first_(std::move(first)), again_(std::move(again)) {}

  Result<void> decode(std::span<const std::span<const std::uint8_t>> jpegs, int scale,
                      CudaStream stream, const Limits& limits);
  Result<void> wait();
  [[nodiscard]] const Result<DeviceImage>& image(std::size_t index) const { return images_[index]; }

 private:
  /// One image of the batch; its file's spans point to the caller's bytes.
  struct Entry {
    jpeg::JpegFile file;
    std::optional<codec::Coefficients> coefficients;
    codec::Context context;
    codec::Outcome outcome;
    std::size_t item = 0;  ///< in the batch
  };

  Result<void> prepare(Entry& entry, std::span<const std::uint8_t> bytes, const Limits& limits);
  static Result<void> read_on_host(Entry& entry);
  codec::cuda::Item item_of(const Entry& entry) const;
  Result<void> repeat_damaged();
  void describe(std::size_t index, const codec::cuda::Transcoder& transcoder, std::size_t item);

  int device_;
  int scale_ = 8;
  codec::cuda::Transcoder first_;
  codec::cuda::Transcoder again_;  ///< for what the first attempt gave up
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<codec::cuda::Item> items_;
  std::vector<Result<DeviceImage>> images_;
};

Result<void> DeviceDecoder::Impl::prepare(Entry& entry, std::span<const std::uint8_t> bytes,
                                          const Limits& limits) {
  entry.context.deadline = base::Deadline(limits.deadline_ms);
  entry.context.max_scans = limits.max_scans;
  auto file = jpeg::parse(bytes, limits, jpeg::ParseDepth::kWhole, entry.context.deadline);
  if (!file) return fail(file.error());
  entry.file = std::move(*file);
  if (auto ok = jpeg::check_supported(entry.file); !ok) return ok;
  return codec::cuda::check_item(item_of(entry)) ? Result<void>{} : read_on_host(entry);
}

Result<void> DeviceDecoder::Impl::read_on_host(Entry& entry) {
  auto read = codec::read_coefficients(entry.file, entry.context, entry.outcome);
  if (!read) return fail(read.error());
  entry.coefficients = std::move(*read);
  return {};
}

codec::cuda::Item DeviceDecoder::Impl::item_of(const Entry& entry) const {
  codec::cuda::Item item;
  item.file = &entry.file;
  item.scales.fill(scale_);
  if (entry.coefficients) item.coefficients = &*entry.coefficients;
  return item;
}

Result<void> DeviceDecoder::Impl::decode(std::span<const std::span<const std::uint8_t>> jpegs,
                                         int scale, CudaStream stream, const Limits& limits) {
  if (scale != 8 && scale != 4 && scale != 2 && scale != 1)
    return fail(StatusCode::kInvalidInput, "the scale of a decode is 8, 4, 2 or 1 eighths");
  if (auto ok = gpu::use_device(device_); !ok) return ok;
  scale_ = scale;
  entries_.clear();
  items_.clear();
  images_.clear();
  for (const auto& bytes : jpegs) {
    auto entry = std::make_unique<Entry>();
    auto prepared = prepare(*entry, bytes, limits);
    if (prepared) {
      images_.emplace_back(DeviceImage{});
      entry->item = items_.size();
      items_.push_back(item_of(*entry));
      entries_.push_back(std::move(entry));
    } else {
      images_.emplace_back(fail(prepared.error()));
      entries_.push_back(nullptr);
    }
  }
  if (items_.empty()) return {};
  auto* const cuda_stream = static_cast<cudaStream_t>(stream);
  if (auto ok = first_.wait_for(cuda_stream); !ok) return ok;
  if (auto ok = first_.enqueue(items_); !ok) return ok;
  return first_.make_wait(cuda_stream);
}

void DeviceDecoder::Impl::describe(std::size_t index, const codec::cuda::Transcoder& transcoder,
                                   std::size_t item) {
  const Entry& entry = *entries_[index];
  DeviceImage& image = *images_[index];
  image.component_count = entry.file.frame.component_count;
  image.sampling = jpeg::sampling_name(entry.file.frame);
  image.orientation = entry.file.orientation;
  image.warnings = entry.file.warnings;
  image.warnings.insert(image.warnings.end(), entry.outcome.warnings.begin(),
                        entry.outcome.warnings.end());
  for (std::size_t c = 0; c < static_cast<std::size_t>(image.component_count); ++c) {
    const codec::DevicePlane plane = transcoder.plane(item, c);
    image.planes[c] = {plane.samples, static_cast<std::int32_t>(plane.width_px),
                       static_cast<std::int32_t>(plane.height_px),
                       static_cast<std::int32_t>(plane.pitch_bytes)};
  }
}

Result<void> DeviceDecoder::Impl::wait() {
  if (items_.empty()) return {};
  if (auto ok = first_.wait(); !ok) return ok;
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (entries_[i] != nullptr && first_.result(entries_[i]->item).status == 0)
      describe(i, first_, entries_[i]->item);
  return repeat_damaged();
}

Result<void> DeviceDecoder::Impl::repeat_damaged() {
  std::vector<std::size_t> repeated;
  items_.clear();
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i] == nullptr || first_.result(entries_[i]->item).status == 0) continue;
    if (auto read = read_on_host(*entries_[i]); !read) {
      images_[i] = fail(read.error());
      continue;
    }
    items_.push_back(item_of(*entries_[i]));
    repeated.push_back(i);
  }
  if (items_.empty()) return {};
  if (auto ok = again_.enqueue(items_); !ok) return ok;
  if (auto ok = again_.wait(); !ok) return ok;
  for (std::size_t k = 0; k < repeated.size(); ++k) describe(repeated[k], again_, k);
  items_.clear();  // a second wait() has nothing to do
  return {};
}

Result<DeviceDecoder> DeviceDecoder::make(int device) {
  if (auto ok = gpu::use_listed_device(device); !ok) return fail(ok.error());
  auto first = codec::cuda::Transcoder::make();
  if (!first) return fail(first.error());
  auto again = codec::cuda::Transcoder::make();
  if (!again) return fail(again.error());
  return DeviceDecoder(std::make_unique<Impl>(device, std::move(*first), std::move(*again)));
}

DeviceDecoder::DeviceDecoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DeviceDecoder::~DeviceDecoder() = default;
DeviceDecoder::DeviceDecoder(DeviceDecoder&&) noexcept = default;
DeviceDecoder& DeviceDecoder::operator=(DeviceDecoder&&) noexcept = default;

Result<void> DeviceDecoder::decode(std::span<const std::span<const std::uint8_t>> jpegs, int scale,
                                   CudaStream stream, const Limits& limits) {
  return impl_->decode(jpegs, scale, stream, limits);
}
Result<void> DeviceDecoder::wait() { return impl_->wait(); }
const Result<DeviceImage>& DeviceDecoder::image(std::size_t index) const {
  return impl_->image(index);
}

}  // namespace framewire
