#include <fmt/format.h>
#include <cstdlib>
#include <set>
#include <sstream>
#include <topology/checks.hpp>

namespace framewire::topology {
namespace {

bool direct(Relation relation) { return relation == Relation::kPix || relation == Relation::kPxb; }

// Bridges between a GPU and an RDMA device, or another GPU, that could talk below the root complex.
std::set<std::string> direct_bridges(const HostFacts& facts) {
  std::set<std::string> bridges;
  const auto take = [&](const std::string& a, const std::string& b) {
    const Route route = route_between(facts.pci, a, b, facts.socket_of_node);
    if (direct(route.relation)) bridges.insert(route.bridges.begin(), route.bridges.end());
  };
  for (std::size_t i = 0; i < facts.gpus.size(); ++i) {
    for (std::size_t j = i + 1; j < facts.gpus.size(); ++j) {
      take(facts.gpus[i].address, facts.gpus[j].address);
    }
    for (const Nic& nic : facts.nics) {
      if (nic.rdma) take(facts.gpus[i].address, nic.address);
    }
  }
  return bridges;
}

void check_acs(const HostFacts& facts, Probes& probes) {
  Probe& probe = add(probes, "acs", "ACS lets devices below a switch talk");
  const auto bridges = direct_bridges(facts);
  if (bridges.empty()) {
    probe.verdict = Verdict::kNotApplicable;
    probe.evidence = {"no two of these devices have a switch in common"};
    return;
  }
  probe.verdict = Verdict::kOk;
  std::size_t quiet = 0;
  for (const std::string& address : bridges) {
    const Acs& acs = facts.pci.at(address).acs;
    if (acs.redirects()) {
      probe.verdict = Verdict::kMissing;
      probe.evidence.push_back(fmt::format(
          "/sys/bus/pci/devices/{}/config: ACS control {:#06x} redirects", address, acs.control));
    } else if (acs.state == Acs::State::kUnreadable) {
      if (probe.verdict == Verdict::kOk) probe.verdict = Verdict::kUnknown;
      probe.evidence.push_back(
          fmt::format("/sys/bus/pci/devices/{}/config: capabilities cannot be read", address));
    } else {
      ++quiet;
    }
  }
  probe.evidence.push_back(fmt::format("{} of {} bridges redirect nothing", quiet, bridges.size()));
  if (probe.verdict == Verdict::kMissing) {
    probe.remedy =
        "on a host without virtual machines, turn it off in the firmware, or at each start: "
        "setpci -s BRIDGE ECAP_ACS+6.w=0000";
  } else if (probe.verdict == Verdict::kUnknown) {
    probe.remedy = "run the doctor as root, who may read the whole configuration space";
  }
}

// Whether the kernel's command line makes the IOMMU pass addresses through unchanged. Asked where
// the types of the groups cannot be read.
bool passes_through(const std::string& command_line) {
  for (const std::string_view word : {"iommu=pt", "iommu.passthrough=1", "iommu=off"}) {
    if (command_line.find(word) != std::string::npos) return true;
  }
  return false;
}

// The words of the command line that are about the IOMMU. The whole line may be long, and hold what
// nobody else should read.
std::string iommu_words(const Reading& command_line) {
  std::istringstream words(command_line.value.value_or(""));
  std::string found;
  for (std::string word; words >> word;) {
    if (word.find("iommu") != std::string::npos) found += " " + word;
  }
  return fmt::format("{}:{}", command_line.path, found.empty() ? " nothing about iommu" : found);
}

void take_iommu_type(const HostFacts& facts, const std::string& address, Probe& probe) {
  const auto found = facts.pci.find(address);
  if (found == facts.pci.end()) return;
  const std::string& type = found->second.iommu_type;
  if (type.empty()) return;
  probe.evidence.push_back(
      fmt::format("/sys/bus/pci/devices/{}/iommu_group/type: {}", address, type));
  if (type == "identity") return;
  const bool nameless = type == "unnamed";
  if (nameless && passes_through(facts.command_line.value.value_or(""))) return;
  if (probe.verdict != Verdict::kMissing) {
    probe.verdict = nameless ? Verdict::kUnknown : Verdict::kMissing;
  }
}

void check_iommu(const HostFacts& facts, Probes& probes) {
  Probe& probe = add(probes, "iommu", "IOMMU passes addresses through");
  probe.required = true;
  std::string names;
  for (const std::string& name : facts.iommus) names += " " + name;
  probe.evidence = {fmt::format("/sys/class/iommu:{}", names.empty() ? " none" : names),
                    iommu_words(facts.command_line)};
  probe.verdict = Verdict::kOk;
  for (const Gpu& gpu : facts.gpus) take_iommu_type(facts, gpu.address, probe);
  for (const Nic& nic : facts.nics) {
    if (nic.rdma) take_iommu_type(facts, nic.address, probe);
  }
  if (probe.verdict == Verdict::kOk) return;
  probe.remedy =
      "add iommu=pt to the kernel's command line (iommu.passthrough=1 on Arm), or turn the IOMMU "
      "off in the firmware: GPUDirect needs bus addresses that are physical addresses";
}

void check_link(const HostFacts& facts, const std::string& label, const std::string& address,
                bool slows_down_when_idle, Probes& probes) {
  const auto found = facts.pci.find(address);
  if (found == facts.pci.end()) return;
  const PcieLink& link = found->second.link;
  Probe& probe = add(probes, "pcie_link", "PCIe link", label);
  probe.evidence = {fmt::format("/sys/bus/pci/devices/{}: {} x{} of at most {} x{}", address,
                                link.speed, link.width, link.max_speed, link.max_width)};
  const double now = std::strtod(link.speed.c_str(), nullptr);
  const double best = std::strtod(link.max_speed.c_str(), nullptr);
  if (link.width <= 0 || link.max_width <= 0 || now <= 0) {
    probe.evidence = {fmt::format("/sys/bus/pci/devices/{}: no current link", address)};
    return;
  }
  const bool narrow = link.width < link.max_width, slow = now < best;
  probe.verdict = narrow || (slow && !slows_down_when_idle) ? Verdict::kWarning : Verdict::kOk;
  if (slow && slows_down_when_idle) {
    probe.evidence.push_back("idle GPUs slow their link down; look again under load");
  }
  if (probe.verdict == Verdict::kWarning) {
    probe.remedy =
        "move the card to a slot of its full width and speed, reseat it, check the "
        "slot's setting in the firmware";
  }
}

}  // namespace

void check_fabric(const HostFacts& facts, Probes& probes) {
  check_acs(facts, probes);
  check_iommu(facts, probes);
  for (const Gpu& gpu : facts.gpus) check_link(facts, gpu.label(), gpu.address, true, probes);
  for (const Nic& nic : facts.nics) {
    if (nic.rdma) check_link(facts, nic.name, nic.address, false, probes);
  }
}

}  // namespace framewire::topology
