// Device memory that processes share by file descriptor, as memory files.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cstring>
#include <tests/emulation/memory.hpp>
#include <tests/emulation/streams.hpp>
#include <utility>

namespace {

constexpr std::size_t kGranularity = 2 << 20;
constexpr int kGarbage = 0xA5;

// A handle is the memory file's descriptor; 0 is none.
int file_of(CUmemGenericAllocationHandle handle) { return static_cast<int>(handle) - 1; }
CUmemGenericAllocationHandle handle_of(int fd) {
  return static_cast<CUmemGenericAllocationHandle>(fd) + 1;
}
void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }
bool whole(std::size_t bytes) { return bytes != 0 && bytes % kGranularity == 0; }

}  // namespace

CUresult cuMemGetAllocationGranularity(std::size_t* bytes, const CUmemAllocationProp*,
                                       CUmemAllocationGranularity_flags) {
  *bytes = kGranularity;
  return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                     const CUmemAllocationProp*, unsigned long long) {
  if (!whole(bytes)) return CUDA_ERROR_INVALID_VALUE;
  const int fd = ::memfd_create("cuda-emulation", MFD_CLOEXEC);
  if (fd < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  if (::ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
    ::close(fd);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  // Filled as if another process had used the memory before.
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    ::close(fd);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  std::memset(memory, kGarbage, bytes);
  ::munmap(memory, bytes);
  *handle = handle_of(fd);
  return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return ::close(file_of(handle)) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemAddressReserve(CUdeviceptr* address, std::size_t bytes, std::size_t, CUdeviceptr,
                             unsigned long long) {
  if (!whole(bytes)) return CUDA_ERROR_INVALID_VALUE;
  void* range = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (range == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = reinterpret_cast<CUdeviceptr>(range);
  return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr address, std::size_t bytes) {
  return ::munmap(pointer(address), bytes) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long) {
  struct stat facts {};
  if (offset != 0 || ::fstat(file_of(handle), &facts) != 0 ||
      facts.st_size != static_cast<off_t>(bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  void* mapped =
      ::mmap(pointer(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, file_of(handle), 0);
  return mapped == MAP_FAILED ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
  cuda_emulation::run_everything();
  cuda_emulation::forget(pointer(address));
  void* reserved =
      ::mmap(pointer(address), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  return reserved == MAP_FAILED ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* access,
                        std::size_t count) {
  if (count == 0 || ::mprotect(pointer(address), bytes, PROT_READ | PROT_WRITE) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  (void)cuda_emulation::know(pointer(address), bytes, access->location.id, true);
  return CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType, unsigned long long) {
  const int fd = ::fcntl(file_of(handle), F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(shareable, &fd, sizeof fd);
  return CUDA_SUCCESS;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shareable,
                                        CUmemAllocationHandleType) {
  const int fd = static_cast<int>(reinterpret_cast<std::uintptr_t>(shareable));
  struct stat facts {};
  if (::fstat(fd, &facts) != 0 || !whole(static_cast<std::size_t>(facts.st_size))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const int own = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return CUDA_ERROR_INVALID_VALUE;
  *handle = handle_of(own);
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** values,
                                CUdeviceptr address) {
  const auto found = cuda_emulation::find(pointer(address));
  const bool device = found.bytes != 0 && found.device != cuda_emulation::kHost;
  for (unsigned i = 0; i < count; ++i) {
    if (attributes[i] == CU_POINTER_ATTRIBUTE_BUFFER_ID) {
      *static_cast<unsigned long long*>(values[i]) = device ? found.id : 0;
    }
    if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) {
      *static_cast<int*>(values[i]) = device ? found.device : -2;
    }
  }
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == CUDA_SUCCESS               ? "no error"
          : error == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory"
          : error == CUDA_ERROR_NOT_SUPPORTED ? "operation not supported"
                                              : "invalid argument";
  return CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  static const std::pair<const char*, void*> kFunctions[] = {
      {"cuMemGetAllocationGranularity", reinterpret_cast<void*>(&cuMemGetAllocationGranularity)},
      {"cuMemCreate", reinterpret_cast<void*>(&cuMemCreate)},
      {"cuMemRelease", reinterpret_cast<void*>(&cuMemRelease)},
      {"cuMemAddressReserve", reinterpret_cast<void*>(&cuMemAddressReserve)},
      {"cuMemAddressFree", reinterpret_cast<void*>(&cuMemAddressFree)},
      {"cuMemMap", reinterpret_cast<void*>(&cuMemMap)},
      {"cuMemUnmap", reinterpret_cast<void*>(&cuMemUnmap)},
      {"cuMemSetAccess", reinterpret_cast<void*>(&cuMemSetAccess)},
      {"cuMemExportToShareableHandle", reinterpret_cast<void*>(&cuMemExportToShareableHandle)},
      {"cuMemImportFromShareableHandle", reinterpret_cast<void*>(&cuMemImportFromShareableHandle)},
      {"cuPointerGetAttributes", reinterpret_cast<void*>(&cuPointerGetAttributes)},
      {"cuGetErrorString", reinterpret_cast<void*>(&cuGetErrorString)},
  };
  *function = nullptr;
  *found = cudaDriverEntryPointSymbolNotFound;
  for (const auto& [known, address] : kFunctions) {
    if (std::strcmp(known, name) != 0) continue;
    *function = address;
    *found = cudaDriverEntryPointSuccess;
  }
  return cudaSuccess;
}
