// NVML's interface as documented in NVIDIA's NVML API Reference, loaded at run time.
#include <dlfcn.h>
#include <transport/cuda/nvlink.hpp>

namespace framewire::transport::cuda {
namespace {

using Device = struct NvmlDevice*;
constexpr int kNvlinkIndex = 2;  // NVML_P2P_CAPS_INDEX_NVLINK
constexpr int kStatusOk = 0;     // NVML_P2P_STATUS_OK

struct NvlinkFunctions {
  int (*init)() = nullptr;
  int (*handle)(const char*, Device*) = nullptr;
  int (*p2p)(Device, Device, int, int*) = nullptr;
  bool usable = false;

  NvlinkFunctions() {
    void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) return;
    init = reinterpret_cast<int (*)()>(::dlsym(library, "nvmlInit_v2"));
    handle = reinterpret_cast<int (*)(const char*, Device*)>(
        ::dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2"));
    p2p = reinterpret_cast<int (*)(Device, Device, int, int*)>(
        ::dlsym(library, "nvmlDeviceGetP2PStatus"));
    usable = init != nullptr && handle != nullptr && p2p != nullptr && init() == 0;
  }
};

}  // namespace

bool joined_by_nvlink(const char* from, const char* to) {
  static const NvlinkFunctions nvml;
  if (!nvml.usable) return false;
  Device one = nullptr;
  Device other = nullptr;
  int status = -1;
  return nvml.handle(from, &one) == 0 && nvml.handle(to, &other) == 0 &&
         nvml.p2p(one, other, kNvlinkIndex, &status) == 0 && status == kStatusOk;
}

}  // namespace framewire::transport::cuda
