#include <fmt/format.h>
#include <algorithm>
#include <set>
#include <topology/drawing.hpp>

namespace framewire::topology {
namespace {

using Kind = Box::Kind;

constexpr std::string_view kNowhere = "place unknown";

std::string link_text(const HostFacts& facts, const std::string& address) {
  const auto found = facts.pci.find(address);
  if (found == facts.pci.end() || found->second.link.width <= 0) return "";
  const PcieLink& link = found->second.link;
  return fmt::format("{} x{}", link.speed.substr(0, link.speed.find(" PCIe")), link.width);
}

Box leaf(const HostFacts& facts, Kind kind, const std::string& title, const std::string& name,
         const std::string& address) {
  Box place{kind, title, {}, {}};
  for (const std::string& line : {name, address, link_text(facts, address)}) {
    if (!line.empty() && line != title) place.details.push_back(line);
  }
  return place;
}

std::string nic_name(const Nic& nic) {
  if (!nic.rdma) return "no RDMA";
  const auto active = std::find_if(nic.ports.begin(), nic.ports.end(),
                                   [](const NicPort& port) { return port.active(); });
  return active == nic.ports.end() ? "port down" : active->rate.substr(0, active->rate.find(" ("));
}

// A leaf, and the bridges on the way to it.
struct Branch {
  Box place;
  std::vector<std::string> bridges;   // outermost first; only those where ways part
  const PciDevice* device = nullptr;  // null: not in the tree
};

std::vector<Branch> branches_of(const HostFacts& facts) {
  std::vector<Branch> branches;
  const auto add = [&](Box place, const std::string& address) {
    Branch branch{std::move(place), bridges_above(facts.pci, address), nullptr};
    std::reverse(branch.bridges.begin(), branch.bridges.end());
    const auto found = facts.pci.find(address);
    if (found != facts.pci.end()) branch.device = &found->second;
    branches.push_back(std::move(branch));
  };
  for (const Gpu& gpu : facts.gpus) {
    add(leaf(facts, Kind::kGpu, gpu.label(), gpu.name, gpu.address), gpu.address);
  }
  for (const Nic& nic : facts.nics) {
    add(leaf(facts, Kind::kNic, nic.name, nic_name(nic), nic.address), nic.address);
  }
  return branches;
}

// Drops bridges below which there is one card only, and all but the last of several in a row that
// lead to the same cards.
void keep_forks(std::vector<Branch>& branches) {
  std::map<std::string, std::set<std::string>> cards;
  for (const Branch& branch : branches) {
    if (branch.device == nullptr) continue;
    const std::string card = branch.device->address.substr(0, branch.device->address.rfind('.'));
    for (const std::string& bridge : branch.bridges) cards[bridge].insert(card);
  }
  for (Branch& branch : branches) {
    std::vector<std::string> kept;
    for (const std::string& bridge : branch.bridges) {
      if (cards[bridge].size() < 2) continue;
      if (!kept.empty() && cards[kept.back()] == cards[bridge]) kept.pop_back();
      kept.push_back(bridge);
    }
    branch.bridges = std::move(kept);
  }
}

// Whether ACS redirects below a bridge. A switch has ACS at its ports, the bridges just below it.
bool redirects(const PciTree& tree, const std::string& bridge) {
  return std::any_of(tree.begin(), tree.end(), [&](const auto& entry) {
    const PciDevice& device = entry.second;
    return (device.address == bridge || device.parent == bridge) && device.acs.redirects();
  });
}

Box& child(Box& parent, Kind kind, const std::string& title, const std::string& detail) {
  for (Box& place : parent.inside) {
    if (place.kind == kind && place.title == title) return place;
  }
  Box& place = parent.inside.emplace_back();
  place.kind = kind;
  place.title = title;
  if (!detail.empty()) place.details.push_back(detail);
  return place;
}

void sort_by_title(Box& place) {
  if (place.kind == Kind::kHost) {
    std::stable_sort(place.inside.begin(), place.inside.end(), [](const Box& a, const Box& b) {
      const bool first = a.title != kNowhere, second = b.title != kNowhere;
      return first != second ? first : a.title < b.title;
    });
  }
  for (Box& inner : place.inside) sort_by_title(inner);
}

}  // namespace

Box picture_of(const HostFacts& facts) {
  Box host{Kind::kHost, "host", {}, {}};
  if (!facts.processor.empty()) host.details.push_back(facts.processor);
  if (facts.kernel.value) host.details.push_back("Linux " + *facts.kernel.value);
  if (const auto version = facts.driver_version(); !version.empty()) {
    host.details.push_back("NVIDIA driver " + version);
  }
  auto branches = branches_of(facts);
  keep_forks(branches);
  for (const Branch& branch : branches) {
    if (branch.device == nullptr) {
      child(host, Kind::kSocket, std::string(kNowhere), "").inside.push_back(branch.place);
      continue;
    }
    const PciDevice& device = *branch.device;
    const int socket = socket_of(device, facts.socket_of_node);
    const std::string name = socket < 0 ? "socket unknown" : fmt::format("socket {}", socket);
    Box* at = &child(host, Kind::kSocket, name, "");
    const std::string node =
        device.numa_node < 0 ? "" : fmt::format("NUMA node {}", device.numa_node);
    at = &child(*at, Kind::kRootComplex, "root complex " + device.root_bus.substr(3), node);
    for (const std::string& bridge : branch.bridges) {
      at = &child(*at, Kind::kSwitch, "switch " + bridge,
                  redirects(facts.pci, bridge) ? "ACS redirects" : "");
    }
    at->inside.push_back(branch.place);
  }
  sort_by_title(host);
  return host;
}

std::string_view mark_of(Verdict verdict) noexcept {
  constexpr std::string_view kMarks[] = {"✓", "!", "✗", "?", "–"};
  return kMarks[static_cast<std::size_t>(verdict)];
}

std::string cell_of(const Pair& pair) {
  return fmt::format("{} {}", pair.with_nic ? to_string(pair.route.relation) : to_string(pair.path),
                     mark_of(pair.verdict));
}

PairMatrix table_of(const Diagnosis& diagnosis) {
  PairMatrix table;
  const HostFacts& facts = diagnosis.facts;
  for (const Gpu& gpu : facts.gpus) table.rows.push_back(gpu.label());
  if (facts.gpus.size() > 1) table.columns = table.rows;
  for (const Nic& nic : facts.nics) {
    if (nic.rdma) table.columns.push_back(nic.name);
  }
  for (const std::string& row : table.rows) {
    for (const std::string& column : table.columns) {
      const auto found =
          std::find_if(diagnosis.pairs.begin(), diagnosis.pairs.end(), [&](const Pair& pair) {
            return (pair.a == row && pair.b == column) || (pair.a == column && pair.b == row);
          });
      table.cells.push_back(found == diagnosis.pairs.end() ? nullptr : &*found);
    }
  }
  return table;
}

}  // namespace framewire::topology
