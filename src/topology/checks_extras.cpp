#include <fmt/format.h>
#include <algorithm>
#include <string_view>
#include <topology/checks.hpp>
#include <topology/mps_program.hpp>

namespace framewire::topology {
namespace {

constexpr int kMinMpsCapability = 35;  // compute capability 3.5
constexpr int kVolta = 70;
constexpr std::uint64_t kCudaMemory = 1u << 1;  // UCS_MEMORY_TYPE_CUDA

void not_asked(Probe& probe) {
  probe.verdict = Verdict::kNotApplicable;
  probe.evidence = {"not asked: a recording is read, and libraries know this host only"};
}

void check_nvlink(const HostFacts& facts, const Gpu& gpu, Probes& probes) {
  Probe& probe = add(probes, "nvlink", "NVLink", gpu.label());
  if (!facts.nvml.library.asked) return not_asked(probe);
  if (!gpu.nvml) {
    probe.evidence = {"NVML does not answer for this GPU"};
    return;
  }
  const NvmlGpu& nvml = *gpu.nvml;
  probe.evidence = {fmt::format("NVML: {} of {} links active", nvml.nvlinks_active, nvml.nvlinks)};
  if (nvml.nvlinks == 0 || (nvml.nvlinks_active == 0 && !gpu.mig.value_or(false))) {
    probe.verdict = Verdict::kNotApplicable;
    return;
  }
  const bool all = nvml.nvlinks_active == nvml.nvlinks;
  probe.verdict = all ? Verdict::kOk : Verdict::kWarning;
  if (!all) {
    probe.remedy =
        "some links are down: see nvidia-smi nvlink -s, and check the bridge, or the "
        "fabric manager where there are NVSwitches";
  }
}

void check_peer_access(const HostFacts& facts, Probes& probes) {
  Probe& probe = add(probes, "peer_access", "Peer access between GPUs");
  if (!facts.nvml.library.asked) return not_asked(probe);
  probe.verdict = Verdict::kNotApplicable;
  if (facts.gpus.size() < 2) {
    probe.evidence = {fmt::format("GPUs: {}", facts.gpus.size())};
    return;
  }
  for (const Gpu& from : facts.gpus) {
    for (const Gpu& to : facts.gpus) {
      if (from.index == to.index) continue;
      const auto can = can_access(facts, from, to);
      if (can && probe.verdict == Verdict::kNotApplicable) probe.verdict = Verdict::kOk;
      if (!can || *can) continue;
      probe.verdict = Verdict::kWarning;
      probe.evidence.push_back(
          fmt::format("the driver refuses {} access to {}", from.label(), to.label()));
    }
  }
  if (probe.verdict == Verdict::kNotApplicable) {
    probe.verdict = Verdict::kUnknown;
    probe.evidence = {"neither CUDA nor NVML could be asked"};
  } else if (probe.verdict == Verdict::kOk) {
    probe.evidence = {"the driver grants it in both directions between all GPUs"};
  } else {
    probe.remedy =
        "these copies go through host memory; MIG, GPUs of different kinds, ACS or sockets "
        "without a common PCIe switch are the usual causes";
  }
}

bool is_jetson(const HostFacts& facts) {
  if (facts.board.value && facts.board.value->find("Jetson") != std::string::npos) return true;
  return std::any_of(facts.gpus.begin(), facts.gpus.end(), [](const Gpu& gpu) {
    return gpu.cuda && gpu.cuda->integrated.value_or(false);
  });
}

// What a GPU's compute mode means for MPS. It is told, never set.
std::string_view meaning_of_mode(int mode) {
  switch (mode) {
    case 0:
      return "DEFAULT: MPS works; processes may also run beside its server";
    case 2:
      return "PROHIBITED: no process can use this GPU";
    case 3:
      return "EXCLUSIVE_PROCESS: nothing runs beside the MPS server, as NVIDIA recommends";
    default:
      return "EXCLUSIVE_THREAD: of old drivers";
  }
}

void cite_gpu(const Gpu& gpu, Probe& probe) {
  const NvmlGpu& nvml = *gpu.nvml;
  probe.evidence.push_back(fmt::format(
      "{}: compute capability {}.{}, {}", gpu.label(), nvml.capability / 10, nvml.capability % 10,
      nvml.compute_mode ? fmt::format("compute mode {} ({})", *nvml.compute_mode,
                                      meaning_of_mode(*nvml.compute_mode))
                        : "compute mode not known"));
  if (nvml.capability < kVolta) return;
  // Source: NVIDIA's guide to MPS, "Limitations"; the larger number with recent drivers.
  probe.evidence.push_back(
      fmt::format("{}: at most 48 client contexts at a time, 60 with recent drivers", gpu.label()));
}

void check_mps(const HostFacts& facts, Probes& probes) {
  Probe& probe = add(probes, "mps", "Multi-Process Service");
  const MpsFacts& mps = facts.mps;
  probe.evidence = {mps.program.empty()
                        ? fmt::format("{}: not in any folder where drivers put it", kMpsProgram)
                        : mps.program,
                    fmt::format("{}: {}", mps.pipe_directory,
                                mps.running        ? "a control daemon is running"
                                : mps.control_pipe ? "left behind by a daemon that is gone"
                                                   : "no daemon")};
  probe.verdict = Verdict::kNotApplicable;
  for (const Gpu& gpu : facts.gpus) {
    if (!gpu.nvml) continue;
    cite_gpu(gpu, probe);
    const bool able = gpu.nvml->capability >= kMinMpsCapability;
    if (!able && mps.running) probe.verdict = Verdict::kWarning;
  }
  if (is_jetson(facts)) probe.evidence.push_back("integrated GPU, as of Jetson boards");
  if (facts.gpus.empty()) return;
  if (!mps.running) {
    probe.remedy =
        mps.program.empty()
            ? "only if several processes share a GPU: install nvidia-cuda-mps-control, which comes "
              "with the driver (Debian: nvidia-cuda-mps), or mount it into the container"
            : "only if several processes share a GPU: framewire serve --mps on starts a daemon of "
              "its own; or start nvidia-cuda-mps-control -d as the user of the workers";
    return;
  }
  if (probe.verdict != Verdict::kWarning) probe.verdict = Verdict::kOk;
  if (mps.owner && *mps.owner != mps.user) {
    probe.verdict = Verdict::kWarning;
    probe.evidence.push_back(
        fmt::format("owner is user {}, this is user {}", *mps.owner, mps.user));
    probe.remedy = "run the workers as the daemon's user: it serves one user at a time";
  }
}

void check_gdrcopy(const HostFacts& facts, Probes& probes) {
  Probe& probe = add(probes, "gdrcopy", "GDRCopy");
  const bool device = facts.gdrdrv_usable;
  probe.evidence = {
      facts.gdrdrv.cite(),
      fmt::format("/dev/gdrdrv: {}", device ? "readable and writable" : "not usable")};
  const LibraryAnswer& library = facts.gdrcopy.library;
  if (library.asked) probe.evidence.push_back(library.evidence);
  const bool whole = device && (!library.asked || library.loaded);
  probe.verdict = whole ? Verdict::kOk : Verdict::kMissing;
  if (facts.gpus.empty()) probe.verdict = Verdict::kNotApplicable;
  if (probe.verdict == Verdict::kMissing) {
    probe.remedy =
        "optional: install gdrcopy (gdrdrv and libgdrapi); without it small messages "
        "between GPUs take some 20 µs longer";
  }
}

void check_ucx(const HostFacts& facts, Probes& probes) {
  Probe& probe = add(probes, "ucx", "UCX sees CUDA memory");
  const UcxFacts& ucx = facts.ucx;
  if (!ucx.library.asked) return not_asked(probe);
  probe.required = true;
  probe.evidence = {ucx.library.evidence};
  if (!ucx.library.working) {
    probe.verdict = Verdict::kMissing;
    probe.remedy = "install UCX 1.13 or later: libucx0, or one built with CUDA";
    return;
  }
  std::string transports;
  for (const std::string& name : ucx.transports) transports += " " + name;
  const bool cuda = (ucx.memory_types & kCudaMemory) != 0;
  probe.evidence.push_back(fmt::format("memory types {:#x}: CUDA {}; transports:{}",
                                       ucx.memory_types, cuda ? "yes" : "no", transports));
  probe.verdict = cuda                 ? Verdict::kOk
                  : facts.gpus.empty() ? Verdict::kNotApplicable
                                       : Verdict::kMissing;
  if (probe.verdict == Verdict::kMissing) {
    probe.remedy =
        "take a UCX that was built with CUDA and InfiniBand (DOCA-OFED's, or built with "
        "--with-cuda --with-verbs); distributions' packages have no CUDA";
  }
}

}  // namespace

void check_extras(const HostFacts& facts, Probes& probes) {
  for (const Gpu& gpu : facts.gpus) check_nvlink(facts, gpu, probes);
  check_peer_access(facts, probes);
  check_mps(facts, probes);
  check_gdrcopy(facts, probes);
  check_ucx(facts, probes);
}

}  // namespace framewire::topology
