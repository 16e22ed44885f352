#include <fmt/format.h>
#include <topology/checks.hpp>

namespace framewire::topology {
namespace {

// Twice the 256 MiB that boards have where large windows are off in the firmware.
constexpr std::uint64_t kSmallBar1 = 512 * kMiB;
constexpr int kPeermemDriver = 470;  // the first that brings nvidia_peermem

void check_driver(const HostFacts& facts, Probes& probes) {
  Probe& probe = add(probes, "driver", "NVIDIA driver");
  probe.required = true;
  probe.evidence = {facts.driver.cite()};
  if (facts.nvml.library.asked) probe.evidence.push_back(facts.nvml.library.evidence);
  const std::string version = facts.driver_version();
  if (version.empty()) {
    probe.verdict = Verdict::kMissing;
    probe.remedy = "install NVIDIA's driver 515 or later, with the open kernel modules";
    return;
  }
  const bool old = version_of(version) / 1000 < kPeermemDriver;
  probe.verdict = old ? Verdict::kWarning : Verdict::kOk;
  if (old) {
    probe.remedy = fmt::format(
        "driver {} is older than 470, the first that brings nvidia_peermem; install 515 or later",
        version);
  }
}

void check_nvml(const HostFacts& facts, Probes& probes) {
  Probe& probe = add(probes, "nvml", "NVIDIA management library");
  const LibraryAnswer& library = facts.nvml.library;
  if (!library.asked) {
    probe.verdict = Verdict::kNotApplicable;
    probe.evidence = {"not asked: a recording is read, and libraries know this host only"};
    return;
  }
  probe.evidence = {library.evidence};
  probe.verdict = library.working ? Verdict::kOk : Verdict::kMissing;
  if (!library.working) {
    probe.remedy =
        "install the driver's user-space libraries; in a container, run it with --gpus and the "
        "capability utility";
  }
}

void check_gpu_presence(const HostFacts& facts, Probes& probes) {
  Probe& probe = add(probes, "gpu", "NVIDIA GPU");
  probe.required = true;
  for (const Gpu& gpu : facts.gpus) {
    probe.evidence.push_back(
        fmt::format("/sys/bus/pci/devices/{}: {} {}", gpu.address, gpu.label(), gpu.name));
  }
  probe.verdict = facts.gpus.empty() ? Verdict::kMissing : Verdict::kOk;
  if (!facts.gpus.empty()) return;
  probe.evidence = {"/sys/bus/pci/devices: no device of vendor 0x10de and class 0x03"};
  probe.remedy = "no GPU to send from; frames in host memory go over RDMA or TCP all the same";
}

void check_bound(const Gpu& gpu, Probes& probes) {
  Probe& probe = add(probes, "gpu_driver", "GPU is run by the NVIDIA driver", gpu.label());
  probe.required = true;
  probe.verdict = gpu.bound_to_driver ? Verdict::kOk : Verdict::kMissing;
  probe.evidence = {fmt::format("/sys/bus/pci/devices/{}/driver: {}", gpu.address,
                                gpu.bound_to_driver ? "nvidia" : "not nvidia")};
  if (!gpu.bound_to_driver) {
    probe.remedy =
        "load the module nvidia (modprobe nvidia), and unbind nouveau or vfio-pci if they have it";
  }
}

void check_bar1(const Gpu& gpu, Probes& probes) {
  Probe& probe = add(probes, "bar1", "Window to GPU memory (BAR1)", gpu.label());
  probe.required = true;
  const std::string source =
      gpu.nvml ? "NVML" : fmt::format("/sys/bus/pci/devices/{}/resource", gpu.address);
  if (!gpu.bar1_bytes) {
    probe.evidence = {source + ": not there"};
    return;
  }
  probe.evidence = {fmt::format("{}: BAR1 of {} MiB", source, *gpu.bar1_bytes / kMiB)};
  if (gpu.memory_bytes != 0) {
    probe.evidence.push_back(fmt::format("NVML: {} MiB of memory", gpu.memory_bytes / kMiB));
  }
  if (*gpu.bar1_bytes == 0) {
    probe.verdict = Verdict::kMissing;
    probe.remedy = "the firmware gave it no address: turn on Above 4G Decoding there";
    return;
  }
  probe.verdict = *gpu.bar1_bytes > kSmallBar1 ? Verdict::kOk : Verdict::kWarning;
  if (probe.verdict == Verdict::kOk) return;
  probe.remedy =
      "only that much can be registered at a time: keep the pool of frames below it, or turn on "
      "Above 4G Decoding and Resizable BAR in the firmware";
}

void check_mig(const Gpu& gpu, Probes& probes) {
  Probe& probe = add(probes, "mig", "Multi-Instance GPU", gpu.label());
  if (!gpu.mig) {
    probe.evidence = {"neither NVML nor /proc/driver/nvidia says"};
    return;
  }
  probe.evidence = {gpu.mig_evidence};
  probe.verdict = *gpu.mig ? Verdict::kWarning : Verdict::kOk;
  if (!*gpu.mig) return;
  probe.remedy = fmt::format(
      "an instance has no peer access and no NVLink to other GPUs; nvidia-smi -i {} -mig 0 turns "
      "the mode off",
      gpu.index);
}

std::string_view ordering_name(int ordering) {
  return ordering >= 200 ? "all devices" : ordering >= 100 ? "owner" : "none";
}

void check_attributes(const HostFacts& facts, const Gpu& gpu, Probes& probes) {
  Probe& probe =
      add(probes, "gpudirect_attributes", "GPUDirect RDMA according to CUDA", gpu.label());
  const LibraryAnswer& library = facts.cuda.library;
  if (!library.asked) {
    probe.verdict = Verdict::kNotApplicable;
    probe.evidence = {"not asked: a recording is read, and libraries know this host only"};
    return;
  }
  probe.required = true;
  probe.evidence = {library.evidence};
  if (!gpu.cuda || !gpu.cuda->gpudirect) {
    probe.remedy = "make CUDA see this GPU: check CUDA_VISIBLE_DEVICES and the driver's libraries";
    return;
  }
  const CudaGpu& cuda = *gpu.cuda;
  probe.evidence.push_back(fmt::format(
      "GPU_DIRECT_RDMA_SUPPORTED {}, WITH_CUDA_VMM {}, writes ordering {}, flush options {}",
      *cuda.gpudirect, cuda.gpudirect_with_vmm.value_or(false),
      ordering_name(cuda.writes_ordering.value_or(0)), cuda.flush_options.value_or(0)));
  probe.verdict = *cuda.gpudirect ? Verdict::kOk : Verdict::kMissing;
  if (!*cuda.gpudirect) {
    probe.remedy = "this GPU or driver does not do GPUDirect RDMA; data-centre and RTX boards do";
    return;
  }
  // Writes that the owner's kernels may not see in order need a flush, and some way to ask for it.
  if (cuda.writes_ordering.value_or(0) < 100 && cuda.flush_options.value_or(0) == 0) {
    probe.verdict = Verdict::kWarning;
    probe.remedy = "writes arrive unordered and cannot be flushed: synchronise with a copy";
  }
}

}  // namespace

void check_gpus(const HostFacts& facts, Probes& probes) {
  check_gpu_presence(facts, probes);
  check_driver(facts, probes);
  check_nvml(facts, probes);
  for (const Gpu& gpu : facts.gpus) {
    check_bound(gpu, probes);
    check_attributes(facts, gpu, probes);
    check_bar1(gpu, probes);
    check_mig(gpu, probes);
  }
}

}  // namespace framewire::topology
