// GPUs and network cards, put together from the PCI tree, their own files and libraries.
#pragma once

#include <topology/host_facts.hpp>
#include <vector>

namespace framewire::topology {

/// @param facts  whose PCI tree and library answers are complete
[[nodiscard]] std::vector<Gpu> read_gpus(const HostFiles& files, const HostFacts& facts);

/// RDMA devices, then network cards without any. Interfaces of no PCI device are left out.
/// @param facts  whose PCI tree and library answers are complete
[[nodiscard]] std::vector<Nic> read_nics(const HostFiles& files, const HostFacts& facts);

}  // namespace framewire::topology
