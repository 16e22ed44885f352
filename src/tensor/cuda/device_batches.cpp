#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <base/checked.hpp>
#include <deque>
#include <gpu/device.hpp>
#include <gpu/error.hpp>
#include <gpu/on_device.hpp>
#include <gpu/stream.hpp>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <tensor/cuda/lane.hpp>
#include <tensor/cuda/tuning.hpp>
#include <tensor/device_batches.hpp>
#include <tensor/thread_pool.hpp>

namespace framewire::tensor {
namespace {

using cuda::Call;
using cuda::CallOutcome;
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
  std::vector<std::size_t> starts;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    bytes += items[i].jpeg.size();
    if (starts.empty() || i - starts.back() == max_images || bytes > cuda::kMaxGroupBytes) {
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

/// Does a part of a batch, unless something has failed already.
template <typename Work>
void attempt(CallOutcome& outcome, int device, Work work) {
  if (outcome.failed()) return;
  try {
    const gpu::OnDevice here(device);
    outcome.note(work());
  } catch (const std::bad_alloc&) {
    outcome.note(fail(StatusCode::kBusy, "memory ran out"));
  }
}

class CudaBatches;

class CudaBatch final : public DeviceBatch {
 public:
  CudaBatch(std::shared_ptr<CudaBatches> maker, std::span<const TensorItem> items, gpu::Event after)
      : maker_(std::move(maker)),
        after_(std::move(after)),
        images_(items.size(), fail(StatusCode::kInternal, "the image was not reached")) {
    call_.items = items;
    call_.images = images_;
    call_.after = after_.get();
  }
  ~CudaBatch() override;
  CudaBatch(const CudaBatch&) = delete;
  CudaBatch& operator=(const CudaBatch&) = delete;

  [[nodiscard]] Result<void> wait() override;
  [[nodiscard]] std::vector<Result<TensorImage>>& images() noexcept override { return images_; }
  [[nodiscard]] Call& call() noexcept { return call_; }

 private:
  std::shared_ptr<CudaBatches> maker_;
  gpu::Event after_;
  std::vector<Result<TensorImage>> images_;
  Call call_;
};

class CudaBatches final : public DeviceBatches, public std::enable_shared_from_this<CudaBatches> {
 public:
  CudaBatches(const TensorOptions& options, std::shared_ptr<const ImageMaker> maker)
      : options_(options),
        maker_(std::move(maker)),
        image_bytes_(element_bytes(options.type) *
                     static_cast<std::uint64_t>(channel_count(options.color)) *
                     static_cast<std::uint64_t>(options.width_px) *
                     static_cast<std::uint64_t>(options.height_px)),
        workspaces_(options.threads),
        workers_(options.threads) {}

  [[nodiscard]] Result<void> prepare() {
    if (auto ok = gpu::use_listed_device(options_.device); !ok) return ok;
    const auto tables = maker_->writer().tables();
    auto memory = gpu::Buffer::make(gpu::BufferKind::kDevice, tables.size());
    if (!memory) return fail(memory.error());
    tables_ = std::move(*memory);
    auto stream = gpu::Stream::make();
    if (!stream) return fail(stream.error());
    stream_.emplace(std::move(*stream));
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

  [[nodiscard]] Result<std::unique_ptr<DeviceBatch>> begin(std::span<const TensorItem> items,
                                                           const DeviceTensorView& out) override {
    const gpu::OnDevice on(options_.device);
    auto after = gpu::Event::make_untimed();
    if (!after) return fail(after.error());
    if (auto ok = after->record(static_cast<cudaStream_t>(out.stream.get())); !ok) {
      return fail(ok.error());
    }
    auto batch = std::make_unique<CudaBatch>(shared_from_this(), items, std::move(*after));
    Call& call = batch->call();
    call.out = static_cast<std::uint8_t*>(out.data);
    call.image_bytes = image_bytes_;
    call.tables = tables_.data();
    if (auto begun = begin_groups(call); !begun) return fail(begun.error());
    if (call.outcome.failed()) return fail(call.outcome.result().error());
    return batch;
  }

  /// Waits for the groups of a batch that are under way.
  void finish_groups(const Call& call) noexcept {
    const gpu::OnDevice on(options_.device);
    for (TensorLane& lane : lanes_) {
      if (lane.serves(call)) lane.finish();
    }
  }

  [[nodiscard]] Result<void> make_on_host(Call& call) {
    const std::vector<std::size_t> indices = call.outcome.take_left_over();
    if (indices.empty()) return {};
    const gpu::OnDevice on(options_.device);
    if (auto ok = stream_->wait_for(call.after); !ok) return ok;
    auto started = workers_.run(indices.size(), [&](std::size_t thread, std::size_t i) {
      attempt(call.outcome, options_.device,
              [&] { return make_on_host(call, indices[i], workspaces_[thread]); });
    });
    if (!started) return started;
    call.outcome.note(stream_->synchronise());
    return call.outcome.result();
  }

 private:
  /// Cuts a batch into groups, and enqueues them.
  [[nodiscard]] Result<void> begin_groups(Call& call) {
    const std::vector<std::size_t> starts = cut(call.items);
    const std::size_t count = starts.size() - 1;
    if (auto made = make_lanes(count); !made) return made;
    const auto groups = std::make_unique<ImageGroup[]>(count);
    std::vector<std::uint32_t> group_of(call.items.size());
    for (std::size_t g = 0; g < count; ++g) {
      groups[g].first = starts[g];
      groups[g].count = groups[g].unprepared = starts[g + 1] - starts[g];
      std::uint64_t bytes = 0;
      for (std::size_t i = starts[g]; i < starts[g + 1]; ++i) {
        group_of[i] = static_cast<std::uint32_t>(g);
        bytes += call.items[i].jpeg.size();
      }
      groups[g].coming = {load_, bytes};
    }
    auto started = workers_.run(call.items.size(), [&](std::size_t /*thread*/, std::size_t item) {
      make_one(call, {groups.get(), count}, group_of[item], item);
    });
    next_lane_ = (next_lane_ + count) % lanes_.size();
    return started;
  }

  /// As many as groups will be under way, those of earlier batches among them.
  [[nodiscard]] Result<void> make_lanes(std::size_t groups) {
    const auto busy = static_cast<std::size_t>(
        std::count_if(lanes_.begin(), lanes_.end(), [](const TensorLane& l) { return l.busy(); }));
    const std::size_t wanted = std::min(busy + groups, max_lanes_);
    if (lanes_.size() < wanted) next_lane_ = lanes_.size();  // those before may be at work
    while (lanes_.size() < wanted) {
      auto lane = TensorLane::make(options_, load_);
      if (!lane) return fail(lane.error());
      lanes_.push_back(std::move(*lane));
    }
    return {};
  }

  /// One image's part of the work; the last of its group's enqueues the group. Threads take images
  /// in their order, so that whom a thread waits for here never waits for it.
  void make_one(Call& call, std::span<ImageGroup> groups, std::size_t g, std::size_t item) {
    ImageGroup& group = groups[g];
    const std::size_t lanes = lanes_.size();
    TensorLane& lane = lanes_[(next_lane_ + g) % lanes];
    if (item == group.first) {
      if (g >= lanes) groups[g - lanes].enqueued.wait(false, std::memory_order_acquire);
      attempt(call.outcome, options_.device, [&] {
        lane.finish();  // a group of this batch, or of an earlier one
        return lane.begin(call, group.first, group.count);
      });
      raise(group.begun);
    } else {
      group.begun.wait(false, std::memory_order_acquire);
    }
    attempt(call.outcome, options_.device, [&] {
      lane.prepare(item - group.first);
      return Result<void>{};
    });
    if (group.unprepared.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    group.coming = {};  // or its bytes counted twice from here on
    attempt(call.outcome, options_.device, [&] { return lane.enqueue(); });
    raise(group.enqueued);
  }

  [[nodiscard]] Result<void> make_on_host(const Call& call, std::size_t index,
                                          HostWorkspace& workspace) const {
    void* const to = call.out + index * call.image_bytes;
    workspace.elements.resize(call.image_bytes);
    call.images[index] =
        maker_->make(call.items[index], workspace.elements.data(), workspace.image);
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
  const std::shared_ptr<const ImageMaker> maker_;
  std::uint64_t image_bytes_;
  gpu::Buffer tables_;
  const std::shared_ptr<codec::cuda::EntropyLoad> load_ =
      std::make_shared<codec::cuda::EntropyLoad>();
  const std::size_t max_lanes_ = gpu::asked_hardware_queues() >= cuda::kManyQueues
                                     ? cuda::kMaxLanesOfManyQueues
                                     : cuda::kMaxLanes;
  std::deque<TensorLane> lanes_;           ///< where they are while groups are under way
  std::size_t next_lane_ = 0;              ///< of the next batch's first group
  std::optional<gpu::Stream> stream_;      ///< of images that the host makes
  std::vector<HostWorkspace> workspaces_;  ///< one a thread
  ThreadPool workers_;                     ///< last: ends its threads before the rest goes
};

CudaBatch::~CudaBatch() { maker_->finish_groups(call_); }

Result<void> CudaBatch::wait() {
  maker_->finish_groups(call_);
  if (call_.outcome.failed()) return call_.outcome.result();
  return maker_->make_on_host(call_);
}

}  // namespace

Result<std::shared_ptr<DeviceBatches>> make_device_batches(
    const TensorOptions& options, std::shared_ptr<const ImageMaker> maker) {
  auto batches = std::make_shared<CudaBatches>(options, std::move(maker));
  if (auto ok = batches->prepare(); !ok) return fail(ok.error());
  return batches;
}

}  // namespace framewire::tensor
