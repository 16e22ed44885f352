// Whatever the queue enqueues, it enqueues with its device current: a kernel is refused otherwise,
// and so are copies of memory that is mapped for one device (seen on H200, driver 580).
#include "transport/cuda/queue.hpp"
#include <array>
#include <atomic>
#include <deque>
#include <optional>
#include <utility>
#include "gpu/error.hpp"
#include "transport/cuda/on_device.hpp"

#ifndef FRAMEWIRE_ENGINE_STREAMS
#define FRAMEWIRE_ENGINE_STREAMS 2
#endif

namespace framewire::transport::cuda {
namespace {

// Large copies take turns, so that one need not wait for the end of the other.
constexpr std::size_t kEngineStreams = FRAMEWIRE_ENGINE_STREAMS;
// Asking the runtime costs microseconds; it is what learns of errors.
constexpr unsigned kLooksAQuestion = 1024;

class CudaMark final : public Mark {
 public:
  CudaMark(gpu::Event event, Pools& pools) : event_(std::move(event)), pools_(pools) {}
  ~CudaMark() override { pools_.give_back(std::move(event_)); }
  CudaMark(const CudaMark&) = delete;
  CudaMark& operator=(const CudaMark&) = delete;
  bool passed() const override { return cudaEventQuery(event_.get()) != cudaErrorNotReady; }

 private:
  gpu::Event event_;
  Pools& pools_;
};

class CudaQueue final : public CopyQueue {
 public:
  CudaQueue(Pools& pools, const Signal& signal, gpu::Event last)
      : pools_(pools), signal_(signal), last_(std::move(last)) {}
  ~CudaQueue() override {
    static_cast<void>(finish());
    for (Pending& copy : pending_) {
      if (copy.event) pools_.give_back(std::move(*copy.event));
    }
    pools_.give_back(signal_);
  }
  CudaQueue(const CudaQueue&) = delete;
  CudaQueue& operator=(const CudaQueue&) = delete;

  Result<Ticket> copy(std::byte* to, const std::byte* from, std::uint64_t bytes,
                      Sides sides) override {
    const OnDevice on(pools_.device());
    const bool by_kernel =
        sides == Sides::kWithinReach && signal_.h_done != nullptr && kernel_takes(to, from, bytes);
    auto begun = by_kernel ? copy_by_kernel(to, from, bytes) : copy_by_engine(to, from, bytes);
    if (!begun) return fail(StatusCode::kDeviceLost, begun.error().message());
    return ++enqueued_;
  }

  Result<Ticket> completed() override {
    while (!pending_.empty()) {
      const auto over = is_over(pending_.front());
      if (!over) return fail(StatusCode::kDeviceLost, over.error().message());
      if (!*over) break;
      if (auto& event = pending_.front().event) pools_.give_back(std::move(*event));
      pending_.pop_front();
      ++completed_;
    }
    return completed_;
  }

  Result<void> finish() override {
    Result<void> finished;
    for (const Lane& lane : lanes_) {
      if (!lane.stream) continue;
      if (auto good = lane.stream->synchronise(); !good) finished = good;
    }
    return finished;
  }

  Result<void> precede(int device, CudaStream stream) override {
    for (const Lane& lane : lanes_) {
      if (lane.last <= completed_) continue;
      {
        const OnDevice on(pools_.device());
        if (auto recorded = last_.record(*lane.stream); !recorded) return recorded;
      }
      const OnDevice on(device);
      const auto error = cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), last_.get(), 0);
      if (auto good = gpu::check(error, "ordering a stream after copies"); !good) return good;
    }
    return {};
  }

 private:
  // A stream with what it has enqueued; the first is the kernels', the others are the engines'.
  struct Lane {
    std::optional<gpu::Stream> stream;  ///< made when first needed
    Ticket last = 0;
  };
  struct Pending {
    Ticket ticket;
    std::optional<gpu::Event> event;  ///< of the copy engine's; a kernel writes its ticket
  };

  Result<cudaStream_t> stream_of(Lane& lane) {
    if (!lane.stream) {
      auto made = gpu::Stream::make_urgent();
      if (!made) return fail(made.error());
      lane.stream = std::move(*made);
    }
    lane.last = enqueued_ + 1;
    return lane.stream->get();
  }

  Result<void> copy_by_kernel(std::byte* to, const std::byte* from, std::uint64_t bytes) {
    const auto stream = stream_of(lanes_[0]);
    if (!stream) return fail(stream.error());
    const cudaError_t error = launch_copy({to, from, bytes, signal_, enqueued_ + 1}, *stream);
    if (auto good = gpu::check(error, "launching a copy"); !good) return good;
    pending_.push_back({enqueued_ + 1, std::nullopt});
    return {};
  }

  // Addresses are unified: the runtime knows which memory each is.
  Result<void> copy_by_engine(std::byte* to, const std::byte* from, std::uint64_t bytes) {
    const auto stream = stream_of(lanes_[1 + turn_++ % kEngineStreams]);
    if (!stream) return fail(stream.error());
    auto event = pools_.take_event();
    if (!event) return fail(event.error());
    const cudaError_t error =
        cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, *stream);
    if (auto good = gpu::check(error, "enqueueing a copy"); !good) return good;
    if (auto good = event->record(*stream); !good) return good;
    pending_.push_back({enqueued_ + 1, std::move(*event)});
    return {};
  }

  Result<bool> is_over(const Pending& copy) {
    if (!copy.event) {
      if (std::atomic_ref(*signal_.h_done).load(std::memory_order_acquire) >= copy.ticket) {
        return true;
      }
      if (++looks_ % kLooksAQuestion != 0) return false;
    }
    const cudaError_t error =
        copy.event ? cudaEventQuery(copy.event->get()) : cudaStreamQuery(lanes_[0].stream->get());
    if (error == cudaErrorNotReady) return false;
    if (auto good = gpu::check(error, "copying"); !good) return fail(good.error());
    return true;
  }

  Pools& pools_;
  Signal signal_;
  gpu::Event last_;
  std::array<Lane, 1 + kEngineStreams> lanes_;
  std::deque<Pending> pending_;  ///< what is not known to be complete
  Ticket enqueued_ = 0;
  Ticket completed_ = 0;
  std::size_t turn_ = 0;
  unsigned looks_ = 0;
};

}  // namespace

Result<std::unique_ptr<CopyQueue>> make_copy_queue(Pools& pools) {
  const OnDevice on(pools.device());
  auto last = gpu::Event::make_untimed();
  if (!last) return fail(last.error());
  const auto signal = pools.take_signal();
  if (!signal) return fail(signal.error());
  return std::make_unique<CudaQueue>(pools, *signal, std::move(*last));
}

Result<std::unique_ptr<Mark>> make_mark(CudaStream stream, Pools& pools) {
  auto event = pools.take_event();
  if (!event) return fail(event.error());
  const OnDevice on(pools.device());  // the default stream is the current device's
  if (auto recorded = event->record(static_cast<cudaStream_t>(stream)); !recorded) {
    return fail(recorded.error());
  }
  return std::make_unique<CudaMark>(std::move(*event), pools);
}

}  // namespace framewire::transport::cuda
