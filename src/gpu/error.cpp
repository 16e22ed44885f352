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

Result<bool> check_over(cudaError_t answer, const char* doing) {
  if (answer == cudaErrorNotReady) {
    forget_errors();
    return false;
  }
  if (auto ok = check(answer, doing); !ok) return fail(ok.error());
  return true;
}

void forget_errors() noexcept { (void)cudaGetLastError(); }

}  // namespace framewire::gpu
