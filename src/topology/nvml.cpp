// NVML's interface as documented in NVIDIA's NVML API Reference. Its header is not needed: these
// functions and structures have kept their layout since driver 450.
#include <fmt/format.h>
#include <algorithm>
#include <topology/library.hpp>
#include <topology/library_facts.hpp>

namespace framewire::topology {
namespace {

using NvmlDeviceHandle = struct NvmlDevice*;
constexpr int kNvmlSuccess = 0;
constexpr unsigned kMaxLinks = 18;  // NVML_NVLINK_MAX_LINKS
enum P2pIndex : int { kRead = 0, kWrite = 1, kNvlink = 2 };

struct PciInfo {
  char legacy_address[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char address[32];
};

struct Bar1Memory {
  unsigned long long total, free, used;  // of BAR 1 in the same order
};

// Functions beyond the first four may be missing from a driver; the facts that they give are then
// missing too.
struct Nvml {
  explicit Nvml(Library& library)
      : init(library.find<int()>("nvmlInit_v2")),
        count(library.find<int(unsigned*)>("nvmlDeviceGetCount_v2")),
        handle(library.find<int(unsigned, NvmlDeviceHandle*)>("nvmlDeviceGetHandleByIndex_v2")),
        pci(library.find<int(NvmlDeviceHandle, PciInfo*)>("nvmlDeviceGetPciInfo_v3")),
        shutdown(library.find<int()>("nvmlShutdown")),
        error(library.find<const char*(int)>("nvmlErrorString")),
        driver(library.find<int(char*, unsigned)>("nvmlSystemGetDriverVersion")),
        name(library.find<int(NvmlDeviceHandle, char*, unsigned)>("nvmlDeviceGetName")),
        uuid(library.find<int(NvmlDeviceHandle, char*, unsigned)>("nvmlDeviceGetUUID")),
        bar1(library.find<int(NvmlDeviceHandle, Bar1Memory*)>("nvmlDeviceGetBAR1MemoryInfo")),
        memory(library.find<int(NvmlDeviceHandle, Bar1Memory*)>("nvmlDeviceGetMemoryInfo")),
        mig(library.find<int(NvmlDeviceHandle, unsigned*, unsigned*)>("nvmlDeviceGetMigMode")),
        mode(library.find<int(NvmlDeviceHandle, int*)>("nvmlDeviceGetComputeMode")),
        capability(
            library.find<int(NvmlDeviceHandle, int*, int*)>("nvmlDeviceGetCudaComputeCapability")),
        link(library.find<int(NvmlDeviceHandle, unsigned, int*)>("nvmlDeviceGetNvLinkState")),
        p2p(library.find<int(NvmlDeviceHandle, NvmlDeviceHandle, int, int*)>(
            "nvmlDeviceGetP2PStatus")) {}

  [[nodiscard]] bool complete() const { return init && count && handle && pci && shutdown; }
  [[nodiscard]] std::string explain(int code) const {
    return error != nullptr ? error(code) : fmt::format("error {}", code);
  }

  int (*init)();
  int (*count)(unsigned*);
  int (*handle)(unsigned, NvmlDeviceHandle*);
  int (*pci)(NvmlDeviceHandle, PciInfo*);
  int (*shutdown)();
  const char* (*error)(int);
  int (*driver)(char*, unsigned);
  int (*name)(NvmlDeviceHandle, char*, unsigned);
  int (*uuid)(NvmlDeviceHandle, char*, unsigned);
  int (*bar1)(NvmlDeviceHandle, Bar1Memory*);
  int (*memory)(NvmlDeviceHandle, Bar1Memory*);
  int (*mig)(NvmlDeviceHandle, unsigned*, unsigned*);
  int (*mode)(NvmlDeviceHandle, int*);
  int (*capability)(NvmlDeviceHandle, int*, int*);
  int (*link)(NvmlDeviceHandle, unsigned, int*);
  int (*p2p)(NvmlDeviceHandle, NvmlDeviceHandle, int, int*);
};

template <typename Function, typename... Arguments>
bool succeeds(Function* function, Arguments... arguments) {
  return function != nullptr && function(arguments...) == kNvmlSuccess;
}

template <typename Function>
std::string text_of(Function* function, NvmlDeviceHandle device) {
  char text[96] = {};
  return succeeds(function, device, text, 95u) ? text : "";
}

NvmlGpu read_gpu(const Nvml& nvml, NvmlDeviceHandle device) {
  NvmlGpu gpu;
  PciInfo pci{};
  if (succeeds(nvml.pci, device, &pci)) {
    gpu.address = fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
  }
  gpu.name = text_of(nvml.name, device);
  gpu.uuid = text_of(nvml.uuid, device);
  Bar1Memory memory{};
  if (succeeds(nvml.bar1, device, &memory)) gpu.bar1_bytes = memory.total;
  if (succeeds(nvml.memory, device, &memory)) gpu.memory_bytes = memory.total;
  unsigned now = 0, pending = 0;
  if (succeeds(nvml.mig, device, &now, &pending)) gpu.mig = now == 1;
  int mode = 0, major = 0, minor = 0;
  if (succeeds(nvml.mode, device, &mode)) gpu.compute_mode = mode;
  if (succeeds(nvml.capability, device, &major, &minor)) gpu.capability = 10 * major + minor;
  for (unsigned link = 0; link < kMaxLinks; ++link) {
    int active = 0;
    if (!succeeds(nvml.link, device, link, &active)) continue;
    ++gpu.nvlinks;
    gpu.nvlinks_active += active == 1;
  }
  return gpu;
}

NvmlPeer read_peer(const Nvml& nvml, NvmlDeviceHandle from, NvmlDeviceHandle to) {
  const auto ask = [&](P2pIndex index) -> std::optional<bool> {
    int status = 0;
    if (!succeeds(nvml.p2p, from, to, static_cast<int>(index), &status)) return std::nullopt;
    return status == 0;
  };
  return {ask(kRead), ask(kWrite), ask(kNvlink)};
}

void read_all(const Nvml& nvml, NvmlFacts& facts) {
  char version[96] = {};
  if (succeeds(nvml.driver, version, 95u)) facts.driver_version = version;
  unsigned count = 0;
  (void)succeeds(nvml.count, &count);
  std::vector<NvmlDeviceHandle> devices;
  for (unsigned i = 0; i < count; ++i) {
    NvmlDeviceHandle device = nullptr;
    // A GPU that this user may not see has no handle.
    if (!succeeds(nvml.handle, i, &device)) continue;
    devices.push_back(device);
    facts.gpus.push_back(read_gpu(nvml, device));
  }
  for (const NvmlDeviceHandle from : devices) {
    auto& row = facts.peers.emplace_back();
    for (const NvmlDeviceHandle to : devices) {
      row.push_back(from == to ? NvmlPeer{} : read_peer(nvml, from, to));
    }
  }
  facts.library.evidence =
      fmt::format("libnvidia-ml.so.1, driver {}: {} GPUs", facts.driver_version, facts.gpus.size());
}

}  // namespace

NvmlFacts ask_nvml() {
  NvmlFacts facts;
  facts.library.asked = true;
  Library library("libnvidia-ml.so.1");
  const Nvml nvml(library);
  facts.library.loaded = library.loaded() && nvml.complete();
  if (!facts.library.loaded) {
    facts.library.evidence = library.error();
    return facts;
  }
  if (const int code = nvml.init(); code != kNvmlSuccess) {
    facts.library.evidence = fmt::format("nvmlInit: {}", nvml.explain(code));
    return facts;
  }
  facts.library.working = true;
  read_all(nvml, facts);
  (void)nvml.shutdown();
  return facts;
}

}  // namespace framewire::topology
