#include <gpu/error.hpp>
#include <gpu/experiments.hpp>
#include <gpu/stream.hpp>
#include <thread>

namespace framewire::gpu {

Result<Stream> Stream::make() {
  cudaStream_t stream = nullptr;
  if (auto ok = check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
      !ok) {
    return fail(ok.error());
  }
  return Stream(stream);
}

Result<Stream> Stream::make_urgent() {
  int least = 0;
  int greatest = 0;
  if (auto ok = check(cudaDeviceGetStreamPriorityRange(&least, &greatest),
                      "asking for the priorities of streams");
      !ok) {
    return fail(ok.error());
  }
  cudaStream_t stream = nullptr;
  if (auto ok = check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest),
                      "making a stream");
      !ok) {
    return fail(ok.error());
  }
  return Stream(stream);
}

Result<void> Stream::synchronise() const {
  return check(cudaStreamSynchronize(stream_.get()), "work on the device");
}

Result<void> Stream::wait_until_idle(std::chrono::microseconds step) const {
  for (;;) {
    const auto over = check_over(cudaStreamQuery(stream_.get()), "work on the device");
    if (!over) return fail(over.error());
    if (*over) return {};
    std::this_thread::sleep_for(step);
  }
}

Result<void> Stream::wait_for(cudaEvent_t event) const {
  return check(cudaStreamWaitEvent(stream_.get(), event, 0), "ordering streams");
}

Result<Event> Event::make_with(unsigned flags) {
  cudaEvent_t event = nullptr;
  if (auto ok = check(cudaEventCreateWithFlags(&event, flags), "making an event"); !ok) {
    return fail(ok.error());
  }
  return Event(event);
}

Result<Event> Event::make() { return make_with(cudaEventDefault); }
Result<Event> Event::make_untimed() { return make_with(cudaEventDisableTiming); }
Result<Event> Event::make_blocking() {
  if (experiments().spin) return make_untimed();
  return make_with(cudaEventDisableTiming | cudaEventBlockingSync);
}

Result<void> Event::record(cudaStream_t stream) const {
  return check(cudaEventRecord(event_.get(), stream), "recording an event");
}

bool Event::is_passed() const noexcept {
  const auto over = check_over(cudaEventQuery(event_.get()), "work on the device");
  return !over || *over;
}

Result<void> Event::synchronise() const {
  return check(cudaEventSynchronize(event_.get()), "work on the device");
}

Result<double> Event::elapsed_us(const Event& from, const Event& to) {
  float ms = 0;
  if (auto ok = check(cudaEventElapsedTime(&ms, from.event_.get(), to.event_.get()),
                      "reading the time between events");
      !ok) {
    return fail(ok.error());
  }
  return static_cast<double>(ms) * 1000.0;
}

}  // namespace framewire::gpu
