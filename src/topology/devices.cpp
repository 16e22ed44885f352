#include <fmt/format.h>
#include <algorithm>
#include <sstream>
#include <topology/devices.hpp>

namespace framewire::topology {
namespace {

// "Model: \t\t NVIDIA H100" of a file of such lines.
std::string field(const std::string& text, std::string_view key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t value = line.find_first_not_of(": \t", key.size());
    return value == std::string::npos ? "" : line.substr(value);
  }
  return "";
}

template <typename Device>
const Device* with_address(const std::vector<Device>& devices, const std::string& address) {
  const auto found = std::find_if(devices.begin(), devices.end(),
                                  [&](const Device& one) { return one.address == address; });
  return found == devices.end() ? nullptr : &*found;
}

// The driver shows instances as folders gi0, gi1, …; their mig folder alone says nothing.
void read_mig(const HostFiles& files, const std::string& minor, Gpu& gpu) {
  if (gpu.nvml) {
    gpu.mig = gpu.nvml->mig.value_or(false);
    gpu.mig_evidence = fmt::format("NVML: {}", !gpu.nvml->mig ? "this GPU has no MIG"
                                               : *gpu.mig     ? "MIG is enabled"
                                                              : "MIG is disabled");
    return;
  }
  if (minor.empty()) return;
  const std::string folder = fmt::format("/proc/driver/nvidia/capabilities/gpu{}/mig", minor);
  const auto names = files.names(folder);
  const auto instances = std::count_if(
      names.begin(), names.end(), [](const std::string& name) { return name.starts_with("gi"); });
  gpu.mig = instances > 0;
  gpu.mig_evidence = fmt::format("{}: {} GPU instances", folder, instances);
}

void take_answers(const HostFacts& facts, Gpu& gpu) {
  if (const NvmlGpu* nvml = with_address(facts.nvml.gpus, gpu.address)) {
    gpu.nvml = *nvml;
    gpu.name = nvml->name;
    gpu.uuid = nvml->uuid;
    gpu.memory_bytes = nvml->memory_bytes;
    if (nvml->bar1_bytes != 0) gpu.bar1_bytes = nvml->bar1_bytes;
  }
  if (const CudaGpu* cuda = with_address(facts.cuda.gpus, gpu.address)) gpu.cuda = *cuda;
}

NicPort read_port(const HostFiles& files, const std::string& folder, const std::string& number) {
  NicPort port;
  port.path = fmt::format("{}/ports/{}", folder, number);
  port.number = std::atoi(number.c_str());
  port.state = files.text(port.path + "/state");
  port.rate = files.text(port.path + "/rate");
  port.link_layer = files.text(port.path + "/link_layer");
  for (const std::string& index : files.names(port.path + "/gid_attrs/types")) {
    // Unused entries refuse to be read.
    const std::string type = files.text(fmt::format("{}/gid_attrs/types/{}", port.path, index));
    if (!type.empty()) port.gid_types.push_back(type);
  }
  std::sort(port.gid_types.begin(), port.gid_types.end());
  port.gid_types.erase(std::unique(port.gid_types.begin(), port.gid_types.end()),
                       port.gid_types.end());
  return port;
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Nic read_rdma(const HostFiles& files, const HostFacts& facts, const std::string& name) {
  const std::string folder = "/sys/class/infiniband/" + name;
  Nic nic;
  nic.name = name;
  nic.rdma = true;
  const std::string address = last_part(files.resolve(folder + "/device"));
  if (facts.pci.contains(address)) nic.address = address;
  nic.interfaces = files.names(folder + "/device/net");
  for (const std::string& number : files.names(folder + "/ports")) {
    nic.ports.push_back(read_port(files, folder, number));
  }
  for (const VerbsDevice& device : facts.verbs.devices) {
    if (device.name == name) nic.verbs = device;
  }
  return nic;
}

}  // namespace

std::vector<Gpu> read_gpus(const HostFiles& files, const HostFacts& facts) {
  std::vector<Gpu> gpus;
  for (const auto& [address, device] : facts.pci) {
    if (!device.is_nvidia_gpu()) continue;
    Gpu gpu;
    gpu.index = static_cast<int>(gpus.size());
    gpu.address = address;
    const std::string information =
        files.text(fmt::format("/proc/driver/nvidia/gpus/{}/information", address));
    gpu.name = field(information, "Model");
    gpu.uuid = field(information, "GPU UUID");
    gpu.bar1_bytes = device.second_bar_bytes;
    take_answers(facts, gpu);
    gpu.bound_to_driver = device.driver == "nvidia" || gpu.nvml || !information.empty();
    read_mig(files, field(information, "Device Minor"), gpu);
    gpus.push_back(std::move(gpu));
  }
  // Sandboxes may show a GPU to the driver's users and hide its place in the tree.
  for (const NvmlGpu& nvml : facts.nvml.gpus) {
    if (with_address(gpus, nvml.address) != nullptr) continue;
    Gpu gpu;
    gpu.index = static_cast<int>(gpus.size());
    gpu.address = nvml.address;
    gpu.bound_to_driver = true;
    gpu.bar1_bytes = nvml.bar1_bytes;
    take_answers(facts, gpu);
    read_mig(files, "", gpu);
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

std::vector<Nic> read_nics(const HostFiles& files, const HostFacts& facts) {
  std::vector<Nic> nics;
  for (const std::string& name : files.names("/sys/class/infiniband")) {
    nics.push_back(read_rdma(files, facts, name));
  }
  for (const auto& [address, device] : facts.pci) {
    if (!device.is_network() || with_address(nics, address) != nullptr) continue;
    Nic nic;
    nic.address = address;
    const std::string folder = "/sys/bus/pci/devices/" + address;
    nic.interfaces = files.names(folder + "/net");
    nic.name = nic.interfaces.empty() ? address : nic.interfaces.front();
    nics.push_back(std::move(nic));
  }
  return nics;
}

}  // namespace framewire::topology
