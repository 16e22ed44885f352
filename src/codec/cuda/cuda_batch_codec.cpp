#include <codec/cuda/cuda_batch_codec.hpp>
#include <codec/cuda/decode/progressive.hpp>
#include <codec/cuda/encode/header_cache.hpp>
#include <codec/cuda/item_sizer.hpp>
#include <codec/cuda/status_text.hpp>
#include <codec/cuda/transcoder.hpp>

namespace framewire::codec {
namespace {

using cuda::Item;

/// A dozen graphs, also where all lanes instantiate theirs at once.
constexpr std::uint32_t kWarmGraphCredit_us = 1'000'000;

Item make_item(const BatchItem& from) {
  Item item;
  item.file = from.file;
  item.plan = from.plan;
  item.converter = from.converter;
  item.coefficients = from.coefficients;
  item.pinned = from.pinned;
  item.strict = from.strict;
  return item;
}

class CudaBatchCodec : public BatchCodec {
 public:
  explicit CudaBatchCodec(cuda::Transcoder transcoder) : transcoder_(std::move(transcoder)) {}

  [[nodiscard]] CodecKind kind() const noexcept override { return CodecKind::kCuda; }
  [[nodiscard]] plan::Capabilities capabilities() const noexcept override { return {}; }

  [[nodiscard]] Result<void> check(const BatchItem& item) override {
    return cuda::check_item(make_item(item));
  }

  [[nodiscard]] ProgressiveBatches progressive() const noexcept override {
    const cuda::Tuning& tuning = transcoder_.tuning();
    return {tuning.progressive_images, tuning.progressive_batch, tuning.progressive_batch_bytes};
  }

  [[nodiscard]] BatchMemory need(const BatchItem& item, std::size_t position) override {
    constexpr std::uint64_t kTablesBytes = 1024;  // of the header, besides its head
    BatchMemory need = sizer_.need(make_item(item), position);
    need.device_bytes += item.head.size() + kTablesBytes;
    need.pinned_bytes += 2 * (item.head.size() + kTablesBytes);  // up and, with its stream, back
    return need;
  }

  [[nodiscard]] Result<void> enqueue(std::span<const BatchItem> items) override {
    items_.clear();
    qualities_.clear();
    for (const BatchItem& from : items) {
      Item item = make_item(from);
      item.header = headers_.get(from.head, from.plan->encode);
      items_.push_back(item);
      qualities_.push_back(from.plan->encode.quality);
    }
    auto enqueued = transcoder_.enqueue(items_);
    headers_.trim();  // they have been copied
    return enqueued;
  }

  [[nodiscard]] Result<void> wait() override { return transcoder_.wait(); }

  [[nodiscard]] BatchOutcome outcome(std::size_t index) const override {
    const cuda::ImageResult result = transcoder_.result(index);
    if (result.status != 0) return {false, cuda::describe(result.status), 0, {}};
    // The CPU codec does this image again, and says by how much it misses max_bytes.
    if (result.missed_max_bytes) return {false, "even the lowest quality is too large", 0, {}};
    return {true, {}, result.quality != 0 ? result.quality : qualities_[index], result.bytes};
  }

  [[nodiscard]] BatchMemory memory() const override {
    return {transcoder_.device_bytes(), transcoder_.pinned_bytes()};
  }
  [[nodiscard]] base::CacheUse headers() const override { return headers_.use(); }

  [[nodiscard]] std::vector<StageTotal> stages() const override {
    std::vector<StageTotal> totals;
    const auto times = transcoder_.stage_us();
    for (std::size_t i = 0; times && i < times->size(); ++i) {
      totals.push_back({cuda::to_string(static_cast<cuda::Stage>(i)), (*times)[i]});
    }
    return totals;
  }

 private:
  cuda::Transcoder transcoder_;
  cuda::ItemSizer sizer_;
  cuda::HeaderCache headers_;
  std::vector<Item> items_;
  std::vector<int> qualities_;
};

}  // namespace

void load_progressive_kernels() {
  cuda::load_ac_chains();
  cuda::load_ac_words();
  cuda::load_progressive_levels();
}

Result<std::unique_ptr<BatchCodec>> make_cuda_batch_codec(bool timed,
                                                          std::uint64_t max_device_bytes,
                                                          cuda::DeviceShared shared,
                                                          std::uint64_t warm_device_bytes) {
  cuda::Tuning tuning;
  // Whoever takes memory before it is needed wants graphs before they are earned.
  if (warm_device_bytes != 0) tuning.graph_credit_us = kWarmGraphCredit_us;
  auto transcoder = cuda::Transcoder::make(timed, tuning);
  if (!transcoder) return fail(transcoder.error());
  transcoder->set_max_device_bytes(max_device_bytes);
  transcoder->share(std::move(shared));
  transcoder->enqueue_in_parts();
  if (auto ok = transcoder->reserve_ahead(warm_device_bytes); !ok) return fail(ok.error());
  return std::make_unique<CudaBatchCodec>(std::move(*transcoder));
}

}  // namespace framewire::codec
