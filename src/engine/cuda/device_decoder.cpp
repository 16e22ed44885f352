#include <base/null_stream.hpp>
#include <codec/cuda/transcoder.hpp>
#include <codec/turbo/coefficient_reader.hpp>
#include <engine/cuda/image_place.hpp>
#include <engine/cuda/image_pool.hpp>
#include <engine/device_shape.hpp>
#include <engine/device_verdict.hpp>
#include <framewire/device.hpp>
#include <gpu/device.hpp>
#include <gpu/on_device.hpp>
#include <jpeg/markers.hpp>
#include <jpeg/parser.hpp>

namespace framewire {

class DeviceDecoder::Impl {
 public:
  Impl(int device, std::uint64_t picture_bytes, codec::cuda::Transcoder first,
       codec::cuda::Transcoder again)
      : device_(device),
        pool_(device, picture_bytes),
        first_(std::move(first)),
        again_(std::move(again)) {}
  ~Impl();

  Result<void> decode(std::span<const DeviceDecodeItem> items, int scale, CudaStream stream,
                      const Limits& limits);
  Result<void> wait();
  [[nodiscard]] const Result<DeviceImage>& image(std::size_t index) const { return images_[index]; }

 private:
  /// One image of the batch; its file's spans point to the caller's bytes.
  struct Entry {
    jpeg::JpegFile file;
    std::optional<codec::Coefficients> coefficients;
    codec::Context context;
    codec::CodecOutcome outcome;
    engine::ImagePlace place;
    std::size_t item = 0;  ///< in the batch
  };

  Result<void> prepare(Entry& entry, const DeviceDecodeItem& wanted, const Limits& limits);
  Result<void> place(Entry& entry, std::span<const DevicePlaneTarget> targets);
  static Result<void> read_on_host(Entry& entry);
  codec::cuda::Item item_of(const Entry& entry) const;
  static void add_copies(const Entry& entry, std::size_t item,
                         std::vector<codec::cuda::PlaneCopy>& copies);
  Result<void> repeat_damaged();
  void describe(std::size_t index);

  int device_;
  int scale_ = 8;
  engine::ImagePool pool_;
  codec::cuda::Transcoder first_;
  codec::cuda::Transcoder again_;  ///< for what the first attempt gave up
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<codec::cuda::Item> items_;
  std::vector<Result<DeviceImage>> images_;
};

DeviceDecoder::Impl::~Impl() {
  (void)first_.wait();  // what it writes to may be lent to others after this
  pool_.retire();
}

Result<void> DeviceDecoder::Impl::prepare(Entry& entry, const DeviceDecodeItem& wanted,
                                          const Limits& limits) {
  entry.context.deadline = base::Deadline(limits.deadline_ms);
  entry.context.max_scans = limits.max_scans;
  auto file = jpeg::parse(wanted.jpeg, limits, jpeg::ParseDepth::kWhole, entry.context.deadline);
  if (!file) return fail(file.error());
  entry.file = std::move(*file);
  if (auto ok = jpeg::check_supported(entry.file); !ok) return ok;
  // The device would be slow at a few progressive files, and a call has few.
  if (engine::entropy_on_host(entry.file.frame) || !codec::cuda::check_item(item_of(entry))) {
    if (auto ok = read_on_host(entry); !ok) return ok;
  }
  return place(entry, wanted.planes);
}

Result<void> DeviceDecoder::Impl::place(Entry& entry, std::span<const DevicePlaneTarget> targets) {
  const DeviceImageShape shape = engine::shape_of(entry.file, scale_);
  auto found = targets.empty() ? engine::place_in_pool(shape, pool_, first_.stream())
                               : engine::place_at(shape, targets, device_);
  if (!found) return fail(found.error());
  entry.place = std::move(*found);
  return {};
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
  item.targets =
      std::span(entry.place.direct).first(static_cast<std::size_t>(entry.place.component_count));
  if (entry.coefficients) item.coefficients = &*entry.coefficients;
  return item;
}

void DeviceDecoder::Impl::add_copies(const Entry& entry, std::size_t item,
                                     std::vector<codec::cuda::PlaneCopy>& copies) {
  for (std::size_t c = 0; c < static_cast<std::size_t>(entry.place.component_count); ++c) {
    const DevicePlane& plane = entry.place.planes[c];
    if (entry.place.direct[c].samples == nullptr) {
      copies.push_back({item, c, plane.samples, static_cast<std::size_t>(plane.pitch_bytes)});
    }
  }
}

Result<void> DeviceDecoder::Impl::decode(std::span<const DeviceDecodeItem> wanted, int scale,
                                         CudaStream stream, const Limits& limits) {
  if (auto ok = engine::check_scale(scale); !ok) return ok;
  if (stream.is_null()) return base::null_stream();
  const gpu::OnDevice on(device_);
  scale_ = scale;
  entries_.clear();
  items_.clear();
  images_.clear();
  std::vector<codec::cuda::PlaneCopy> copies;
  for (const DeviceDecodeItem& one : wanted) {
    auto entry = std::make_unique<Entry>();
    auto prepared = prepare(*entry, one, limits);
    if (prepared) {
      images_.emplace_back(DeviceImage{});
      entry->item = items_.size();
      items_.push_back(item_of(*entry));
      add_copies(*entry, entry->item, copies);
      entries_.push_back(std::move(entry));
      describe(images_.size() - 1);
    } else {
      images_.emplace_back(fail(prepared.error()));
      entries_.push_back(nullptr);
    }
  }
  if (items_.empty()) return {};
  auto* const cuda_stream = static_cast<cudaStream_t>(stream.get());
  if (auto ok = first_.wait_for(cuda_stream); !ok) return ok;
  if (auto ok = first_.enqueue(items_); !ok) return ok;
  if (auto ok = first_.copy_planes(copies); !ok) return ok;
  return first_.make_wait(cuda_stream);
}

void DeviceDecoder::Impl::describe(std::size_t index) {
  const Entry& entry = *entries_[index];
  DeviceImage& image = *images_[index];
  image.device = device_;
  image.component_count = entry.file.frame.component_count;
  image.color_model = engine::color_model_of(entry.file);
  image.inverted_inks = engine::has_inverted_inks(entry.file);
  image.planes = entry.place.planes;
  image.sampling = jpeg::sampling_name(entry.file.frame);
  image.orientation = entry.file.orientation;
  image.warnings = entry.file.warnings;
  image.warnings.insert(image.warnings.end(), entry.outcome.warnings.begin(),
                        entry.outcome.warnings.end());
  image.keep(entry.place.block);
}

Result<void> DeviceDecoder::Impl::wait() {
  if (items_.empty()) return {};
  const gpu::OnDevice on(device_);
  if (auto ok = first_.wait(); !ok) return ok;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i] != nullptr && first_.result(entries_[i]->item).status == 0) describe(i);
  }
  return repeat_damaged();
}

Result<void> DeviceDecoder::Impl::repeat_damaged() {
  std::vector<std::size_t> repeated;
  std::vector<codec::cuda::PlaneCopy> copies;
  items_.clear();
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i] == nullptr || first_.result(entries_[i]->item).status == 0) continue;
    if (auto read = read_on_host(*entries_[i]); !read) {
      images_[i] = fail(read.error());
      continue;
    }
    add_copies(*entries_[i], items_.size(), copies);
    items_.push_back(item_of(*entries_[i]));
    repeated.push_back(i);
  }
  if (items_.empty()) return {};
  if (auto ok = again_.enqueue(items_); !ok) return ok;
  if (auto ok = again_.copy_planes(copies); !ok) return ok;
  if (auto ok = again_.wait(); !ok) return ok;
  for (const std::size_t i : repeated) describe(i);
  items_.clear();  // a second wait() has nothing to do
  return {};
}

Result<DeviceDecoder> DeviceDecoder::make(int device, const DeviceDecoderOptions& options) {
  if (auto ok = gpu::use_listed_device(device); !ok) return fail(ok.error());
  auto first = codec::cuda::Transcoder::make();
  if (!first) return fail(first.error());
  auto again = codec::cuda::Transcoder::make();
  if (!again) return fail(again.error());
  std::uint64_t picture_bytes = options.picture_bytes;
  if (picture_bytes == 0) {
    const auto free = gpu::free_bytes();
    if (!free) return fail(free.error());
    picture_bytes = *free / 2;
  }
  return DeviceDecoder(
      std::make_unique<Impl>(device, picture_bytes, std::move(*first), std::move(*again)));
}

Result<void> DeviceImage::record(CudaStream stream) const {
  if (stream.is_null()) return base::null_stream();
  if (memory_ == nullptr) return {};
  return memory_->record(static_cast<cudaStream_t>(stream.get()));
}

DeviceDecoder::DeviceDecoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DeviceDecoder::~DeviceDecoder() = default;
DeviceDecoder::DeviceDecoder(DeviceDecoder&&) noexcept = default;
DeviceDecoder& DeviceDecoder::operator=(DeviceDecoder&&) noexcept = default;

Result<void> DeviceDecoder::decode(std::span<const std::span<const std::uint8_t>> jpegs, int scale,
                                   CudaStream stream, const Limits& limits) {
  std::vector<DeviceDecodeItem> items;
  items.reserve(jpegs.size());
  for (const auto& jpeg : jpegs) items.push_back({jpeg});
  return impl_->decode(items, scale, stream, limits);
}
Result<void> DeviceDecoder::decode(std::span<const DeviceDecodeItem> items, int scale,
                                   CudaStream stream, const Limits& limits) {
  return impl_->decode(items, scale, stream, limits);
}
Result<void> DeviceDecoder::wait() { return impl_->wait(); }
const Result<DeviceImage>& DeviceDecoder::image(std::size_t index) const {
  return impl_->image(index);
}

}  // namespace framewire
