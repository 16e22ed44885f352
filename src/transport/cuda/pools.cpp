#include "transport/cuda/pools.hpp"
#include <cuda_runtime_api.h>
#include <atomic>
#include <utility>
#include "gpu/error.hpp"
#include "transport/cuda/on_device.hpp"

namespace framewire::transport::cuda {
namespace {

constexpr std::size_t kSignalsTogether = 32;
constexpr std::size_t kLineBytes = 128;  // apart, so that no two writers share a cache line

}  // namespace

Result<gpu::Event> Pools::take_event() {
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

void Pools::give_back(gpu::Event event) {
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(event));
}

Result<Signal> Pools::take_signal() {
  const std::lock_guard lock(mutex_);
  if (signals_.empty() && kernels_) {
    if (auto made = make_signals(); !made) return fail(made.error());
  }
  if (!kernels_) return Signal{};
  const Signal signal = signals_.back();
  signals_.pop_back();
  std::atomic_ref(*signal.h_done).store(0);
  return signal;
}

void Pools::give_back(const Signal& signal) {
  if (signal.h_done == nullptr) return;
  const std::lock_guard lock(mutex_);
  signals_.push_back(signal);
}

// Under the lock. Tries a copy of nothing, which also loads the kernel ahead of the first frame.
Result<void> Pools::make_signals() {
  constexpr std::size_t kBytes = kSignalsTogether * kLineBytes;
  const OnDevice on(device_);
  const auto stream = gpu::Stream::make();
  if (!stream) return fail(stream.error());
  void* flags = nullptr;
  void* counters = nullptr;
  const auto check = [](cudaError_t error) { return gpu::check(error, "making a copy queue"); };
  auto good = check(cudaHostAlloc(&flags, kBytes, cudaHostAllocPortable | cudaHostAllocMapped));
  if (good) good = check(cudaMalloc(&counters, kBytes));
  if (good) good = check(cudaMemsetAsync(counters, 0, kBytes, stream->get()));
  std::vector<Signal> made;
  for (std::size_t at = 0; good && at < kBytes; at += kLineBytes) {
    made.push_back({reinterpret_cast<std::uint64_t*>(static_cast<std::byte*>(flags) + at),
                    reinterpret_cast<unsigned*>(static_cast<std::byte*>(counters) + at)});
  }
  if (good) {
    KernelCopy nothing;
    nothing.signal = made.front();
    kernels_ = launch_copy(nothing, stream->get()) == cudaSuccess;
    (void)cudaGetLastError();
    good = stream->synchronise();
  }
  if (good && kernels_) {
    signals_ = std::move(made);
    return good;
  }
  (void)cudaFree(counters);
  (void)cudaFreeHost(flags);
  return good;
}

}  // namespace framewire::transport::cuda
