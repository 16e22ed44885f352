#include <cuda_runtime_api.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <tests/emulation/memory.hpp>
#include <tests/emulation/streams.hpp>
#include <utility>

namespace cuda_emulation {
namespace {

thread_local int current = 0;
thread_local cudaError_t last_error = cudaSuccess;

int device_count() {
  static const int count = [] {
    const char* wanted = std::getenv("FRAMEWIRE_EMULATED_DEVICES");
    return wanted == nullptr ? 2 : std::atoi(wanted);
  }();
  return count;
}

struct ErrorText {
  cudaError_t error;
  const char* name;
  const char* text;
};
constexpr ErrorText kTexts[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled",
     "peer access is already enabled"},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
};
const ErrorText& text_of(cudaError_t error) {
  static constexpr ErrorText kUnknown{cudaSuccess, "cudaErrorUnknown", "unknown error"};
  const auto* found = std::find_if(std::begin(kTexts), std::end(kTexts),
                                   [&](const ErrorText& one) { return one.error == error; });
  return found == std::end(kTexts) ? kUnknown : *found;
}

}  // namespace

cudaError_t note(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

}  // namespace cuda_emulation

using cuda_emulation::note;

cudaError_t cudaGetDeviceCount(int* count) {
  *count = cuda_emulation::device_count();
  return *count > 0 ? cudaSuccess : note(cudaErrorNoDevice);
}
cudaError_t cudaGetDevice(int* device) {
  *device = cuda_emulation::current;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= cuda_emulation::device_count()) return note(cudaErrorInvalidDevice);
  cuda_emulation::current = device;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
  cudaDeviceProp properties{};
  const cudaError_t error = cudaGetDeviceProperties(&properties, device);
  if (error != cudaSuccess) return error;
  constexpr int kSharedBytes = 227 << 10;  // of a Hopper's thread block
  switch (which) {
    case cudaDevAttrComputeCapabilityMajor:
      *value = properties.major;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = kSharedBytes;
      break;
    case cudaDevAttrMemoryPoolsSupported:
      *value = 1;
      break;
    case cudaDevAttrGPUDirectRDMAFlushWritesOptions:
      *value = cudaFlushGPUDirectRDMAWritesOptionHost;
      break;
    case cudaDevAttrGPUDirectRDMAWritesOrdering:
      *value =
          device == 0 ? cudaGPUDirectRDMAWritesOrderingNone : cudaGPUDirectRDMAWritesOrderingOwner;
      break;
  }
  return cudaSuccess;
}

cudaError_t cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTarget,
                                               cudaFlushGPUDirectRDMAWritesScope) {
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device < 0 || device >= cuda_emulation::device_count()) return note(cudaErrorInvalidDevice);
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "CPU emulation %d", device);
  std::memset(properties->uuid.bytes, 0xE0 + device, sizeof properties->uuid.bytes);
  properties->totalGlobalMem = cuda_emulation::device_bytes();
  properties->major = 9;
  properties->minor = 0;
  properties->multiProcessorCount = 4;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  std::snprintf(id, static_cast<std::size_t>(length), "ffff:%02x:00.0", device);
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  *can = device != peer ? 1 : 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  static std::set<std::pair<int, int>> enabled;
  return enabled.insert({cuda_emulation::current, peer}).second
             ? cudaSuccess
             : note(cudaErrorPeerAccessAlreadyEnabled);
}

cudaError_t cudaPeekAtLastError() { return cuda_emulation::last_error; }
cudaError_t cudaGetLastError() { return std::exchange(cuda_emulation::last_error, cudaSuccess); }
const char* cudaGetErrorName(cudaError_t error) { return cuda_emulation::text_of(error).name; }
const char* cudaGetErrorString(cudaError_t error) { return cuda_emulation::text_of(error).text; }
