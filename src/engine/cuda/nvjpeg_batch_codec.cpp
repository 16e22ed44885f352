#include <array>
#include <codec/cuda/encode/header_cache.hpp>
#include <codec/cuda/item_sizer.hpp>
#include <codec/cuda/status_text.hpp>
#include <codec/cuda/transcoder.hpp>
#include <codec/nvjpeg/decoder.hpp>
#include <codec/nvjpeg/encoder.hpp>
#include <engine/cuda/nvjpeg_batch_codec.hpp>
#include <gpu/stream.hpp>
#include <jpeg/body.hpp>

namespace framewire::engine {
namespace {

using codec::BatchItem;
using codec::nvjpeg::EncodeItem;
using codec::nvjpeg::NvjpegDecoder;
using codec::nvjpeg::NvjpegEncoder;

codec::cuda::Item make_item(const BatchItem& from) {
  codec::cuda::Item item;
  item.file = from.file;
  item.plan = from.plan;
  item.converter = from.converter;
  return item;
}

class NvjpegBatchCodec : public codec::BatchCodec {
 public:
  NvjpegBatchCodec(gpu::Stream stream, NvjpegDecoder decoder, codec::cuda::Transcoder transcoder,
                   NvjpegEncoder encoder)
      : stream_(std::move(stream)),
        decoder_(std::move(decoder)),
        transcoder_(std::move(transcoder)),
        encoder_(std::move(encoder)) {}

  [[nodiscard]] CodecKind kind() const noexcept override { return CodecKind::kNvjpeg; }
  [[nodiscard]] plan::Capabilities capabilities() const noexcept override {
    return {.scaled_decode = false};
  }

  [[nodiscard]] Result<void> check(const BatchItem& item) override {
    if (auto ok = decoder_.check(*item.file); !ok) return ok;
    return codec::cuda::check_item(make_item(item));
  }

  /// Planes are counted twice: nvJPEG's, and those that the CUDA codec would have decoded itself.
  [[nodiscard]] codec::BatchMemory need(const BatchItem& item, std::size_t position) override {
    codec::BatchMemory need = sizer_.need(make_item(item), position);
    need.device_bytes += item.head.size() + 1024;
    need.pinned_bytes += 2 * (item.head.size() + 1024);
    const jpeg::FrameHeader& frame = item.file->frame;
    for (std::size_t c = 0; c < static_cast<std::size_t>(frame.component_count); ++c) {
      need.device_bytes += std::uint64_t{64} *
                           static_cast<std::uint64_t>(frame.components[c].padded_width_blocks + 2) *
                           static_cast<std::uint64_t>(frame.components[c].padded_height_blocks);
    }
    return need;
  }

  [[nodiscard]] Result<void> enqueue(std::span<const BatchItem> items) override;
  [[nodiscard]] Result<void> wait() override;
  [[nodiscard]] codec::BatchOutcome outcome(std::size_t index) const override;

  [[nodiscard]] codec::BatchMemory memory() const override {
    return {transcoder_.device_bytes() + decoder_.device_bytes(), transcoder_.pinned_bytes()};
  }
  [[nodiscard]] base::CacheUse headers() const override { return headers_.use(); }
  [[nodiscard]] std::vector<StageTotal> stages() const override { return {}; }

 private:
  using PlanesOf = std::array<DevicePlane, jpeg::kMaxComponents>;
  static constexpr std::size_t kOurs = SIZE_MAX;  ///< encoded by the CUDA codec

  [[nodiscard]] Result<void> decode(std::span<const BatchItem> items);
  [[nodiscard]] Result<void> resample(std::span<const BatchItem> items);
  [[nodiscard]] Result<void> encode(std::span<const BatchItem> items);

  gpu::Stream stream_;
  NvjpegDecoder decoder_;
  codec::cuda::Transcoder transcoder_;
  NvjpegEncoder encoder_;
  codec::cuda::ItemSizer sizer_;
  codec::cuda::HeaderCache headers_;
  std::vector<const jpeg::JpegFile*> files_;
  std::vector<PlanesOf> planes_;
  std::vector<EncodeItem> encodes_;
  std::vector<std::size_t> encode_of_;  ///< [items] index into encodes_, or kOurs
  std::vector<std::span<const std::uint8_t>> heads_;
  std::vector<int> qualities_;
  std::vector<std::vector<std::uint8_t>> outputs_;
};

Result<void> NvjpegBatchCodec::decode(std::span<const BatchItem> items) {
  files_.clear();
  for (const BatchItem& item : items) files_.push_back(item.file);
  if (auto ok = decoder_.enqueue(files_, stream_.get()); !ok) return ok;
  planes_.assign(items.size(), {});
  for (std::size_t i = 0; i < items.size(); ++i) {
    for (std::size_t c = 0; c < static_cast<std::size_t>(items[i].file->frame.component_count);
         ++c) {
      planes_[i][c] = decoder_.plane(i, c);
    }
  }
  return transcoder_.wait_for(stream_.get());
}

Result<void> NvjpegBatchCodec::resample(std::span<const BatchItem> items) {
  encode_of_.assign(items.size(), kOurs);
  heads_.clear();
  qualities_.clear();
  std::size_t theirs = 0;
  std::vector<codec::cuda::Item> batch;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const plan::EncodePlan& encode = items[i].plan->encode;
    codec::cuda::Item item = make_item(items[i]);
    item.planes =
        std::span(planes_[i]).first(static_cast<std::size_t>(items[i].file->frame.component_count));
    if (NvjpegEncoder::check(encode)) {
      encode_of_[i] = theirs++;
      item.encode = false;
    } else {
      item.header = headers_.get(items[i].head, encode);
    }
    heads_.push_back(items[i].head);
    qualities_.push_back(encode.quality);
    batch.push_back(item);
  }
  auto enqueued = transcoder_.enqueue(batch);
  headers_.trim();  // they have been copied
  if (!enqueued) return enqueued;
  return transcoder_.make_wait(stream_.get());
}

Result<void> NvjpegBatchCodec::encode(std::span<const BatchItem> items) {
  encodes_.clear();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (encode_of_[i] == kOurs) continue;
    EncodeItem item;
    item.plan = &items[i].plan->encode;
    for (std::size_t c = 0; c < static_cast<std::size_t>(item.plan->component_count); ++c) {
      item.planes[c] = transcoder_.output_plane(i, c);
    }
    encodes_.push_back(item);
  }
  return encodes_.empty() ? Result<void>{} : encoder_.enqueue(encodes_, stream_.get());
}

Result<void> NvjpegBatchCodec::enqueue(std::span<const BatchItem> items) {
  if (auto ok = decode(items); !ok) return ok;
  if (auto ok = resample(items); !ok) return ok;
  return encode(items);
}

Result<void> NvjpegBatchCodec::wait() {
  if (auto ok = transcoder_.wait(); !ok) return ok;
  if (!encodes_.empty()) {
    if (auto ok = encoder_.wait(); !ok) return ok;
  }
  outputs_.assign(files_.size(), {});
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (encode_of_[i] == kOurs || !decoder_.status(i)) continue;
    outputs_[i].assign(heads_[i].begin(), heads_[i].end());
    auto spliced = jpeg::append_body(encoder_.stream(encode_of_[i]), outputs_[i]);
    if (!spliced) return fail(spliced.error());
  }
  return {};
}

codec::BatchOutcome NvjpegBatchCodec::outcome(std::size_t index) const {
  const auto& decoded = decoder_.status(index);
  if (!decoded) return {false, decoded.error().message(), 0, {}};
  if (encode_of_[index] != kOurs) return {true, {}, qualities_[index], outputs_[index]};
  const codec::cuda::ImageResult result = transcoder_.result(index);
  if (result.status != 0) return {false, codec::cuda::describe(result.status), 0, {}};
  if (result.missed_max_bytes) return {false, "even the lowest quality is too large", 0, {}};
  return {true, {}, result.quality != 0 ? result.quality : qualities_[index], result.bytes};
}

Result<NvjpegDecoder> make_decoder() {
  auto hardware = NvjpegDecoder::make(codec::nvjpeg::Backend::kHardware);
  if (hardware || hardware.error().code() != StatusCode::kUnsupported) return hardware;
  return NvjpegDecoder::make(codec::nvjpeg::Backend::kCuda);
}

}  // namespace

Result<std::unique_ptr<codec::BatchCodec>> make_nvjpeg_batch_codec(std::uint64_t max_device_bytes) {
  auto stream = gpu::Stream::make();
  if (!stream) return fail(stream.error());
  auto decoder = make_decoder();
  if (!decoder) return fail(decoder.error());
  auto transcoder = codec::cuda::Transcoder::make();
  if (!transcoder) return fail(transcoder.error());
  transcoder->set_max_device_bytes(max_device_bytes);
  auto encoder = NvjpegEncoder::make();
  if (!encoder) return fail(encoder.error());
  return std::make_unique<NvjpegBatchCodec>(std::move(*stream), std::move(*decoder),
                                            std::move(*transcoder), std::move(*encoder));
}

}  // namespace framewire::engine
