#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <algorithm>
#include <base/checked.hpp>
#include <gpu/device.hpp>
#include <gpu/error.hpp>
#include <gpu/on_device.hpp>
#include <mutex>
#include <new>
#include <tensor/cuda/lane.hpp>
#include <tensor/cuda/tuning.hpp>
#include <tensor/device_batches.hpp>
#include <tensor/thread_pool.hpp>

namespace framewire::tensor {
namespace {

using cuda::Call;
using cuda::TensorLane;

/// How many of `images` a lane takes at a time.
std::size_t batch_of(std::size_t images) {
  return std::clamp(base::ceil_div(images, cuda::kSharingLanes), cuda::kMinBatch, cuda::kMaxBatch);
}

class CudaBatches final : public DeviceBatches {
 public:
  CudaBatches(const TensorOptions& options, const ImageMaker& maker)
      : options_(options),
        maker_(maker),
        image_bytes_(element_bytes(options.type) *
                     static_cast<std::uint64_t>(channel_count(options.color)) *
                     static_cast<std::uint64_t>(options.width_px) *
                     static_cast<std::uint64_t>(options.height_px)),
        workers_(std::min<std::size_t>(options.threads, cuda::kMaxLanes)) {}

  [[nodiscard]] Result<void> prepare() {
    if (auto ok = gpu::use_listed_device(options_.device); !ok) return ok;
    const auto tables = maker_.writer().tables();
    auto memory = gpu::Buffer::make(gpu::BufferKind::kDevice, tables.size());
    if (!memory) return fail(memory.error());
    tables_ = std::move(*memory);
    return gpu::check(
        cudaMemcpy(tables_.data(), tables.data(), tables.size(), cudaMemcpyHostToDevice),
        "copying tables");
  }

  [[nodiscard]] Result<void> check_memory(const void* data) const override {
    const auto device = gpu::device_of(data);
    if (!device) return fail(device.error());
    if (*device == options_.device) return {};
    return fail(StatusCode::kInvalidInput,
                fmt::format("the batch's memory is {}; accepted: memory of device {}",
                            *device < 0 ? "no device's" : fmt::format("device {}'s", *device),
                            options_.device));
  }

  [[nodiscard]] Result<void> decode(std::span<const TensorItem> items, const DeviceTensorView& out,
                                    std::span<Result<TensorImage>> images) override {
    const gpu::OnDevice on(options_.device);
    const std::size_t batch = batch_of(items.size());
    const std::size_t wanted =
        std::min<std::size_t>(std::min<std::size_t>(options_.threads, cuda::kMaxLanes),
                              base::ceil_div(items.size(), batch));
    while (lanes_.size() < wanted) {
      auto lane = TensorLane::make(options_, maker_);
      if (!lane) return fail(lane.error());
      lanes_.push_back(std::move(*lane));
    }
    Call call;
    call.items = items;
    call.out = static_cast<std::uint8_t*>(out.data);
    call.image_bytes = image_bytes_;
    call.after = static_cast<cudaStream_t>(out.stream.get());
    call.tables = tables_.data();
    call.images = images;
    call.batch = batch;
    std::mutex mutex;
    Result<void> result;
    auto started = workers_.run(wanted, [&](std::size_t /*thread*/, std::size_t lane) {
      auto done = run(lanes_[lane], call);
      if (done) return;
      const std::lock_guard lock(mutex);
      result = std::move(done);
    });
    return started ? result : started;
  }

 private:
  [[nodiscard]] Result<void> run(TensorLane& lane, Call& call) const try {
    const gpu::OnDevice here(options_.device);
    return lane.run(call);
  } catch (const std::bad_alloc&) {
    return fail(StatusCode::kBusy, "memory ran out");
  }

  const TensorOptions options_;
  const ImageMaker& maker_;
  std::uint64_t image_bytes_;
  gpu::Buffer tables_;
  std::vector<TensorLane> lanes_;
  ThreadPool workers_;
};

}  // namespace

Result<std::unique_ptr<DeviceBatches>> make_device_batches(const TensorOptions& options,
                                                           const ImageMaker& maker) {
  auto batches = std::make_unique<CudaBatches>(options, maker);
  if (auto ok = batches->prepare(); !ok) return fail(ok.error());
  return batches;
}

}  // namespace framewire::tensor
