#include <fmt/format.h>
#include <algorithm>
#include <topology/checks.hpp>

namespace framewire::topology {
namespace {

template <typename Devices>
std::size_t index_of(const Devices& devices, const std::string& address) {
  const auto found = std::find_if(devices.begin(), devices.end(),
                                  [&](const auto& one) { return one.address == address; });
  return static_cast<std::size_t>(found - devices.begin());
}

std::string named(const Probe& probe) {
  return probe.subject.empty() ? probe.title : fmt::format("{}: {}", probe.subject, probe.title);
}

// What a pair lacks, and what it may lack.
struct Findings {
  std::vector<std::string> against;
  std::vector<std::string> unproven;
};

void take_probes(const Pair& pair, const Probes& probes, Findings& findings) {
  for (const Probe& probe : probes) {
    const bool concerns =
        probe.subject.empty() || probe.subject == pair.a || probe.subject == pair.b;
    if (!probe.required || !concerns) continue;
    if (probe.verdict == Verdict::kMissing) findings.against.push_back(named(probe) + ": missing");
    if (probe.verdict == Verdict::kUnknown) findings.unproven.push_back(named(probe) + ": unknown");
  }
}

void take_bridges(const HostFacts& facts, const Route& route, Findings& findings) {
  for (const std::string& address : route.bridges) {
    const Acs& acs = facts.pci.at(address).acs;
    if (acs.redirects()) {
      findings.against.push_back(fmt::format("ACS of {} redirects to the root complex", address));
    } else if (acs.state == Acs::State::kUnreadable) {
      findings.unproven.push_back(fmt::format("ACS of {} cannot be read", address));
    }
  }
}

void take_route(const HostFacts& facts, const Pair& pair, Findings& findings) {
  switch (pair.route.relation) {
    case Relation::kPix:
    case Relation::kPxb:
      take_bridges(facts, pair.route, findings);
      break;
    case Relation::kPhb:
      // What looks like one root complex is all that most virtual machines show of any tree.
      if (facts.virtual_machine) {
        findings.unproven.push_back("a virtual machine hides the bridges between them");
      }
      break;
    case Relation::kNode:
    case Relation::kSys:
      findings.against.push_back(fmt::format("{}: the path goes {}", to_string(pair.route.relation),
                                             explain(pair.route.relation)));
      break;
    case Relation::kUnknown:
      findings.unproven.push_back("the PCIe tree does not show both");
      break;
  }
}

// Notes what registration of GPU memory lacks. Without the peer-memory module, this very card and
// this GPU need dma-buf, though others may have it.
void take_registration(const HostFacts& facts, const Gpu& gpu, const Nic& nic, Findings& findings) {
  if (facts.peer_memory.value || facts.old_peer_memory.value) return;
  if (nic.verbs && !nic.verbs->dmabuf.value_or(true)) {
    findings.against.push_back(fmt::format("{} does not register dma-bufs", nic.name));
  }
  if (gpu.cuda && !gpu.cuda->dmabuf_exported.value_or(gpu.cuda->dmabuf.value_or(true))) {
    findings.against.push_back(fmt::format("{} does not export dma-bufs", gpu.label()));
  }
}

Pair judge_nic(const HostFacts& facts, const Gpu& gpu, const Nic& nic, const Probes& probes) {
  Pair pair;
  pair.a = gpu.label();
  pair.b = nic.name;
  pair.with_nic = true;
  pair.route = route_between(facts.pci, gpu.address, nic.address, facts.socket_of_node);
  Findings findings;
  take_route(facts, pair, findings);
  take_probes(pair, probes, findings);
  take_registration(facts, gpu, nic, findings);
  pair.reasons = findings.against;
  if (!findings.against.empty()) {
    pair.verdict = Verdict::kMissing;
    return pair;
  }
  pair.path = Path::kGpudirect;
  pair.reasons = findings.unproven;
  pair.verdict = findings.unproven.empty() ? Verdict::kOk : Verdict::kUnknown;
  if (pair.route.relation == Relation::kPhb) {
    if (pair.verdict == Verdict::kOk) pair.verdict = Verdict::kWarning;
    pair.reasons.push_back("PHB: through the root complex, which costs speed on most processors");
  }
  return pair;
}

// Judges a pair by its place in the tree alone, where no driver could be asked.
void judge_by_place(const HostFacts& facts, Pair& pair) {
  Findings findings;
  take_route(facts, pair, findings);
  const bool direct =
      pair.route.relation == Relation::kPix || pair.route.relation == Relation::kPxb;
  pair.path = direct ? Path::kP2p : Path::kStaged;
  pair.verdict = direct && findings.unproven.empty() ? Verdict::kOk : Verdict::kUnknown;
  if (direct && !findings.against.empty()) pair.verdict = Verdict::kWarning;
  pair.reasons = findings.against;
  pair.reasons.insert(pair.reasons.end(), findings.unproven.begin(), findings.unproven.end());
  pair.reasons.push_back("by their place alone: the driver was not asked");
}

Pair judge_gpus(const HostFacts& facts, const Gpu& first, const Gpu& second) {
  Pair pair;
  pair.a = first.label();
  pair.b = second.label();
  pair.route = route_between(facts.pci, first.address, second.address, facts.socket_of_node);
  pair.verdict = Verdict::kWarning;
  if (first.mig.value_or(false) || second.mig.value_or(false)) {
    pair.reasons = {"MIG: instances have no peer access"};
    return pair;
  }
  const auto there = can_access(facts, first, second), back = can_access(facts, second, first);
  if (!there || !back) {
    judge_by_place(facts, pair);
  } else if (!*there || !*back) {
    pair.reasons = {"the driver refuses peer access"};
  } else {
    pair.verdict = Verdict::kOk;
    pair.path = joined_by_nvlink(facts, first, second) ? Path::kNvlink : Path::kP2p;
    if (pair.path == Path::kP2p) {
      Findings findings;
      take_bridges(facts, pair.route, findings);
      pair.reasons = findings.against;
      if (!pair.reasons.empty()) pair.verdict = Verdict::kWarning;
    }
  }
  return pair;
}

}  // namespace

std::optional<bool> can_access(const HostFacts& facts, const Gpu& from, const Gpu& to) {
  if (from.cuda && to.cuda) {
    const auto& gpus = facts.cuda.gpus;
    return facts.cuda.can_access.at(index_of(gpus, from.address)).at(index_of(gpus, to.address));
  }
  if (!from.nvml || !to.nvml) return std::nullopt;
  const auto& gpus = facts.nvml.gpus;
  const NvmlPeer& peer =
      facts.nvml.peers.at(index_of(gpus, from.address)).at(index_of(gpus, to.address));
  if (!peer.read || !peer.write) return std::nullopt;
  return *peer.read && *peer.write;
}

bool joined_by_nvlink(const HostFacts& facts, const Gpu& from, const Gpu& to) {
  if (!from.nvml || !to.nvml) return false;
  const auto& gpus = facts.nvml.gpus;
  return facts.nvml.peers.at(index_of(gpus, from.address))
      .at(index_of(gpus, to.address))
      .nvlink.value_or(false);
}

std::vector<Pair> judge_pairs(const HostFacts& facts, const Probes& probes) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < facts.gpus.size(); ++i) {
    for (std::size_t j = i + 1; j < facts.gpus.size(); ++j) {
      pairs.push_back(judge_gpus(facts, facts.gpus[i], facts.gpus[j]));
    }
  }
  for (const Gpu& gpu : facts.gpus) {
    for (const Nic& nic : facts.nics) {
      if (nic.rdma) pairs.push_back(judge_nic(facts, gpu, nic, probes));
    }
  }
  return pairs;
}

}  // namespace framewire::topology
