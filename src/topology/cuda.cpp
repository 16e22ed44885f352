// The CUDA driver's interface as NVIDIA's CUDA Driver API reference documents it; no CUDA header,
// so that a build without a toolkit can ask too.
#include <fmt/format.h>
#include <base/ascii.hpp>
#include <base/file_descriptor.hpp>
#include <topology/library.hpp>
#include <topology/library_facts.hpp>

namespace framewire::topology {
namespace {

constexpr int kCudaSuccess = 0;
// CUdevice_attribute.
constexpr int kIntegrated = 18;
constexpr int kGpudirectWithVmm = 110;
constexpr int kGpudirect = 116;
constexpr int kFlushOptions = 117;
constexpr int kWritesOrdering = 118;
constexpr int kDmabuf = 124;
// CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD.
constexpr int kDmabufFd = 1;
// Device memory that is tried: one large page.
constexpr std::size_t kTrialBytes = 2 << 20;

using CudaContextHandle = struct CudaContext*;
using Pointer = unsigned long long;

struct Cuda {
  explicit Cuda(Library& library)
      : init(library.find<int(unsigned)>("cuInit")),
        count(library.find<int(int*)>("cuDeviceGetCount")),
        device(library.find<int(int*, int)>("cuDeviceGet")),
        bus_id(library.find<int(char*, int, int)>("cuDeviceGetPCIBusId")),
        attribute(library.find<int(int*, int, int)>("cuDeviceGetAttribute")),
        error(library.find<int(int, const char**)>("cuGetErrorString")),
        can_access(library.find<int(int*, int, int)>("cuDeviceCanAccessPeer")),
        retain(library.find<int(CudaContextHandle*, int)>("cuDevicePrimaryCtxRetain")),
        release(library.find<int(int)>("cuDevicePrimaryCtxRelease_v2")),
        push(library.find<int(CudaContextHandle)>("cuCtxPushCurrent_v2")),
        pop(library.find<int(CudaContextHandle*)>("cuCtxPopCurrent_v2")),
        allocate(library.find<int(Pointer*, std::size_t)>("cuMemAlloc_v2")),
        free(library.find<int(Pointer)>("cuMemFree_v2")),
        export_range(library.find<int(void*, Pointer, std::size_t, int, unsigned long long)>(
            "cuMemGetHandleForAddressRange")) {}

  [[nodiscard]] bool complete() const { return init && count && device && bus_id && attribute; }
  [[nodiscard]] bool can_try_export() const {
    return retain && release && push && pop && allocate && free && export_range;
  }
  [[nodiscard]] std::string explain(int code) const {
    const char* text = nullptr;
    if (error != nullptr && error(code, &text) == kCudaSuccess && text != nullptr) return text;
    return fmt::format("error {}", code);
  }

  int (*init)(unsigned);
  int (*count)(int*);
  int (*device)(int*, int);
  int (*bus_id)(char*, int, int);
  int (*attribute)(int*, int, int);
  int (*error)(int, const char**);
  int (*can_access)(int*, int, int);
  int (*retain)(CudaContextHandle*, int);
  int (*release)(int);
  int (*push)(CudaContextHandle);
  int (*pop)(CudaContextHandle*);
  int (*allocate)(Pointer*, std::size_t);
  int (*free)(Pointer);
  int (*export_range)(void*, Pointer, std::size_t, int, unsigned long long);
};

// "0000:3B:00.0" as sysfs writes it.
std::string address_of(const Cuda& cuda, int device) {
  char text[32] = {};
  if (cuda.bus_id(text, sizeof text, device) != kCudaSuccess) return "";
  std::string address(text);
  return base::to_lower(address);
}

// Sets whether memory of the device can be exported as a dma-buf. A context of the device must be
// current.
void export_memory(const Cuda& cuda, CudaGpu& gpu) {
  Pointer memory = 0;
  if (const int code = cuda.allocate(&memory, kTrialBytes); code != kCudaSuccess) {
    gpu.dmabuf_evidence = fmt::format("cuMemAlloc of 2 MiB: {}", cuda.explain(code));
    return;
  }
  int fd = -1;
  const int code = cuda.export_range(&fd, memory, kTrialBytes, kDmabufFd, 0);
  base::FileDescriptor exported(code == kCudaSuccess ? fd : -1);
  gpu.dmabuf_exported = code == kCudaSuccess;
  gpu.dmabuf_evidence =
      code == kCudaSuccess
          ? "cuMemGetHandleForAddressRange gave a dma-buf for 2 MiB of device memory"
          : fmt::format("cuMemGetHandleForAddressRange: {}", cuda.explain(code));
  exported.reset();  // closed before the memory that it stands for is freed
  (void)cuda.free(memory);
}

void try_export(const Cuda& cuda, int device, CudaGpu& gpu) {
  if (!cuda.can_try_export()) {
    gpu.dmabuf_evidence =
        "this driver has no cuMemGetHandleForAddressRange, which came with CUDA 11.7";
    gpu.dmabuf_exported = false;
    return;
  }
  CudaContextHandle context = nullptr;
  if (const int code = cuda.retain(&context, device); code != kCudaSuccess) {
    gpu.dmabuf_evidence = fmt::format("cuDevicePrimaryCtxRetain: {}", cuda.explain(code));
    return;
  }
  if (cuda.push(context) == kCudaSuccess) {
    export_memory(cuda, gpu);
    (void)cuda.pop(&context);
  }
  (void)cuda.release(device);
}

CudaGpu read_gpu(const Cuda& cuda, int device) {
  const auto ask = [&](int attribute) -> std::optional<int> {
    int value = 0;
    if (cuda.attribute(&value, attribute, device) != kCudaSuccess) return std::nullopt;
    return value;
  };
  const auto yes = [&](int attribute) -> std::optional<bool> {
    const auto value = ask(attribute);
    return value ? std::optional(*value != 0) : std::nullopt;
  };
  CudaGpu gpu;
  gpu.address = address_of(cuda, device);
  gpu.gpudirect = yes(kGpudirect);
  gpu.gpudirect_with_vmm = yes(kGpudirectWithVmm);
  gpu.writes_ordering = ask(kWritesOrdering);
  gpu.flush_options = ask(kFlushOptions);
  gpu.dmabuf = yes(kDmabuf);
  gpu.integrated = yes(kIntegrated);
  try_export(cuda, device, gpu);
  return gpu;
}

void read_all(const Cuda& cuda, CudaFacts& facts) {
  int count = 0;
  (void)cuda.count(&count);
  std::vector<int> devices;
  for (int i = 0; i < count; ++i) {
    int device = 0;
    if (cuda.device(&device, i) != kCudaSuccess) continue;
    devices.push_back(device);
    facts.gpus.push_back(read_gpu(cuda, device));
  }
  for (const int from : devices) {
    auto& row = facts.can_access.emplace_back();
    for (const int to : devices) {
      int can = 0;
      const bool answered = from != to && cuda.can_access != nullptr &&
                            cuda.can_access(&can, from, to) == kCudaSuccess;
      row.push_back(answered ? std::optional(can != 0) : std::nullopt);
    }
  }
  facts.library.evidence = fmt::format("libcuda.so.1: {} GPUs", facts.gpus.size());
}

}  // namespace

CudaFacts ask_cuda() {
  CudaFacts facts;
  facts.library.asked = true;
  Library library("libcuda.so.1");
  const Cuda cuda(library);
  facts.library.loaded = library.loaded() && cuda.complete();
  if (!facts.library.loaded) {
    facts.library.evidence = library.error();
    return facts;
  }
  if (const int code = cuda.init(0); code != kCudaSuccess) {
    facts.library.evidence = fmt::format("cuInit: {}", cuda.explain(code));
    return facts;
  }
  facts.library.working = true;
  read_all(cuda, facts);
  return facts;
}

}  // namespace framewire::topology
