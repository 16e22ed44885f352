// An engine's machinery without a GPU: lanes run a batch codec that does its work with turbo and
// fails when it is told to.
#pragma once

#include <gtest/gtest.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <codec/turbo/turbo_codec.hpp>
#include <engine/dispatcher.hpp>
#include <framewire/engine.hpp>
#include <functional>
#include <future>
#include <jpeg/parser.hpp>
#include <memory>
#include <span>
#include <tests/unit/engine/resized.hpp>
#include <thread>
#include <utility>
#include <vector>

namespace framewire::engine::fake {

using codec::BatchItem;
using codec::BatchOutcome;
using sample::Bytes;
using test::smooth;

/// What the lanes of a test do, and what they saw.
struct Script {
  std::atomic<int> lose_at{-1};  ///< the batch, counted over all lanes, at which the device is lost
  std::atomic<int> busy_at{-1};  ///< the batch for which memory runs out
  std::atomic<int> fault_at{-1};             ///< the batch that meets a fault of its own
  std::atomic<bool> give_up{false};          ///< every image is for the CPU, found on the device
  std::atomic<bool> refuse{false};           ///< check() takes nothing
  std::atomic<std::uint64_t> item_bytes{1};  ///< device memory of each item
  std::atomic<std::uint64_t> item_pinned_bytes{1};
  std::atomic<std::uint64_t> item_in_place_bytes{0};  ///< of these
  std::chrono::microseconds batch_time{0};
  std::atomic<bool> held{false};              ///< batches that have begun do not end: see release()
  std::atomic<bool> held_progressive{false};  ///< the same for batches of scans to decode
  std::atomic<int> batches{0};                ///< that have begun
  std::atomic<std::size_t> largest{0};
  std::atomic<int> pinned{0};  ///< items that lay in memory of the engine's
  /// How many progressive files must wait for their scans to be decoded here; 0: they never are.
  std::atomic<std::size_t> progressive_images{0};
  std::atomic<int> progressive_scans{0};  ///< items whose scans were decoded here
  std::atomic<int> with_coefficients{0};  ///< items that came with their coefficients

  void release() {
    held = false;
    held.notify_all();
  }
};

/// Looks again and again. @return false where it has not come to hold in a minute
[[nodiscard]] inline bool comes_to_hold(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

class FakeBatchCodec : public codec::BatchCodec {
 public:
  explicit FakeBatchCodec(Script& script) : script_(script) {}
  [[nodiscard]] CodecKind kind() const noexcept override { return CodecKind::kCuda; }
  [[nodiscard]] plan::Capabilities capabilities() const noexcept override { return {}; }
  [[nodiscard]] Result<void> check(const BatchItem&) override {
    if (script_.refuse) return fail(StatusCode::kUnsupported, "not of this kind");
    return {};
  }
  [[nodiscard]] codec::ProgressiveBatches progressive() const noexcept override {
    return {script_.progressive_images, script_.progressive_images, UINT64_MAX};
  }
  [[nodiscard]] codec::BatchMemory need(const BatchItem&, std::size_t) override {
    return {script_.item_bytes, script_.item_pinned_bytes, script_.item_in_place_bytes};
  }
  [[nodiscard]] Result<void> enqueue(std::span<const BatchItem> items) override {
    const int number = script_.batches++;
    std::size_t largest = script_.largest;
    while (largest < items.size() && !script_.largest.compare_exchange_weak(largest, items.size()))
      ;
    if (number == script_.busy_at) return fail(StatusCode::kBusy, "GPU memory ran out");
    if (number == script_.fault_at) return fail(StatusCode::kInternal, "a fault of this batch");
    lost_ = lost_ || (script_.lose_at >= 0 && number >= script_.lose_at);
    if (lost_) return fail(StatusCode::kDeviceLost, "fell off the bus");
    outputs_.clear();
    progressive_ = false;
    for (const BatchItem& item : items) {
      script_.pinned += item.pinned ? 1 : 0;
      const bool progressive = item.file->frame.process == jpeg::Process::kProgressive;
      script_.with_coefficients += item.coefficients != nullptr ? 1 : 0;
      const bool scans = progressive && item.coefficients == nullptr;
      script_.progressive_scans += scans ? 1 : 0;
      progressive_ = progressive_ || scans;
      Bytes out(item.head.begin(), item.head.end());
      codec::CodecOutcome outcome;
      codec::Context context;
      context.converter = item.converter;
      // As a device does, from a copy of what lies there now; damage is for the host. A device
      // reads scans alone: where somebody has changed the head, which turbo reads, there is no
      // answer.
      const Bytes copy(item.file->bytes.begin(), item.file->bytes.end());
      const auto now = jpeg::parse(copy, Limits{});
      jpeg::JpegFile file = *item.file;
      file.bytes = copy;
      if (!now || !same_frame(now->frame, file.frame) ||
          !turbo_->transcode(file, *item.plan, context, out, outcome)) {
        out.clear();
      }
      outputs_.push_back(std::move(out));
      quality_ = outcome.quality;
    }
    return {};
  }
  [[nodiscard]] Result<void> wait() override {
    script_.held.wait(true);
    if (progressive_) script_.held_progressive.wait(true);
    std::this_thread::sleep_for(script_.batch_time);
    return {};
  }
  [[nodiscard]] BatchOutcome outcome(std::size_t index) const override {
    if (script_.give_up || outputs_[index].empty()) return {false, "damaged", 0, {}};
    return {true, {}, quality_, outputs_[index]};
  }
  [[nodiscard]] codec::BatchMemory memory() const override { return {1000, 500}; }
  [[nodiscard]] base::CacheUse headers() const override { return {10, 20, 3, 4}; }
  [[nodiscard]] std::vector<StageTotal> stages() const override { return {{"all", 5.0}}; }

 private:
  static bool same_frame(const jpeg::FrameHeader& a, const jpeg::FrameHeader& b) {
    bool same = a.width_px == b.width_px && a.height_px == b.height_px &&
                a.component_count == b.component_count && a.sof_marker == b.sof_marker;
    for (std::size_t i = 0; i < a.components.size(); ++i) {
      same =
          same && a.components[i].h == b.components[i].h && a.components[i].v == b.components[i].v;
    }
    return same;
  }

  Script& script_;
  std::unique_ptr<codec::Codec> turbo_ = codec::make_turbo_codec();
  std::vector<Bytes> outputs_;
  int quality_ = 0;
  bool progressive_ = false;
  bool lost_ = false;
};

inline std::vector<DeviceLanes> devices_of(std::vector<Script*> scripts, unsigned lanes) {
  std::vector<DeviceLanes> devices;
  for (Script* script : scripts) {
    DeviceLanes device;
    device.ordinal = static_cast<int>(devices.size());
    device.name = "Fake";
    device.lanes = lanes;
    device.progressive_lanes = 1;
    device.make_codec = [script](LaneKind) -> Result<std::unique_ptr<codec::BatchCodec>> {
      return std::make_unique<FakeBatchCodec>(*script);
    };
    devices.push_back(std::move(device));
  }
  return devices;
}

inline std::unique_ptr<Dispatcher> make(std::vector<DeviceLanes> devices,
                                        EngineOptions options = {}) {
  options.threads = options.threads != 0 ? options.threads : 2;
  auto made = Dispatcher::make(options, std::move(devices));
  EXPECT_TRUE(made);
  return std::move(*made);
}

inline const std::vector<Bytes>& photos() {
  static const std::vector<Bytes> all = [] {
    std::vector<Bytes> made;
    for (int i = 0; i < 6; ++i) {
      made.push_back(sample::make({64 + 8 * i, 48, JCS_YCbCr, 2, 2, 90}, smooth));
    }
    return made;
  }();
  return all;
}

inline Bytes progressive_photo() {
  sample::Spec spec{80, 60, JCS_YCbCr, 2, 2, 90};
  spec.progressive = true;
  return sample::make(spec, smooth);
}

inline ResizeOptions width(int px, CodecKind codec = CodecKind::kAuto) {
  ResizeOptions options;
  options.width_px = px;
  options.codec = codec;
  return options;
}

inline void submit(Dispatcher& engine, const Bytes& jpeg, const ResizeOptions& options,
                   Engine::Callback done) {
  EngineRequest request{jpeg, options, std::move(done)};
  engine.submit({&request, 1});
}

inline Result<Resized> one(Dispatcher& engine, const Bytes& jpeg, const ResizeOptions& options) {
  std::promise<Result<Resized>> answer;
  submit(engine, jpeg, options, [&](Result<Resized> r) { answer.set_value(std::move(r)); });
  return answer.get_future().get();
}

/// Counts answers by what they say.
struct AnswerCounts {
  std::atomic<int> ok{0};
  std::atomic<int> lost{0};
  std::atomic<int> other{0};
  Engine::Callback callback() {
    return [this](const Result<Resized>& r) {
      if (r) {
        ++ok;
      } else if (r.error().code() == StatusCode::kDeviceLost) {
        ++lost;
      } else {
        ++other;
      }
    };
  }
};

}  // namespace framewire::engine::fake
