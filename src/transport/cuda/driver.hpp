// The driver's functions that the runtime has no equals for, looked up through the runtime so that
// nothing links libcuda. Source: CUDA Driver API Reference, "Virtual Memory Management" and
// "Unified Addressing".
#pragma once

#include <cuda.h>
#include <framewire/status.hpp>

namespace framewire::transport::cuda {

struct Driver {
  decltype(&::cuMemGetAllocationGranularity) granularity = nullptr;
  decltype(&::cuMemCreate) create = nullptr;
  decltype(&::cuMemRelease) release = nullptr;
  decltype(&::cuMemAddressReserve) reserve = nullptr;
  decltype(&::cuMemAddressFree) unreserve = nullptr;
  decltype(&::cuMemMap) map = nullptr;
  decltype(&::cuMemUnmap) unmap = nullptr;
  decltype(&::cuMemSetAccess) set_access = nullptr;
  decltype(&::cuMemExportToShareableHandle) export_handle = nullptr;
  decltype(&::cuMemImportFromShareableHandle) import_handle = nullptr;
  decltype(&::cuPointerGetAttributes) attributes = nullptr;
  decltype(&::cuGetErrorString) error_string = nullptr;

  /// @return unsupported where the driver lacks one, naming it
  [[nodiscard]] static const Result<Driver>& get();
  /// Nothing for CUDA_SUCCESS; busy where memory ran out; else device_lost or unsupported.
  [[nodiscard]] Result<void> check(CUresult result, const char* doing) const;
};

}  // namespace framewire::transport::cuda
