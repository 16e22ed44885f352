// What libraries of the running host say. Each is loaded at run time: none is needed to build or to
// start the program, and one that is absent is a finding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace framewire::topology {

/// Whether and what a library answered.
struct LibraryAnswer {
  bool asked = false;    ///< false: a recording is being read, which no library knows about
  bool loaded = false;   ///< found, and has the functions needed
  bool working = false;  ///< and its initialisation succeeded
  std::string evidence;  ///< one line: name and version, or what went wrong
};

struct NvmlGpu {
  std::string address;  ///< as PciDevice::address
  std::string name;
  std::string uuid;
  std::uint64_t bar1_bytes = 0;
  std::uint64_t memory_bytes = 0;
  std::optional<bool> mig;  ///< nothing: this GPU has no such mode
  std::optional<int>
      compute_mode;    ///< 0 default, 1 exclusive thread, 2 prohibited, 3 exclusive process
  int capability = 0;  ///< compute capability ×10: 90 is 9.0
  int nvlinks_active = 0;
  int nvlinks = 0;  ///< links that the GPU has, active or not
};

/// What NVML says of one GPU's access to another.
struct NvmlPeer {
  std::optional<bool> read;
  std::optional<bool> write;
  std::optional<bool> nvlink;
};

struct NvmlFacts {
  LibraryAnswer library;
  std::string driver_version;
  std::vector<NvmlGpu> gpus;
  std::vector<std::vector<NvmlPeer>> peers;  ///< [from][to], indexed as gpus
};

struct CudaGpu {
  std::string address;
  std::optional<bool> gpudirect;           ///< CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED
  std::optional<bool> gpudirect_with_vmm;  ///< …_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED
  std::optional<int> writes_ordering;      ///< 0 none, 100 owner, 200 all devices
  std::optional<int> flush_options;        ///< bit 0: from the host, bit 1: by stream operations
  std::optional<bool> dmabuf;              ///< CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED
  std::optional<bool> integrated;          ///< shares the host's memory, as Jetson does
  std::optional<bool> dmabuf_exported;     ///< a real allocation was turned into a dma-buf
  std::string dmabuf_evidence;             ///< of that trial
};

struct CudaFacts {
  LibraryAnswer library;
  std::vector<CudaGpu> gpus;
  std::vector<std::vector<std::optional<bool>>> can_access;  ///< [from][to], indexed as gpus
};

struct VerbsDevice {
  std::string name;            ///< "mlx5_0"
  std::optional<bool> dmabuf;  ///< whether kernel and driver of this NIC register dma-bufs
  std::string evidence;
  std::optional<bool> loops =
      {};  ///< the card wrote into host memory of its own host; nothing: untried
  std::string loop_evidence = {};
};

struct VerbsFacts {
  LibraryAnswer library;
  std::vector<VerbsDevice> devices;
};

struct UcxFacts {
  LibraryAnswer library;
  std::string version;
  std::uint64_t memory_types = 0;  ///< bit set by ucs_memory_type_t: 0 host, 1 CUDA, 2 CUDA managed
  std::vector<std::string> transports;  ///< "rc_mlx5", "tcp", …; sorted, each once
};

struct GdrcopyFacts {
  LibraryAnswer library;
};

/// Loads NVIDIA's management library. May start the driver; takes up to seconds without a
/// persistence daemon. Not thread-safe against other users of NVML in this process.
[[nodiscard]] NvmlFacts ask_nvml();

/// Loads the CUDA driver, makes a context on each GPU for a moment, allocates 2 MiB there, asks for
/// it as a dma-buf, and frees all of it.
[[nodiscard]] CudaFacts ask_cuda();

/// Opens every RDMA device for a moment, and has it write to itself.
///
/// Source: ibv_reg_dmabuf_mr(3). A file descriptor of −1 is refused with EBADF where the kernel
/// knows dma-bufs, and with EOPNOTSUPP or EPROTONOSUPPORT where it does not.
[[nodiscard]] VerbsFacts ask_verbs();

/// Makes a UCX context for active messages for a moment.
[[nodiscard]] UcxFacts ask_ucx();

[[nodiscard]] GdrcopyFacts ask_gdrcopy();

}  // namespace framewire::topology
