#include <cuda_runtime_api.h>
#include <array>
#include <cstring>
#include <gpu/error.hpp>
#include <gpu/on_device.hpp>
#include <transport/cuda/copy_kernel.hpp>
#include <transport/cuda/pools.hpp>
#include <utility>

namespace framewire::transport::cuda {
namespace {

constexpr std::size_t kMailboxesTogether = 16;
// Apart, so that no two writers share a cache line.
struct HostSide {
  alignas(128) std::array<CopyCommand, kMailboxSlots> commands;
  alignas(128) std::array<std::uint64_t, kMailboxSlots> done;
  alignas(128) std::uint64_t left;
};
struct DeviceSide {
  alignas(128) std::array<CopyCommand, kMailboxSlots> relayed;
  alignas(128) std::array<unsigned, kMailboxSlots> blocks;
};

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
  const gpu::OnDevice on(device_);
  return gpu::Event::make_untimed();
}

void Pools::give_back(gpu::Event event) {
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(event));
}

Result<std::optional<Mailbox>> Pools::take_mailbox() {
  const std::lock_guard lock(mutex_);
  if (mailboxes_.empty() && kernels_) {
    if (auto made = make_mailboxes(); !made) return fail(made.error());
  }
  if (!kernels_) return std::nullopt;
  const Mailbox mailbox = mailboxes_.back();
  mailboxes_.pop_back();
  return mailbox;
}

void Pools::give_back(const Mailbox& mailbox) {
  const std::lock_guard lock(mutex_);
  mailboxes_.push_back(mailbox);
}

// Under the lock. Tries a copy of nothing, which also loads the kernel ahead of the first frame.
Result<void> Pools::make_mailboxes() {
  constexpr std::size_t kHostBytes = kMailboxesTogether * sizeof(HostSide);
  constexpr std::size_t kDeviceBytes = kMailboxesTogether * sizeof(DeviceSide);
  const gpu::OnDevice on(device_);
  const auto stream = gpu::Stream::make();
  if (!stream) return fail(stream.error());
  void* host = nullptr;
  void* device = nullptr;
  const auto check = [](cudaError_t error) { return gpu::check(error, "making a copy queue"); };
  auto good = check(cudaHostAlloc(&host, kHostBytes, cudaHostAllocPortable | cudaHostAllocMapped));
  if (good) good = check(cudaMalloc(&device, kDeviceBytes));
  if (good) good = check(cudaMemsetAsync(device, 0, kDeviceBytes, stream->get()));
  std::vector<Mailbox> made;
  if (good) {
    std::memset(host, 0, kHostBytes);
    for (std::size_t i = 0; i < kMailboxesTogether; ++i) {
      HostSide& ours = static_cast<HostSide*>(host)[i];
      DeviceSide& theirs = static_cast<DeviceSide*>(device)[i];
      made.push_back({ours.commands.data(), ours.done.data(), &ours.left, theirs.relayed.data(),
                      theirs.blocks.data(), 0});
    }
    kernels_ = launch_copy({}, made.front(), Stay::kNo, stream->get()) == cudaSuccess;
    (void)cudaGetLastError();
    good = stream->synchronise();
  }
  if (good && kernels_) {
    mailboxes_ = std::move(made);
    return good;
  }
  (void)cudaFree(device);
  (void)cudaFreeHost(host);
  return good;
}

}  // namespace framewire::transport::cuda
