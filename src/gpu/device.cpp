#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <unistd.h>
#include <cstdlib>
#include <gpu/device.hpp>
#include <gpu/error.hpp>

namespace framewire::gpu {

namespace {

/// Whether this process will probably be a client of CUDA's MPS.
bool meets_mps() {
  return std::getenv("CUDA_MPS_PIPE_DIRECTORY") != nullptr ||
         ::access("/tmp/nvidia-mps/control", F_OK) == 0;
}

}  // namespace

void ask_for_hardware_queues() {
  // There is no function for it. Once, so that engines made at the same time do not write twice.
  static const int asked = ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", meets_mps() ? "10" : "32", 0);
  (void)asked;
}

int asked_hardware_queues() noexcept {
  constexpr int kDriversOwn = 8;
  const char* const asked = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  const int queues = asked == nullptr ? 0 : std::atoi(asked);
  return queues > 0 ? queues : kDriversOwn;
}

Result<std::vector<DeviceFacts>> list_devices() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    (void)cudaGetLastError();
    return fail(StatusCode::kUnsupported,
                fmt::format("no NVIDIA GPU can be used here: {}",
                            error == cudaSuccess ? "none was found" : cudaGetErrorString(error)));
  }
  std::vector<DeviceFacts> devices;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp facts{};
    if (auto ok = check(cudaGetDeviceProperties(&facts, i), "reading a device's properties"); !ok) {
      return fail(ok.error());
    }
    devices.push_back({i, facts.name, facts.major, facts.minor});
  }
  return devices;
}

Result<void> use_device(int ordinal) { return check(cudaSetDevice(ordinal), "choosing a device"); }

Result<void> use_listed_device(int ordinal) {
  const auto devices = list_devices();
  if (!devices) return fail(Status(devices.error()).about("device"));
  if (ordinal >= 0 && static_cast<std::size_t>(ordinal) < devices->size()) {
    return use_device(ordinal);
  }
  return fail(Status(StatusCode::kUnsupported, fmt::format("found {}; this machine has 0 to {}",
                                                           ordinal, devices->size() - 1))
                  .about("device"));
}

Result<int> device_of(const void* address) {
  cudaPointerAttributes found{};
  if (auto ok = check(cudaPointerGetAttributes(&found, address), "asking whose memory this is");
      !ok) {
    return fail(ok.error());
  }
  const bool on_device = found.type == cudaMemoryTypeDevice || found.type == cudaMemoryTypeManaged;
  return on_device ? found.device : -1;
}

Result<std::uint64_t> free_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  if (auto ok = check(cudaMemGetInfo(&free, &total), "reading what memory is free"); !ok) {
    return fail(ok.error());
  }
  return std::uint64_t{free};
}

}  // namespace framewire::gpu
