#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <transport/cuda/driver.hpp>

namespace framewire::transport::cuda {
namespace {

void* entry_point(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found);
#else
  const cudaError_t error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
  return error == cudaSuccess && found == cudaDriverEntryPointSuccess ? function : nullptr;
}

class SymbolLookup {
 public:
  template <typename Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(entry_point(name));
    if (function == nullptr && missing == nullptr) missing = name;
  }
  const char* missing = nullptr;
};

Result<Driver> look_up() {
  Driver driver;
  SymbolLookup lookup;
  lookup.find(driver.granularity, "cuMemGetAllocationGranularity");
  lookup.find(driver.create, "cuMemCreate");
  lookup.find(driver.release, "cuMemRelease");
  lookup.find(driver.reserve, "cuMemAddressReserve");
  lookup.find(driver.unreserve, "cuMemAddressFree");
  lookup.find(driver.map, "cuMemMap");
  lookup.find(driver.unmap, "cuMemUnmap");
  lookup.find(driver.set_access, "cuMemSetAccess");
  lookup.find(driver.export_handle, "cuMemExportToShareableHandle");
  lookup.find(driver.import_handle, "cuMemImportFromShareableHandle");
  lookup.find(driver.attributes, "cuPointerGetAttributes");
  lookup.find(driver.error_string, "cuGetErrorString");
  if (lookup.missing == nullptr) return driver;
  return fail(StatusCode::kUnsupported,
              fmt::format("this driver has no {}; 525 and later do", lookup.missing));
}

}  // namespace

const Result<Driver>& Driver::get() {
  static const Result<Driver> driver = look_up();
  return driver;
}

Result<void> Driver::check(CUresult result, const char* doing) const {
  if (result == CUDA_SUCCESS) return {};
  const char* text = nullptr;
  static_cast<void>(error_string(result, &text));
  const StatusCode code = result == CUDA_ERROR_OUT_OF_MEMORY   ? StatusCode::kBusy
                          : result == CUDA_ERROR_NOT_SUPPORTED ? StatusCode::kUnsupported
                          : result == CUDA_ERROR_INVALID_VALUE ? StatusCode::kInvalidInput
                                                               : StatusCode::kDeviceLost;
  return fail(code, fmt::format("{} failed: {} ({})", doing, text == nullptr ? "unknown" : text,
                                static_cast<int>(result)));
}

}  // namespace framewire::transport::cuda
