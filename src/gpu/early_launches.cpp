#include <cuda_runtime_api.h>
#include <gpu/early_launches.hpp>

namespace framewire::gpu {
namespace {

thread_local bool early_launches = false;

bool device_can() {
  int device = 0;
  int major = 0;
  return cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
         major >= 9;
}

}  // namespace

EarlyLaunches::EarlyLaunches(bool wanted) { early_launches = wanted && device_can(); }
EarlyLaunches::~EarlyLaunches() { early_launches = false; }
bool EarlyLaunches::now() noexcept { return early_launches; }

}  // namespace framewire::gpu
