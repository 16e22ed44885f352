// NVML's interface as documented in NVIDIA's NVML API Reference. Its header is not needed: these
// functions and structures have kept their layout since driver 450.
#include <fmt/format.h>
#include <algorithm>
#include <topology/library.hpp>
#include <topology/library_facts.hpp>

namespace framewire::topology {
namespace {

using Device = struct NvmlDevice*;
constexpr int kSuccess = 0;
constexpr unsigned kMaxLinks = 18;  // NVML_NVLINK_MAX_LINKS
enum P2pIndex : int { kRead = 0, kWrite = 1, kNvlink = 2 };

struct PciInfo {
  char legacy_address[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char address[32];
};

struct Memory {
  unsigned long long total, free, used;  // of BAR 1 in the same order
};

// Functions beyond the first four may be missing from a driver; the facts that they give are then
// missing too.
struct Nvml {
  explicit Nvml(Library& library)
      : init(library.find<int()>("nvmlInit_v2")),
        count(library.find<int(unsigned*)>("nvmlDeviceGetCount_v2")),
        handle(library.find<int(unsigned, Device*)>("nvmlDeviceGetHandleByIndex_v2")),
        pci(library.find<int(Device, PciInfo*)>("nvmlDeviceGetPciInfo_v3")),
        shutdown(library.find<int()>("nvmlShutdown")),
        error(library.find<const char*(int)>("nvmlErrorString")),
        driver(library.find<int(char*, unsigned)>("nvmlSystemGetDriverVersion")),
        name(library.find<int(Device, char*, unsigned)>("nvmlDeviceGetName")),
        uuid(library.find<int(Device, char*, unsigned)>("nvmlDeviceGetUUID")),
        bar1(library.find<int(Device, Memory*)>("nvmlDeviceGetBAR1MemoryInfo")),
        memory(library.find<int(Device, Memory*)>("nvmlDeviceGetMemoryInfo")),
        mig(library.find<int(Device, unsigned*, unsigned*)>("nvmlDeviceGetMigMode")),
        mode(library.find<int(Device, int*)>("nvmlDeviceGetComputeMode")),
        capability(library.find<int(Device, int*, int*)>("nvmlDeviceGetCudaComputeCapability")),
        link(library.find<int(Device, unsigned, int*)>("nvmlDeviceGetNvLinkState")),
        p2p(library.find<int(Device, Device, int, int*)>("nvmlDeviceGetP2PStatus")) {}

  [[nodiscard]] bool complete() const { return init && count && handle && pci && shutdown; }
  [[nodiscard]] std::string explain(int code) const {
    return error != nullptr ? error(code) : fmt::format("error {}", code);
  }

  int (*init)();
  int (*count)(unsigned*);
  int (*handle)(unsigned, Device*);
  int (*pci)(Device, PciInfo*);
  int (*shutdown)();
  const char* (*error)(int);
  int (*driver)(char*, unsigned);
  int (*name)(Device, char*, unsigned);
  int (*uuid)(Device, char*, unsigned);
  int (*bar1)(Device, Memory*);
  int (*memory)(Device, Memory*);
  int (*mig)(Device, unsigned*, unsigned*);
  int (*mode)(Device, int*);
  int (*capability)(Device, int*, int*);
  int (*link)(Device, unsigned, int*);
  int (*p2p)(Device, Device, int, int*);
};

template <typename Function, typename... Arguments>
bool succeeds(Function* function, Arguments... arguments) {
  return function != nullptr && function(arguments...) == kSuccess;
}

template <typename Function>
std::string text_of(Function* function, Device device) {
  char text[96] = {};
  return succeeds(function, device, text, 95u) ? text : "";
}

NvmlGpu read_gpu(const Nvml& nvml, Device device) {
  NvmlGpu gpu;
  PciInfo pci{};
  if (succeeds(nvml.pci, device, &pci)) {
    gpu.address = fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
  }
  gpu.name = text_of(nvml.name, device);
  gpu.uuid = text_of(nvml.uuid, device);
  Memory memory{};
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

NvmlPeer read_peer(const Nvml& nvml, Device from, Device to) {
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
  std::vector<Device> devices;
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    // A GPU that this user may not see has no handle.
    if (!succeeds(nvml.handle, i, &device)) continue;
    devices.push_back(device);
    facts.gpus.push_back(read_gpu(nvml, device));
  }
  for (const Device from : devices) {
    auto& row = facts.peers.emplace_back();
    for (const Device to : devices) {
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
  if (const int code = nvml.init(); code != kSuccess) {
    facts.library.evidence = fmt::format("nvmlInit: {}", nvml.explain(code));
    return facts;
  }
  facts.library.working = true;
  read_all(nvml, facts);
  (void)nvml.shutdown();
  return facts;
}

}  // namespace framewire::topology
