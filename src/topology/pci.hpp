// The part of the PCIe tree that matters: GPUs, network cards, and the bridges above them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <topology/host_files.hpp>
#include <vector>

namespace framewire::topology {

/// Current and best values as the kernel gives them; "" and 0 where it gives none.
struct PcieLink {
  std::string speed;      ///< "32.0 GT/s PCIe"
  std::string max_speed;  ///< what the device itself can do
  int width = 0;          ///< lanes
  int max_width = 0;
};

/// Access Control Services of a bridge; PCI Express Base Specification, clause 7.7.11.
struct Acs {
  enum class State : std::uint8_t { kUnreadable, kAbsent, kPresent };
  State state = State::kUnreadable;
  std::uint16_t control = 0;  ///< only where present

  /// Sends requests between two devices below the bridge up to the root complex, or blocks them:
  /// P2P Request Redirect, P2P Completion Redirect or P2P Egress Control is on.
  [[nodiscard]] bool redirects() const {
    return state == State::kPresent && (control & ((1u << 2) | (1u << 3) | (1u << 5))) != 0;
  }
};

struct PciDevice {
  std::string address;   ///< "0000:3b:00.0"
  std::string parent;    ///< address of the bridge above; "" on a root bus
  std::string root_bus;  ///< "pci0000:3a": one host bridge, that is, one root complex
  std::uint32_t vendor = 0;
  std::uint32_t device = 0;
  std::uint32_t class_code = 0;  ///< 24 bits: class, subclass, programming interface
  int numa_node = -1;            ///< −1: the firmware says none
  std::string driver;
  PcieLink link;
  Acs acs;                 ///< read of bridges only
  std::string iommu_type;  ///< "identity", "DMA", "DMA-FQ", …; "" in no group
  /// Size of the second base address register, of GPUs; 0: it has no address; nothing: unreadable.
  std::optional<std::uint64_t> second_bar_bytes;

  [[nodiscard]] bool is_bridge() const { return class_code >> 8 == 0x0604; }
  [[nodiscard]] bool is_nvidia_gpu() const { return vendor == 0x10de && class_code >> 16 == 0x03; }
  [[nodiscard]] bool is_network() const {
    return class_code >> 16 == 0x02 || class_code >> 8 == 0x0c06;
  }
};

using PciTree = std::map<std::string, PciDevice, std::less<>>;  ///< by address

/// Reads GPUs, network controllers and InfiniBand controllers, and all bridges above these.
///
/// Source: Documentation/ABI/testing/sysfs-bus-pci of Linux. The kernel's tree of folders is the
/// tree of buses, so an entry's real path names all bridges above it. Never fails: what cannot be
/// read stays at its default.
[[nodiscard]] PciTree read_pci(const HostFiles& files);

/// How near two devices are, in the words that nvidia-smi and NCCL use.
enum class Relation : std::uint8_t {
  kPix,      ///< below one switch
  kPxb,      ///< below several switches, without passing a root complex
  kPhb,      ///< one root complex between them
  kNode,     ///< several root complexes of one socket
  kSys,      ///< across sockets
  kUnknown,  ///< one of them is no PCI device
};

/// "PIX", …
[[nodiscard]] std::string_view to_string(Relation relation) noexcept;
/// "below one PCIe switch", …
[[nodiscard]] std::string_view explain(Relation relation) noexcept;

struct Route {
  Relation relation = Relation::kUnknown;
  std::vector<std::string> bridges;  ///< from one device up, over the common bridge, to the other
};

/// @param socket_of_node  socket of each NUMA node
[[nodiscard]] Route route_between(const PciTree& tree, const std::string& a, const std::string& b,
                                  const std::map<int, int>& socket_of_node);

/// @param socket_of_node  socket of each NUMA node
/// @return −1: unknown
[[nodiscard]] int socket_of(const PciDevice& device, const std::map<int, int>& socket_of_node);

/// Addresses of all bridges above a device, nearest first.
[[nodiscard]] std::vector<std::string> bridges_above(const PciTree& tree,
                                                     const std::string& address);

}  // namespace framewire::topology
