// Owners of a CUDA stream and of a timing event; move-only, destroyed without throwing.
#pragma once

#include <cuda_runtime_api.h>
#include <chrono>
#include <framewire/status.hpp>
#include <memory>

namespace framewire::gpu {

namespace detail {
struct DestroyStream {
  void operator()(cudaStream_t stream) const noexcept { (void)cudaStreamDestroy(stream); }
};
struct DestroyEvent {
  void operator()(cudaEvent_t event) const noexcept { (void)cudaEventDestroy(event); }
};
}  // namespace detail

/// A stream that does not wait for the default stream.
class Stream {
 public:
  /// On the calling thread's current device.
  [[nodiscard]] static Result<Stream> make();
  /// As make(); kernels of this stream begin before those that wait in other streams.
  [[nodiscard]] static Result<Stream> make_urgent();
  [[nodiscard]] cudaStream_t get() const noexcept { return stream_.get(); }
  /// Waits until all enqueued work is done. @return device_lost for any failure of that work
  [[nodiscard]] Result<void> synchronise() const;
  /// The same, asking now and then: a hardware queue is left to other streams, which an event or a
  /// kernel behind that work would hold up. @param step  time between two questions
  [[nodiscard]] Result<void> wait_until_idle(std::chrono::microseconds step) const;
  /// Work enqueued here from now on begins after the event's last record; the host does not wait.
  [[nodiscard]] Result<void> wait_for(cudaEvent_t event) const;

 private:
  explicit Stream(cudaStream_t stream) : stream_(stream) {}
  std::unique_ptr<CUstream_st, detail::DestroyStream> stream_;
};

/// A point in a stream, with the time at which it was reached.
class Event {
 public:
  [[nodiscard]] static Result<Event> make();
  /// An event without a time, which orders streams at less cost.
  [[nodiscard]] static Result<Event> make_untimed();
  /// An event without a time for which synchronise() sleeps instead of polling
  /// (cudaEventBlockingSync). Being woken costs some 50 µs.
  [[nodiscard]] static Result<Event> make_blocking();
  [[nodiscard]] cudaEvent_t get() const noexcept { return event_.get(); }
  [[nodiscard]] Result<void> record(const Stream& stream) const { return record(stream.get()); }
  [[nodiscard]] Result<void> record(cudaStream_t stream) const;
  /// Whether the device has passed the last record, or will never get there. Does not wait.
  [[nodiscard]] bool is_passed() const noexcept;
  /// Waits until the last record is reached. @return device_lost for any failure of work before it
  [[nodiscard]] Result<void> synchronise() const;
  /// Microseconds between two recorded events that the device has passed.
  [[nodiscard]] static Result<double> elapsed_us(const Event& from, const Event& to);

 private:
  explicit Event(cudaEvent_t event) : event_(event) {}
  [[nodiscard]] static Result<Event> make_with(unsigned flags);
  std::unique_ptr<CUevent_st, detail::DestroyEvent> event_;
};

}  // namespace framewire::gpu
