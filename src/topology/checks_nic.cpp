#include <fmt/format.h>
#include <algorithm>
#include <topology/checks.hpp>

namespace framewire::topology {
namespace {

bool any_rdma(const HostFacts& facts) {
  return std::any_of(facts.nics.begin(), facts.nics.end(), [](const Nic& nic) { return nic.rdma; });
}

void check_nic_presence(const HostFacts& facts, Probes& probes) {
  Probe& probe = add(probes, "nic", "RDMA network card");
  probe.required = true;
  std::string others;
  for (const Nic& nic : facts.nics) {
    if (nic.rdma) {
      probe.evidence.push_back(fmt::format("/sys/class/infiniband/{}: {}", nic.name,
                                           nic.address.empty() ? "software" : nic.address));
    } else {
      others += fmt::format(" {}", nic.name);
    }
  }
  probe.verdict = any_rdma(facts) ? Verdict::kOk : Verdict::kMissing;
  if (probe.verdict == Verdict::kOk) return;
  probe.evidence = {"/sys/class/infiniband: no device"};
  if (!others.empty()) probe.evidence.push_back("network cards without RDMA:" + others);
  probe.remedy =
      others.empty()
          ? "fit an RDMA card (ConnectX, BlueField, E810, Thor); until then frames go over TCP"
          : "if one of these cards can do RDMA, load its driver (modprobe mlx5_ib, irdma, "
            "bnxt_re); "
            "otherwise frames go over TCP";
}

std::string_view port_remedy(const NicPort& port) {
  if (!port.active()) {
    return port.link_layer == "Ethernet"
               ? "plug in the cable, bring the interface up (ip link set … up), check the switch"
               : "plug in the cable and run a subnet manager (opensm) on the fabric";
  }
  return "give the interface an IP address: RoCE v2 sends from an address of IP";
}

void check_port(const Nic& nic, Probes& probes) {
  Probe& probe = add(probes, "nic_port", "Port of the network card", nic.name);
  probe.required = true;
  probe.verdict = Verdict::kMissing;
  probe.remedy = "the device shows no port; look at the kernel's log of its driver";
  for (const NicPort& port : nic.ports) {
    std::string gids;
    for (const std::string& type : port.gid_types) gids += (gids.empty() ? "" : ", ") + type;
    probe.evidence.push_back(fmt::format("{}: {}, {}, {}, GIDs: {}", port.path, port.state,
                                         port.rate, port.link_layer, gids.empty() ? "none" : gids));
    const bool routable =
        port.link_layer != "Ethernet" || gids.find("RoCE v2") != std::string::npos;
    const Verdict verdict = !port.active() ? Verdict::kMissing
                            : routable     ? Verdict::kOk
                                           : Verdict::kWarning;
    // One port that works is enough, so the best one speaks for the card.
    if (probe.verdict == Verdict::kOk) continue;
    if (probe.verdict == Verdict::kWarning && verdict == Verdict::kMissing) continue;
    probe.verdict = verdict;
    probe.remedy = verdict == Verdict::kOk ? "" : port_remedy(port);
  }
}

void check_software(const Nic& nic, Probes& probes) {
  Probe& probe = add(probes, "nic_hardware", "Card does RDMA in hardware", nic.name);
  probe.required = true;
  probe.verdict = nic.address.empty() ? Verdict::kMissing : Verdict::kOk;
  probe.evidence = {fmt::format("/sys/class/infiniband/{}/device: {}", nic.name,
                                nic.address.empty() ? "no PCI device" : nic.address)};
  if (nic.address.empty()) {
    probe.remedy =
        "a software device (soft-RoCE, soft-iWARP) moves bytes with the processor: good "
        "for tests, never GPUDirect";
  }
}

// What has been seen beats what was read.
void check_truth(const Nic& nic, Probes& probes) {
  if (!nic.verbs) return;
  Probe& probe = add(probes, "truth_test", "An RDMA write looped back", nic.name);
  probe.evidence = {nic.verbs->loop_evidence};
  if (!nic.verbs->loops) return;
  probe.verdict = *nic.verbs->loops ? Verdict::kOk : Verdict::kMissing;
  if (probe.verdict == Verdict::kOk) return;
  probe.required = true;
  probe.remedy =
      "the card does not move bytes within its own host: look at the kernel's log of its driver, "
      "at ulimit -l, and at the addresses of its interface";
}

void check_access(const HostFacts& facts, Probes& probes) {
  Probe& probe = add(probes, "infiniband_access", "Access to /dev/infiniband");
  if (!any_rdma(facts)) {
    probe.verdict = Verdict::kNotApplicable;
    probe.evidence = {"there is no RDMA device"};
    return;
  }
  probe.required = true;
  if (facts.infiniband_devices.empty()) {
    probe.verdict = Verdict::kMissing;
    probe.evidence = {"/dev/infiniband: no uverbs device"};
    probe.remedy = "modprobe ib_uverbs; in a container, run it with --device /dev/infiniband";
    return;
  }
  probe.evidence = {fmt::format(
      "{}: {}", facts.infiniband_devices.front(),
      facts.infiniband_usable ? "readable and writable" : "no permission to read and write")};
  probe.verdict = facts.infiniband_usable ? Verdict::kOk : Verdict::kMissing;
  if (!facts.infiniband_usable) {
    probe.remedy = "let this user read and write it, by a udev rule of mode 0666 or a group";
  }
}

void check_verbs(const HostFacts& facts, Probes& probes) {
  Probe& probe = add(probes, "verbs", "libibverbs");
  const LibraryAnswer& library = facts.verbs.library;
  if (!library.asked || !any_rdma(facts)) {
    probe.verdict = Verdict::kNotApplicable;
    probe.evidence = {library.asked ? "there is no RDMA device"
                                    : "not asked: a recording is read, and libraries know this "
                                      "host only"};
    return;
  }
  probe.required = true;
  probe.evidence = {library.evidence};
  const bool useful = library.working && !facts.verbs.devices.empty();
  probe.verdict = useful ? Verdict::kOk : Verdict::kMissing;
  if (!useful) probe.remedy = "install rdma-core (libibverbs1 and ibverbs-providers)";
}

}  // namespace

void check_nics(const HostFacts& facts, Probes& probes) {
  check_nic_presence(facts, probes);
  check_access(facts, probes);
  check_verbs(facts, probes);
  for (const Nic& nic : facts.nics) {
    if (!nic.rdma) continue;
    check_software(nic, probes);
    check_port(nic, probes);
    check_truth(nic, probes);
  }
}

}  // namespace framewire::topology
