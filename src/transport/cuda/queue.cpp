// Whatever the queue enqueues, it enqueues with its device current: a kernel is refused otherwise,
// and so are copies of memory that is mapped for one device (seen on H200, driver 580).
#include <array>
#include <deque>
#include <gpu/error.hpp>
#include <gpu/on_device.hpp>
#include <optional>
#include <transport/cuda/copy_kernel.hpp>
#include <transport/cuda/queue.hpp>
#include <utility>
#include <vector>

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
  bool passed() const override { return event_.is_passed(); }

 private:
  gpu::Event event_;
  Pools& pools_;
};

class CudaQueue final : public CopyQueue, private CopyKernel {
 public:
  CudaQueue(Pools& pools, const std::optional<Mailbox>& mailbox, gpu::Event last)
      : pools_(pools), last_(std::move(last)) {
    if (mailbox) copier_.emplace(static_cast<CopyKernel&>(*this), *mailbox, kLingerPolicy);
  }
  ~CudaQueue() override {
    const bool finished = synchronize().has_value();
    for (Pending& copy : pending_) {
      if (copy.event) pools_.give_back(std::move(*copy.event));
    }
    // A lost device leaves copies in it that will never be done.
    if (copier_ && finished) pools_.give_back(copier_->mailbox());
  }
  CudaQueue(const CudaQueue&) = delete;
  CudaQueue& operator=(const CudaQueue&) = delete;

  Result<Ticket> copy_and_tell(std::byte* to, const std::byte* from, std::uint64_t bytes,
                               Sides sides, Tell& tell) override {
    tell.number = 0;
    tell.arrival_count = 0;
    const std::uint64_t most = sides == Sides::kOneDevice ? kMaxLocalBytes : kMaxKernelBytes;
    const bool by_kernel =
        sides != Sides::kAny && copier_.has_value() && kernel_takes(to, from, bytes, most);
    auto begun =
        by_kernel ? copy_by_kernel(to, from, bytes, tell) : copy_by_engine(to, from, bytes);
    if (!begun) return fail(StatusCode::kDeviceLost, begun.error().message());
    return ++enqueued_;
  }

  Result<Ticket> copy_on_arrival(std::byte* to, const std::byte* from, std::uint64_t bytes,
                                 const Arrival& arrival) override {
    if (!copier_ || !kernel_takes(to, from, bytes)) return Ticket{0};
    CopyCommand command = command_of(to, from, bytes);
    command.arrivals = reinterpret_cast<std::uintptr_t>(arrival.words);
    command.expected = std::uint64_t{arrival.count} << 32 | arrival.number;
    const auto begun = post(command);
    if (!begun) return fail(StatusCode::kDeviceLost, begun.error().message());
    return ++enqueued_;
  }

  bool gave_up(Ticket ticket) override { return std::erase(given_up_, ticket) > 0; }

  Result<Ticket> completed() override {
    while (!pending_.empty()) {
      const auto over = is_over(pending_.front());
      if (!over) {
        static_cast<void>(synchronize());  // where only a launch has failed, others may still copy
        return fail(StatusCode::kDeviceLost, over.error().message());
      }
      if (!*over) break;
      take_off();
    }
    return completed_;
  }

  Result<void> synchronize() override {
    Result<void> finished = copier_ ? copier_->settle() : Result<void>();
    for (const Lane& lane : lanes_) {
      if (!lane.stream) continue;
      if (auto good = lane.stream->synchronise(); !good) finished = good;
    }
    return finished;
  }

  Result<void> precede(int device, CudaStream stream) override {
    // The event below is behind whatever kernel stays.
    if (copier_ && lanes_[0].last > completed_) {
      if (auto rested = copier_->rest(); !rested) return rested;
    }
    for (const Lane& lane : lanes_) {
      if (lane.last <= completed_) continue;
      {
        const gpu::OnDevice on(pools_.device());
        if (auto recorded = last_.record(*lane.stream); !recorded) return recorded;
      }
      const gpu::OnDevice on(device);
      const auto error =
          cudaStreamWaitEvent(static_cast<cudaStream_t>(stream.get()), last_.get(), 0);
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
    std::uint64_t number = 0;         ///< of a kernel's copy
    std::optional<gpu::Event> event;  ///< of the copy engine's
  };

  Result<cudaStream_t> stream_of(Lane& lane) {
    if (!lane.stream) {
      auto made = gpu::Stream::make_urgent();
      if (!made) return fail(made.error());
      lane.stream = std::move(*made);
    }
    return lane.stream->get();
  }

  Result<void> launch(const CopyCommand& command, Stay stay) override {
    const gpu::OnDevice on(pools_.device());
    const auto stream = stream_of(lanes_[0]);
    if (!stream) return fail(stream.error());
    return gpu::check(launch_copy(command, copier_->mailbox(), stay, *stream), "launching a copy");
  }

  Result<void> check() override {
    if (!lanes_[0].stream) return {};
    const auto over = gpu::check_over(cudaStreamQuery(lanes_[0].stream->get()), "copying");
    return over ? Result<void>() : fail(over.error());
  }

  Result<void> copy_by_kernel(std::byte* to, const std::byte* from, std::uint64_t bytes,
                              Tell& tell) {
    CopyCommand command = command_of(to, from, bytes);
    command.tell = reinterpret_cast<std::uintptr_t>(tell.word);
    const unsigned words = arrival_words(bytes);
    if (tell.word != nullptr && words <= tell.max_arrivals) {
      tell.arrival_count = words;
      command.arrivals = reinterpret_cast<std::uintptr_t>(tell.arrivals);
      command.expected = std::uint64_t{words} << 32;
    }
    const auto number = post(command);
    if (!number) return fail(number.error());
    if (tell.word != nullptr) tell.number = *number;
    return {};
  }

  Result<std::uint64_t> post(const CopyCommand& command) {
    // What became of a copy can be read as long as its slot is not used again.
    while (pending_.size() >= kMailboxSlots - 2) {
      const auto over = is_over(pending_.front());
      if (!over) return fail(over.error());
      if (*over) take_off();
    }
    const auto number = copier_->copy(command);
    if (!number) return fail(number.error());
    lanes_[0].last = enqueued_ + 1;
    pending_.push_back({*number, std::nullopt});
    return *number;
  }

  // The first of what is pending is over.
  void take_off() {
    Pending& copy = pending_.front();
    ++completed_;
    if (copy.event) {
      pools_.give_back(std::move(*copy.event));
    } else if (!copier_->made(copy.number)) {
      given_up_.push_back(completed_);
    }
    pending_.pop_front();
  }

  // Addresses are unified: the runtime knows which memory each is.
  Result<void> copy_by_engine(std::byte* to, const std::byte* from, std::uint64_t bytes) {
    if (copier_) copier_->dismiss();  // whoever sends much has no use for a kernel that waits
    const gpu::OnDevice on(pools_.device());
    Lane& lane = lanes_[1 + turn_++ % kEngineStreams];
    const auto stream = stream_of(lane);
    if (!stream) return fail(stream.error());
    auto event = pools_.take_event();
    if (!event) return fail(event.error());
    const cudaError_t error =
        cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, *stream);
    if (auto good = gpu::check(error, "enqueueing a copy"); !good) return good;
    if (auto good = event->record(*stream); !good) return good;
    lane.last = enqueued_ + 1;
    pending_.push_back({0, std::move(*event)});
    return {};
  }

  Result<bool> is_over(const Pending& copy) {
    if (copy.event) return gpu::check_over(cudaEventQuery(copy.event->get()), "copying");
    auto done = copier_->done(copy.number);
    if (!done || *done || ++looks_ % kLooksAQuestion != 0) return done;
    if (auto works = check(); !works) return fail(works.error());
    return copier_->done(copy.number);
  }

  Pools& pools_;
  gpu::Event last_;
  std::optional<Copier> copier_;  ///< where the device has code of ours
  std::array<Lane, 1 + kEngineStreams> lanes_;
  std::deque<Pending> pending_;   ///< what is not known to be complete, by ticket
  std::vector<Ticket> given_up_;  ///< of what is complete
  Ticket enqueued_ = 0;
  Ticket completed_ = 0;
  std::size_t turn_ = 0;
  unsigned looks_ = 0;
};

}  // namespace

Result<std::unique_ptr<CopyQueue>> make_copy_queue(Pools& pools) {
  const gpu::OnDevice on(pools.device());
  auto last = gpu::Event::make_untimed();
  if (!last) return fail(last.error());
  const auto mailbox = pools.take_mailbox();
  if (!mailbox) return fail(mailbox.error());
  return std::make_unique<CudaQueue>(pools, *mailbox, std::move(*last));
}

Result<std::unique_ptr<Mark>> make_mark(CudaStream stream, Pools& pools) {
  auto event = pools.take_event();
  if (!event) return fail(event.error());
  const gpu::OnDevice on(pools.device());  // the default stream is the current device's
  if (auto recorded = event->record(static_cast<cudaStream_t>(stream.get())); !recorded) {
    return fail(recorded.error());
  }
  return std::make_unique<CudaMark>(std::move(*event), pools);
}

}  // namespace framewire::transport::cuda
