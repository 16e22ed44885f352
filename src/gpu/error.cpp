#include <fmt/format.h>
#include <gpu/error.hpp>

namespace framewire::gpu {

Result<void> check(cudaError_t error, const char* doing) {
  if (error == cudaSuccess) return {};
  (void)cudaGetLastError();  // clears it, so that no later launch is blamed
  const StatusCode code =
      error == cudaErrorMemoryAllocation ? StatusCode::kBusy : StatusCode::kDeviceLost;
  return fail(code, fmt::format("{} failed: {} ({})", doing, cudaGetErrorString(error),
                                cudaGetErrorName(error)));
}

}  // namespace framewire::gpu
