#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <base/checked.hpp>
#include <gpu/device.hpp>
#include <gpu/error.hpp>
#include <gpu/on_device.hpp>
#include <gpu/stream.hpp>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <tensor/cuda/lane.hpp>
#include <tensor/cuda/tuning.hpp>
#include <tensor/device_batches.hpp>
#include <tensor/thread_pool.hpp>

namespace framewire::tensor {
namespace {

using cuda::Call;
using cuda::TensorLane;

/// Some images of a batch that one lane makes together.
struct ImageGroup {
  std::size_t first = 0;
  std::size_t count = 0;
  std::atomic<std::size_t> unprepared{0};
  std::atomic<bool> begun{false};
  std::atomic<bool> enqueued{false};
  /// The group's bytes, until it is enqueued: all of a batch will be under way soon, which decides
  /// how its first group is decoded, too.
  codec::cuda::EntropyLoad::Share coming;
};

void raise(std::atomic<bool>& flag) {
  flag.store(true, std::memory_order_release);
  flag.notify_all();
}

/// Cuts a batch into groups. @return where each begins, and the end
std::vector<std::size_t> cut(std::span<const TensorItem> items) {
  const std::size_t max_images = std::clamp(base::ceil_div(items.size(), cuda::kGroupsOfBatch),
                                            cuda::kMinGroup, cuda::kMaxGroup);
  std::uint64_t all_bytes = 0;
  for (const TensorItem& item : items) all_bytes += item.jpeg.size();
  const std::uint64_t max_bytes =
      std::clamp(all_bytes / cuda::kMaxLanes, cuda::kMinGroupBytes, cuda::kMaxGroupBytes);
  std::vector<std::size_t> starts;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    bytes += items[i].jpeg.size();
    if (starts.empty() || i - starts.back() == max_images || bytes > max_bytes) {
      starts.push_back(i);
      bytes = items[i].jpeg.size();
    }
  }
  starts.push_back(items.size());
  return starts;
}

/// Of a thread that makes images on the host.
struct HostWorkspace {
  std::vector<std::uint8_t> elements;
  Workspace image;
};

/// The first error of several threads. Thread-safe.
class FirstError {
 public:
  void note(Result<void> result) {
    if (result) return;
    const std::lock_guard lock(mutex_);
    if (result_) result_ = std::move(result);
    failed_.store(true, std::memory_order_relaxed);
  }
  [[nodiscard]] bool failed() const noexcept { return failed_.load(std::memory_order_relaxed); }
  /// Once nobody notes any more.
  [[nodiscard]] Result<void>& result() noexcept { return result_; }

 private:
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  Result<void> result_;
};

class CudaBatches final : public DeviceBatches {
 public:
  CudaBatches(const TensorOptions& options, const ImageMaker& maker)
      : options_(options),
        maker_(maker),
        image_bytes_(element_bytes(options.type) *
                     static_cast<std::uint64_t>(channel_count(options.color)) *
                     static_cast<std::uint64_t>(options.width_px) *
                     static_cast<std::uint64_t>(options.height_px)),
        workspaces_(options.threads),
        workers_(options.threads) {}

  [[nodiscard]] Result<void> prepare() {
    if (auto ok = gpu::use_listed_device(options_.device); !ok) return ok;
    const auto tables = maker_.writer().tables();
    auto memory = gpu::Buffer::make(gpu::BufferKind::kDevice, tables.size());
    if (!memory) return fail(memory.error());
    tables_ = std::move(*memory);
    auto stream = gpu::Stream::make();
    if (!stream) return fail(stream.error());
    stream_.emplace(std::move(*stream));
    auto order = gpu::Event::make_untimed();
    if (!order) return fail(order.error());
    order_.emplace(std::move(*order));
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
    const std::vector<std::size_t> starts = cut(items);
    const std::size_t count = starts.size() - 1;
    while (lanes_.size() < std::min(count, cuda::kMaxLanes)) {
      auto lane = TensorLane::make(options_, load_);
      if (!lane) return fail(lane.error());
      lanes_.push_back(std::move(*lane));
    }
    const auto groups = std::make_unique<ImageGroup[]>(count);
    std::vector<std::uint32_t> group_of(items.size());
    for (std::size_t g = 0; g < count; ++g) {
      groups[g].first = starts[g];
      groups[g].count = groups[g].unprepared = starts[g + 1] - starts[g];
      std::uint64_t bytes = 0;
      for (std::size_t i = starts[g]; i < starts[g + 1]; ++i) {
        group_of[i] = static_cast<std::uint32_t>(g);
        bytes += items[i].jpeg.size();
      }
      groups[g].coming = {load_, bytes};
    }
    const Call call{items,          static_cast<std::uint8_t*>(out.data),
                    image_bytes_,   static_cast<cudaStream_t>(out.stream.get()),
                    tables_.data(), images};
    FirstError error;
    auto started = workers_.run(items.size(), [&](std::size_t /*thread*/, std::size_t item) {
      make_one(call, {groups.get(), count}, group_of[item], item, error);
    });
    if (!started) return started;
    for (std::size_t g = 0; g < std::min(count, lanes_.size()); ++g) {
      guard(error, [&] { return lanes_[g].finish(call); });
    }
    std::vector<std::size_t> left_over;
    for (TensorLane& lane : lanes_) {
      const auto more = lane.take_left_over();
      left_over.insert(left_over.end(), more.begin(), more.end());
    }
    if (error.failed()) return std::move(error.result());
    return make_on_host(call, left_over);
  }

 private:
  /// One image's part of the work; the last of its group's enqueues the group. Threads take images
  /// in their order, so that whom a thread waits for here never waits for it.
  void make_one(const Call& call, std::span<ImageGroup> groups, std::size_t g, std::size_t item,
                FirstError& error) {
    ImageGroup& group = groups[g];
    const std::size_t lanes = std::min(groups.size(), lanes_.size());
    TensorLane& lane = lanes_[g % lanes];
    if (item == group.first) {
      if (g >= lanes) groups[g - lanes].enqueued.wait(false, std::memory_order_acquire);
      attempt(error, [&] {
        auto finished = lane.finish(call);
        return finished ? lane.begin(call, group.first, group.count) : finished;
      });
      raise(group.begun);
    } else {
      group.begun.wait(false, std::memory_order_acquire);
    }
    attempt(error, [&] {
      lane.prepare(call, item - group.first);
      return Result<void>{};
    });
    if (group.unprepared.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    group.coming = {};  // or its bytes counted twice from here on
    attempt(error, [&] { return lane.enqueue(call); });
    raise(group.enqueued);
  }

  /// Unless something has failed already.
  template <typename Work>
  void attempt(FirstError& error, Work work) const {
    if (!error.failed()) guard(error, work);
  }
  template <typename Work>
  void guard(FirstError& error, Work work) const try {
    const gpu::OnDevice here(options_.device);
    error.note(work());
  } catch (const std::bad_alloc&) {
    error.note(fail(StatusCode::kBusy, "memory ran out"));
  }

  [[nodiscard]] Result<void> make_on_host(const Call& call,
                                          const std::vector<std::size_t>& indices) {
    if (indices.empty()) return {};
    if (auto ok = order_->record(call.after); !ok) return ok;
    if (auto ok = stream_->wait_for(order_->get()); !ok) return ok;
    FirstError error;
    auto started = workers_.run(indices.size(), [&](std::size_t thread, std::size_t i) {
      attempt(error, [&] { return make_on_host(call, indices[i], workspaces_[thread]); });
    });
    if (!started) return started;
    error.note(stream_->synchronise());
    return std::move(error.result());
  }

  [[nodiscard]] Result<void> make_on_host(const Call& call, std::size_t index,
                                          HostWorkspace& workspace) const {
    void* const to = call.out + index * call.image_bytes;
    workspace.elements.resize(call.image_bytes);
    call.images[index] =
        maker_.make(index, call.items[index], workspace.elements.data(), workspace.image);
    if (!call.images[index]) {
      return gpu::check(cudaMemsetAsync(to, 0, call.image_bytes, stream_->get()),
                        "clearing an image of a batch");
    }
    const auto error = cudaMemcpyAsync(to, workspace.elements.data(), call.image_bytes,
                                       cudaMemcpyHostToDevice, stream_->get());
    if (auto ok = gpu::check(error, "copying an image of a batch"); !ok) return ok;
    return stream_->synchronise();
  }

  const TensorOptions options_;
  const ImageMaker& maker_;
  std::uint64_t image_bytes_;
  gpu::Buffer tables_;
  const std::shared_ptr<codec::cuda::EntropyLoad> load_ =
      std::make_shared<codec::cuda::EntropyLoad>();
  std::vector<TensorLane> lanes_;
  std::optional<gpu::Stream> stream_;  ///< of images that the host makes
  std::optional<gpu::Event> order_;
  std::vector<HostWorkspace> workspaces_;  ///< one a thread
  ThreadPool workers_;                     ///< last: ends its threads before the rest goes
};

}  // namespace

Result<std::unique_ptr<DeviceBatches>> make_device_batches(const TensorOptions& options,
                                                           const ImageMaker& maker) {
  auto batches = std::make_unique<CudaBatches>(options, maker);
  if (auto ok = batches->prepare(); !ok) return fail(ok.error());
  return batches;
}

}  // namespace framewire::tensor
