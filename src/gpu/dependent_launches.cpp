#include <cuda_runtime_api.h>
#include <gpu/dependent_launches.hpp>

namespace framewire::gpu {
namespace {

thread_local bool is_active = false;

bool device_supports_them() {
  int device = 0;
  int major = 0;
  return cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
         major >= 9;
}

}  // namespace

DependentLaunches::DependentLaunches(bool wanted) { is_active = wanted && device_supports_them(); }
DependentLaunches::~DependentLaunches() { is_active = false; }
bool DependentLaunches::active() noexcept { return is_active; }

}  // namespace framewire::gpu
