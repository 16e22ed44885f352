#include <algorithm>
#include <array>
#include <engine/device_lanes.hpp>
#include <engine/warm_up.hpp>
#include <jpeg/head.hpp>
#include <jpeg/parser.hpp>
#include <span>

namespace framewire::engine {
namespace {

constexpr std::int32_t kWidth_px = 1920;
constexpr std::int32_t kHeight_px = 1080;
/// Widths of outputs. They decode at 1/8, 1/4, 1/2, 5/8, 6/8 and whole.
constexpr std::array kWidths_px{96, 240, 480, 540, 680, 1200};
/// Images of a batch whose launches are set up early, and of one that goes to the driver at once.
constexpr std::size_t kSmallBatch = 4;

/// Waves with some noise: entropy-coded, about as many bytes as a photograph has.
codec::Plane make_plane(std::int32_t width_px, std::int32_t height_px, std::uint32_t amplitude) {
  codec::Plane plane{width_px, height_px, {}};
  plane.samples.reserve(static_cast<std::size_t>(width_px) * static_cast<std::size_t>(height_px));
  std::uint32_t state = 1;
  for (std::int32_t y = 0; y < height_px; ++y) {
    for (std::int32_t x = 0; x < width_px; ++x) {
      state = state * 1664525 + 1013904223;
      const auto wave = static_cast<std::uint32_t>((x * 3 + y * 5) % 160);
      plane.samples.push_back(
          static_cast<std::uint8_t>(32 + wave + (state >> 24) * amplitude / 256));
    }
  }
  return plane;
}

}  // namespace

Result<WarmUpPicture> WarmUpPicture::make(const codec::Codec& encoder,
                                          const plan::Capabilities& capable) {
  plan::EncodePlan encode;
  encode.width_px = kWidth_px;
  encode.height_px = kHeight_px;
  encode.h = {2, 1, 1, 1};
  encode.v = {2, 1, 1, 1};
  encode.quality = 90;
  codec::Planes planes;
  planes.planes.push_back(make_plane(kWidth_px, kHeight_px, 16));
  for (int i = 0; i < 2; ++i) planes.planes.push_back(make_plane(kWidth_px / 2, kHeight_px / 2, 4));

  WarmUpPicture made;
  made.bytes_ = {0xFF, 0xD8};
  codec::CodecOutcome outcome;
  if (auto ok = encoder.encode(planes, encode, {}, made.bytes_, outcome); !ok) {
    return fail(ok.error());
  }
  auto file = jpeg::parse(made.bytes_, {}, jpeg::ParseDepth::kThroughFirst);
  if (!file) return fail(file.error());
  made.file_ = std::move(*file);
  for (const std::int32_t width_px : kWidths_px) {
    ResizeOptions options;
    options.width_px = width_px;
    auto plan = plan::make_plan(made.file_, options, capable, false);
    if (!plan) return fail(plan.error());
    made.plans_.push_back(*plan);
  }
  auto head = jpeg::make_head(made.file_, Metadata::kStrip, {kWidth_px, kHeight_px});
  if (!head) return fail(head.error());
  made.head_ = std::move(*head);
  return made;
}

Result<void> WarmUpPicture::run(codec::BatchCodec& codec, std::size_t max_images) const {
  const std::uint64_t room = codec.memory().device_bytes;
  const std::size_t most = std::min<std::size_t>(max_images, kBatchInputBytes / bytes_.size());
  const auto run_batch = [&](std::span<const plan::Plan> plans,
                             std::size_t images) -> Result<void> {
    std::vector<codec::BatchItem> items;
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < images; ++i) {
      const codec::BatchItem item{&file_, &plans[i % plans.size()], head_};
      bytes += codec.need(item, i).device_bytes;
      if (i > 0 && bytes > room) break;
      items.push_back(item);
    }
    if (auto ok = codec.enqueue(items); !ok) return ok;
    return codec.wait();
  };
  const auto run_sizes = [&](std::span<const plan::Plan> plans) -> Result<void> {
    for (const std::size_t images : {std::size_t{1}, kSmallBatch, most}) {
      if (auto ok = run_batch(plans, std::min(images, most)); !ok) return ok;
    }
    return {};
  };
  for (const plan::Plan& plan : plans_) {
    if (auto ok = run_sizes({&plan, 1}); !ok) return ok;
  }
  return run_sizes(plans_);
}

}  // namespace framewire::engine
