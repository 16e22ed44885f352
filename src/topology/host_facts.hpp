// Everything the doctor knows about a host, before any judgement.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <topology/host_files.hpp>
#include <topology/library_facts.hpp>
#include <topology/pci.hpp>
#include <vector>

namespace framewire::topology {

struct Gpu {
  int index = 0;        ///< in the order of PCI addresses, as nvidia-smi counts
  std::string address;  ///< in HostFacts::pci
  std::string name;     ///< "NVIDIA H100 80GB HBM3"; "" where nobody says
  std::string uuid;
  bool bound_to_driver = false;  ///< the nvidia driver has it
  /// The window through which other devices reach its memory; 0: it has no address.
  std::optional<std::uint64_t> bar1_bytes;
  std::uint64_t memory_bytes = 0;  ///< 0: unknown
  std::optional<bool> mig;
  std::string mig_evidence;
  std::optional<NvmlGpu> nvml;
  std::optional<CudaGpu> cuda;

  [[nodiscard]] std::string label() const { return "gpu" + std::to_string(index); }
};

struct NicPort {
  int number = 1;
  std::string path;                    ///< "/sys/class/infiniband/mlx5_0/ports/1"
  std::string state;                   ///< "4: ACTIVE"
  std::string rate;                    ///< "400 Gb/sec (4X NDR)"
  std::string link_layer;              ///< "InfiniBand" or "Ethernet"
  std::vector<std::string> gid_types;  ///< "RoCE v2", …; each once

  [[nodiscard]] bool active() const { return state.starts_with("4:"); }
};

struct Nic {
  std::string name;     ///< of the RDMA device, or of the network interface where there is none
  std::string address;  ///< in HostFacts::pci; "" for software devices
  std::vector<std::string> interfaces;  ///< "eth0", …
  bool rdma = false;
  std::vector<NicPort> ports;
  std::optional<VerbsDevice> verbs;
};

/// MPS of this host, seen from its pipe folder.
struct MpsFacts {
  std::string program;  ///< nvidia-cuda-mps-control; "" where no usual folder has it
  std::string pipe_directory;
  bool control_pipe = false;
  bool running = false;  ///< the process that the folder names lives
  std::optional<unsigned> owner;
  unsigned user = 0;  ///< who asks
};

struct HostFacts {
  std::string root;
  bool live = false;
  Reading kernel;           ///< release
  Reading command_line;     ///< of the kernel
  Reading driver;           ///< the first line of NVIDIA's version file
  Reading peer_memory;      ///< nvidia_peermem
  Reading old_peer_memory;  ///< nv_mem, its predecessor
  Reading gdrdrv;
  Reading limits;                  ///< "Max locked memory", of this process
  Reading shm_mount;               ///< line of /dev/shm in the table of mounts
  Reading board;                   ///< what a device tree calls the machine
  std::uint64_t memory_bytes = 0;  ///< of the host; 0: unknown
  bool virtual_machine = false;
  std::vector<std::string> iommus;              ///< names in /sys/class/iommu
  std::vector<std::string> infiniband_devices;  ///< /dev/infiniband/uverbs…
  bool infiniband_usable = false;               ///< this process may open the first of them
  bool gdrdrv_usable = false;
  std::map<int, int> socket_of_node;
  std::string processor;
  PciTree pci;
  std::vector<Gpu> gpus;
  std::vector<Nic> nics;
  MpsFacts mps;
  NvmlFacts nvml;
  CudaFacts cuda;
  VerbsFacts verbs;
  UcxFacts ucx;
  GdrcopyFacts gdrcopy;

  /// "535.54.03"; "" where nobody says.
  [[nodiscard]] std::string driver_version() const;
  /// Whether NVIDIA's open kernel modules are loaded; nothing: unknown.
  [[nodiscard]] std::optional<bool> open_driver() const;
};

/// Reads the files, and where they are the running host's, asks the libraries too. Never fails:
/// what cannot be read stays unknown. Takes as long as starting NVIDIA's driver, up to seconds.
[[nodiscard]] HostFacts read_host(const HostFiles& files);

/// Keeps one GPU, one NIC, or one of each.
/// @param gpu  index or PCI address; "" keeps all
/// @param nic  RDMA device, network interface or PCI address; "" keeps all
/// @return invalid_input, saying what there is, where none answers to that name
[[nodiscard]] Result<void> keep_only(HostFacts& facts, const std::string& gpu,
                                     const std::string& nic);

/// The version at the beginning of the text as major × 1000 + minor: 5012 is 5.12; 0 if there is
/// none.
[[nodiscard]] int version_of(const std::string& text);

}  // namespace framewire::topology
