#include <fmt/format.h>
#include <topology/checks.hpp>

namespace framewire::topology {
namespace {

constexpr int kOpenDriver = 515;  // the first with open kernel modules that export dma-bufs

void check_peer_memory(const HostFacts& facts, Probes& probes) {
  Probe& probe = add(probes, "peer_memory_module", "Peer-memory module");
  probe.evidence = {facts.peer_memory.cite(), facts.old_peer_memory.cite()};
  const bool loaded = facts.peer_memory.value || facts.old_peer_memory.value;
  probe.verdict = loaded ? Verdict::kOk : Verdict::kMissing;
  if (loaded) return;
  probe.remedy =
      "modprobe nvidia_peermem; if that says Invalid argument, the kernel's RDMA core lacks the "
      "peer-memory interface: install NVIDIA's DOCA-OFED, or use dma-buf instead";
}

// NICs are asked by trying to register. Where that was not possible, the kernel's version decides.
void check_dmabuf_kernel(const HostFacts& facts, Probes& probes) {
  Probe& probe = add(probes, "dmabuf_kernel", "Kernel registers dma-bufs with RDMA devices");
  bool yes = false, no = false;
  for (const Nic& nic : facts.nics) {
    if (!nic.verbs) continue;
    probe.evidence.push_back(fmt::format("{}: {}", nic.name, nic.verbs->evidence));
    yes = yes || nic.verbs->dmabuf.value_or(false);
    no = no || !nic.verbs->dmabuf.value_or(true);
  }
  if (yes || no) {
    probe.verdict = yes && no ? Verdict::kWarning : yes ? Verdict::kOk : Verdict::kMissing;
  } else {
    const int version = version_of(facts.kernel.value.value_or(""));
    probe.evidence.push_back(facts.kernel.cite() + " (by its version; no RDMA device was asked)");
    if (version == 0) return;
    probe.verdict = version >= kDmabufKernel ? Verdict::kOk : Verdict::kMissing;
  }
  if (probe.verdict == Verdict::kOk) return;
  probe.remedy =
      "needs Linux 5.12 or later, rdma-core 34 or later, and a card whose driver takes part "
      "(mlx5_ib, irdma, bnxt_re, efa)";
}

// Whether device memory could be exported on one GPU, which beats what its attribute promises.
std::optional<bool> exports_dmabuf(const Gpu& gpu) {
  if (!gpu.cuda) return std::nullopt;
  return gpu.cuda->dmabuf_exported ? gpu.cuda->dmabuf_exported : gpu.cuda->dmabuf;
}

void check_dmabuf_driver(const HostFacts& facts, Probes& probes) {
  Probe& probe = add(probes, "dmabuf_driver", "NVIDIA driver exports dma-bufs");
  bool yes = false, no = false;
  for (const Gpu& gpu : facts.gpus) {
    const auto exports = exports_dmabuf(gpu);
    if (!exports) continue;
    probe.evidence.push_back(fmt::format("{}: attribute DMA_BUF_SUPPORTED {}; {}", gpu.label(),
                                         gpu.cuda->dmabuf.value_or(false),
                                         gpu.cuda->dmabuf_evidence));
    (*exports ? yes : no) = true;
  }
  if (yes || no) {
    probe.verdict = yes && no ? Verdict::kWarning : yes ? Verdict::kOk : Verdict::kMissing;
  } else {
    probe.evidence.push_back(facts.driver.cite() + " (by its version; CUDA was not asked)");
    const auto open = facts.open_driver();
    if (open) {
      const bool recent = version_of(facts.driver_version()) / 1000 >= kOpenDriver;
      probe.verdict = *open && recent ? Verdict::kOk : Verdict::kMissing;
    } else if (facts.driver_version().empty()) {
      probe.verdict = Verdict::kMissing;
    }
  }
  if (probe.verdict == Verdict::kOk) return;
  probe.remedy =
      "install driver 515 or later with the open kernel modules (nvidia-open), CUDA 11.7 or later";
}

Verdict of(const Probes& probes, std::string_view id) {
  for (const Probe& probe : probes) {
    if (probe.id == id) return probe.verdict;
  }
  return Verdict::kUnknown;
}

bool good(Verdict verdict) { return verdict == Verdict::kOk || verdict == Verdict::kWarning; }

}  // namespace

void check_registration(const HostFacts& facts, Probes& probes) {
  check_peer_memory(facts, probes);
  check_dmabuf_kernel(facts, probes);
  check_dmabuf_driver(facts, probes);
  const Verdict module = of(probes, "peer_memory_module"), kernel = of(probes, "dmabuf_kernel"),
                driver = of(probes, "dmabuf_driver");
  Probe& probe = add(probes, "gpu_memory_registration", "GPU memory can be registered with a NIC");
  probe.required = true;
  probe.evidence = {
      fmt::format("peer-memory module: {}", to_string(module)),
      fmt::format("dma-buf: kernel {}, driver {}", to_string(kernel), to_string(driver))};
  const bool dmabuf = good(kernel) && good(driver);
  if (good(module) || dmabuf) {
    probe.verdict = Verdict::kOk;
  } else if (kernel == Verdict::kMissing || driver == Verdict::kMissing) {
    probe.verdict = Verdict::kMissing;
  }
  if (probe.verdict != Verdict::kOk) {
    probe.remedy =
        "either of two is enough: the peer-memory module, or dma-buf in kernel and driver";
  }
}

}  // namespace framewire::topology
