// The probes, in groups; each function appends to the list.
#pragma once

#include <cstdint>
#include <string>
#include <topology/diagnosis.hpp>
#include <vector>

namespace framewire::topology {

using Probes = std::vector<Probe>;

inline constexpr std::uint64_t kMiB = 1 << 20;
/// version_of() the first Linux that registers GPU memory by dma-buf, 5.12.
inline constexpr int kDmabufKernel = 5012;

/// Appends a probe and returns it, to be filled in before the next is appended.
inline Probe& add(Probes& probes, std::string id, std::string title, std::string subject = "") {
  Probe& probe = probes.emplace_back();
  probe.id = std::move(id);
  probe.title = std::move(title);
  probe.subject = std::move(subject);
  return probe;
}

void check_host(const HostFacts& facts, Probes& probes);
void check_gpus(const HostFacts& facts, Probes& probes);
void check_nics(const HostFacts& facts, Probes& probes);
/// Whether GPU memory can be registered with a NIC, by either of the two ways.
void check_registration(const HostFacts& facts, Probes& probes);
/// ACS, IOMMU and link speeds of what lies between GPUs and NICs.
void check_fabric(const HostFacts& facts, Probes& probes);
/// What speeds things up or is used by several processes: NVLink, peer access, MPS, GDRCopy, UCX.
void check_extras(const HostFacts& facts, Probes& probes);

/// Judges every pair of a GPU and another device; all probes must be complete.
[[nodiscard]] std::vector<Pair> judge_pairs(const HostFacts& facts, const Probes& probes);

/// Whether one GPU may read and write another's memory; nothing: nobody was asked.
[[nodiscard]] std::optional<bool> can_access(const HostFacts& facts, const Gpu& from,
                                             const Gpu& to);
[[nodiscard]] bool joined_by_nvlink(const HostFacts& facts, const Gpu& from, const Gpu& to);

}  // namespace framewire::topology
