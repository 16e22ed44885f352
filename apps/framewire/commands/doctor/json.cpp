#include <fmt/format.h>
#include <commands/doctor/json.hpp>
#include <framewire/version.hpp>

namespace framewire::app {
namespace {

using namespace topology;

// Nothing is known where a text is empty or a number is zero.
Json known(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
Json known(std::uint64_t number) { return number == 0 ? Json(nullptr) : Json(number); }
template <typename T>
Json known(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json host_json(const HostFacts& facts) {
  return {{"processor", known(facts.processor)},
          {"kernel", known(facts.kernel.value.value_or(""))},
          {"driver", known(facts.driver_version())},
          {"open_driver", known(facts.open_driver())},
          {"virtual_machine", facts.virtual_machine}};
}

Json place_json(const HostFacts& facts, const std::string& address) {
  const auto found = facts.pci.find(address);
  if (found == facts.pci.end()) return nullptr;
  const PciDevice& device = found->second;
  const int socket = socket_of(device, facts.socket_of_node);
  return {{"address", device.address},
          {"root_complex", device.root_bus},
          {"bridges", bridges_above(facts.pci, address)},
          {"numa_node", device.numa_node < 0 ? Json(nullptr) : Json(device.numa_node)},
          {"socket", socket < 0 ? Json(nullptr) : Json(socket)},
          {"link_speed", known(device.link.speed)},
          {"link_width", device.link.width}};
}

std::string_view mode_word(int mode) {
  constexpr std::string_view kWords[] = {"default", "exclusive_thread", "prohibited",
                                         "exclusive_process"};
  return mode >= 0 && mode < 4 ? kWords[mode] : "unknown";
}

Json compute_mode_json(const Gpu& gpu) {
  if (!gpu.nvml || !gpu.nvml->compute_mode) return nullptr;
  return mode_word(*gpu.nvml->compute_mode);
}

Json gpu_json(const HostFacts& facts, const Gpu& gpu) {
  return {{"id", gpu.label()},
          {"index", gpu.index},
          {"name", known(gpu.name)},
          {"uuid", known(gpu.uuid)},
          {"address", gpu.address},
          {"place", place_json(facts, gpu.address)},
          {"bar1_bytes", known(gpu.bar1_bytes)},
          {"memory_bytes", known(gpu.memory_bytes)},
          {"mig", known(gpu.mig)},
          {"compute_mode", compute_mode_json(gpu)}};
}

Json mps_json(const MpsFacts& mps) {
  return {{"program", known(mps.program)},
          {"pipe_directory", mps.pipe_directory},
          {"running", mps.running},
          {"owner", known(mps.owner)}};
}

Json nic_json(const HostFacts& facts, const Nic& nic) {
  Json ports = Json::array();
  for (const NicPort& port : nic.ports) {
    ports.push_back({{"number", port.number},
                     {"state", port.state},
                     {"rate", port.rate},
                     {"link_layer", port.link_layer},
                     {"gid_types", port.gid_types}});
  }
  return {{"id", nic.name},
          {"rdma", nic.rdma},
          {"address", known(nic.address)},
          {"place", place_json(facts, nic.address)},
          {"interfaces", nic.interfaces},
          {"ports", ports}};
}

Json probe_json(const Probe& probe) {
  return {{"id", probe.id},
          {"subject", known(probe.subject)},
          {"title", probe.title},
          {"verdict", topology::to_string(probe.verdict)},
          {"required", probe.required},
          {"evidence", probe.evidence},
          {"remedy", known(probe.remedy)}};
}

Json pair_json(const Pair& pair) {
  return {{"a", pair.a},
          {"b", pair.b},
          {"kind", pair.with_nic ? "gpu-nic" : "gpu-gpu"},
          {"relation", topology::to_string(pair.route.relation)},
          {"bridges", pair.route.bridges},
          {"path", topology::to_string(pair.path)},
          {"verdict", topology::to_string(pair.verdict)},
          {"reasons", pair.reasons}};
}

}  // namespace

Json to_json(const Diagnosis& diagnosis) {
  const HostFacts& facts = diagnosis.facts;
  Json gpus = Json::array(), nics = Json::array(), probes = Json::array(), pairs = Json::array();
  for (const Gpu& gpu : facts.gpus) gpus.push_back(gpu_json(facts, gpu));
  for (const Nic& nic : facts.nics) nics.push_back(nic_json(facts, nic));
  for (const Probe& probe : diagnosis.probes) probes.push_back(probe_json(probe));
  for (const Pair& pair : diagnosis.pairs) pairs.push_back(pair_json(pair));
  return {{"schema", 1},
          {"framewire", kVersion},
          {"root", facts.root},
          {"gpudirect_rdma", topology::to_string(diagnosis.gpudirect_rdma)},
          {"conclusion", diagnosis.conclusion},
          {"host", host_json(facts)},
          {"mps", mps_json(facts.mps)},
          {"gpus", std::move(gpus)},
          {"nics", std::move(nics)},
          {"probes", std::move(probes)},
          {"pairs", std::move(pairs)}};
}

}  // namespace framewire::app
