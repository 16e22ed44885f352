// The CUDA devices of this machine.
#pragma once

#include <cstdint>
#include <framewire/status.hpp>
#include <string>
#include <vector>

namespace framewire::gpu {

struct DeviceFacts {
  int ordinal = 0;
  std::string name;
  int compute_major = 0;
  int compute_minor = 0;
};

/// Asks the driver for 32 hardware queues a device, the most there are, unless
/// CUDA_DEVICE_MAX_CONNECTIONS says otherwise. Streams share 8 by default, and what one of them
/// enqueues then waits for what another one has under way, which may be a batch of a tenth of a
/// second. Figures: docs/benchmarks/gpu.md#fewer-stores-at-once. Clients of MPS share what there
/// is, and ask for 10. The driver listens until the process has used a device.
void ask_for_hardware_queues();

/// Hardware queues a device that CUDA_DEVICE_MAX_CONNECTIONS asks for; the driver's 8 if it does
/// not. Whether the driver still listened is not known.
[[nodiscard]] int asked_hardware_queues() noexcept;

/// @return unsupported where there is no device or no driver for it, saying which
[[nodiscard]] Result<std::vector<DeviceFacts>> list_devices();

/// Makes a device the calling thread's current one. @return device_lost
[[nodiscard]] Result<void> use_device(int ordinal);

/// Makes a device current whose ordinal comes from outside. @return unsupported where there is none
[[nodiscard]] Result<void> use_listed_device(int ordinal);

/// The device whose memory an address is of; -1 for other memory. @return device_lost
[[nodiscard]] Result<int> device_of(const void* address);

/// Bytes that are free on the current device; makes its context. @return device_lost
[[nodiscard]] Result<std::uint64_t> free_bytes();

}  // namespace framewire::gpu
