#include "transport/cuda/queue.hpp"
#include <deque>
#include <utility>
#include "gpu/error.hpp"
#include "transport/cuda/on_device.hpp"

namespace framewire::transport::cuda {
namespace {

class CudaMark final : public Mark {
 public:
  CudaMark(gpu::Event event, EventPool& events) : event_(std::move(event)), events_(events) {}
  ~CudaMark() override { events_.give_back(std::move(event_)); }
  CudaMark(const CudaMark&) = delete;
  CudaMark& operator=(const CudaMark&) = delete;
  bool passed() const override { return cudaEventQuery(event_.get()) != cudaErrorNotReady; }

 private:
  gpu::Event event_;
  EventPool& events_;
};

class CudaQueue final : public CopyQueue {
 public:
  CudaQueue(gpu::Stream stream, gpu::Event last, EventPool& events)
      : stream_(std::move(stream)), last_(std::move(last)), events_(events) {}
  ~CudaQueue() override {
    static_cast<void>(finish());
    for (gpu::Event& event : pending_) events_.give_back(std::move(event));
  }
  CudaQueue(const CudaQueue&) = delete;
  CudaQueue& operator=(const CudaQueue&) = delete;

  // Addresses are unified: the runtime knows which memory each is, and with peer access enabled one
  // device writes straight to another.
  Result<Ticket> copy(std::byte* to, const std::byte* from, std::uint64_t bytes) override {
    auto event = events_.take();
    if (!event) return fail(event.error());
    const cudaError_t error = cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes),
                                              cudaMemcpyDefault, stream_.get());
    if (auto good = gpu::check(error, "enqueueing a copy"); !good) return lost(good.error());
    if (auto good = event->record(stream_); !good) return lost(good.error());
    pending_.push_back(std::move(*event));
    return ++enqueued_;
  }

  Result<Ticket> completed() override {
    while (!pending_.empty()) {
      const cudaError_t error = cudaEventQuery(pending_.front().get());
      if (error == cudaErrorNotReady) break;
      if (auto good = gpu::check(error, "copying"); !good) return lost(good.error());
      events_.give_back(std::move(pending_.front()));
      pending_.pop_front();
      ++completed_;
    }
    return completed_;
  }

  Result<void> finish() override { return stream_.synchronise(); }

  Result<void> precede(CudaStream stream) override {
    if (auto recorded = last_.record(stream_); !recorded) return recorded;
    return gpu::check(cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), last_.get(), 0),
                      "ordering a stream after copies");
  }

 private:
  // Whatever failed, no copy of this queue is of use any more.
  static tl::unexpected<Status> lost(const Status& status) {
    return fail(StatusCode::kDeviceLost, status.message());
  }

  gpu::Stream stream_;
  gpu::Event last_;
  EventPool& events_;
  std::deque<gpu::Event> pending_;  ///< one for every copy that is not known to be complete
  Ticket enqueued_ = 0;
  Ticket completed_ = 0;
};

}  // namespace

Result<gpu::Event> EventPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!events_.empty()) {
      gpu::Event event = std::move(events_.back());
      events_.pop_back();
      return event;
    }
  }
  const OnDevice on(device_);
  return gpu::Event::make_untimed();
}

void EventPool::give_back(gpu::Event event) {
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(event));
}

Result<std::unique_ptr<CopyQueue>> make_copy_queue(int device, EventPool& events) {
  const OnDevice on(device);
  auto stream = gpu::Stream::make();
  if (!stream) return fail(stream.error());
  auto last = gpu::Event::make_untimed();
  if (!last) return fail(last.error());
  return std::make_unique<CudaQueue>(std::move(*stream), std::move(*last), events);
}

Result<std::unique_ptr<Mark>> make_mark(CudaStream stream, EventPool& events) {
  auto event = events.take();
  if (!event) return fail(event.error());
  if (auto recorded = event->record(static_cast<cudaStream_t>(stream)); !recorded) {
    return fail(recorded.error());
  }
  return std::make_unique<CudaMark>(std::move(*event), events);
}

}  // namespace framewire::transport::cuda
