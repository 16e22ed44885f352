#include <fmt/format.h>
#include <cstdlib>
#include <topology/checks.hpp>

namespace framewire::topology {
namespace {

constexpr std::uint64_t kGiB = 1 << 30;
// Enough for RDMA queues and bounce buffers of some peers. Frames in GPU memory do not count
// against this limit.
constexpr std::uint64_t kEnoughLocked = kGiB;
constexpr std::uint64_t kEnoughShm = kGiB;

void check_kernel(const HostFacts& facts, Probes& probes) {
  Probe& probe = add(probes, "kernel", "Linux kernel");
  probe.evidence = {facts.kernel.cite()};
  const int version = version_of(facts.kernel.value.value_or(""));
  if (version == 0) return;
  probe.verdict = version >= kDmabufKernel ? Verdict::kOk : Verdict::kWarning;
  if (version >= kDmabufKernel) return;
  probe.remedy =
      "dma-buf registration of GPU memory needs Linux 5.12 or later; before that only the "
      "peer-memory module remains";
}

void check_virtual_machine(const HostFacts& facts, Probes& probes) {
  Probe& probe = add(probes, "virtual_machine", "Physical machine");
  probe.evidence = {fmt::format("/proc/cpuinfo: {}", facts.virtual_machine
                                                         ? "flag hypervisor is set"
                                                         : "no flag hypervisor")};
  probe.verdict = facts.virtual_machine ? Verdict::kWarning : Verdict::kOk;
  if (!facts.virtual_machine) return;
  probe.remedy =
      "the PCIe tree of a virtual machine need not be the physical one; ask whoever runs it which "
      "GPUs and NICs share a switch, and believe a measurement only";
}

// "Max locked memory   8388608   8388608   bytes": the soft limit counts.
std::optional<std::uint64_t> locked_bytes(const std::string& line) {
  const std::size_t value =
      line.find_first_not_of(' ', std::string_view("Max locked memory").size());
  if (value == std::string::npos) return std::nullopt;
  if (line.compare(value, 9, "unlimited") == 0) return UINT64_MAX;
  return std::strtoull(line.c_str() + value, nullptr, 10);
}

void check_locked_memory(const HostFacts& facts, Probes& probes) {
  Probe& probe = add(probes, "locked_memory", "Limit of locked memory");
  probe.evidence = {facts.limits.cite()};
  const auto bytes = locked_bytes(facts.limits.value.value_or(""));
  if (!bytes) return;
  probe.verdict = *bytes >= kEnoughLocked ? Verdict::kOk : Verdict::kWarning;
  if (probe.verdict == Verdict::kOk) return;
  probe.remedy =
      "raise it to unlimited: memlock in /etc/security/limits.conf, LimitMEMLOCK=infinity of a "
      "systemd unit, --ulimit memlock=-1 of a container";
}

// "shm /dev/shm tmpfs rw,size=65536k 0 0"; without a size it is half of the memory.
std::uint64_t shm_bytes(const HostFacts& facts) {
  const std::string& line = *facts.shm_mount.value;
  const std::size_t at = line.find("size=");
  if (at == std::string::npos) return facts.memory_bytes / 2;
  char* unit = nullptr;
  const std::uint64_t number = std::strtoull(line.c_str() + at + 5, &unit, 10);
  if (*unit == 'k') return number << 10;
  if (*unit == 'm') return number << 20;
  if (*unit == 'g') return number << 30;
  return number;
}

void check_shm(const HostFacts& facts, Probes& probes) {
  Probe& probe = add(probes, "shared_memory", "Size of /dev/shm");
  probe.evidence = {facts.shm_mount.cite()};
  probe.verdict = Verdict::kMissing;
  probe.remedy = "mount a tmpfs at /dev/shm: processes of one host exchange frames through it";
  if (!facts.shm_mount.value) return;
  const std::uint64_t bytes = shm_bytes(facts);
  probe.evidence.push_back(fmt::format("{} MiB", bytes / kMiB));
  probe.verdict = bytes >= kEnoughShm ? Verdict::kOk : Verdict::kWarning;
  probe.remedy = bytes >= kEnoughShm
                     ? ""
                     : "make it 1 GiB or more: mount -o remount,size=2g /dev/shm, or --shm-size=2g "
                       "of a container";
}

}  // namespace

void check_host(const HostFacts& facts, Probes& probes) {
  check_kernel(facts, probes);
  check_virtual_machine(facts, probes);
  check_locked_memory(facts, probes);
  check_shm(facts, probes);
}

}  // namespace framewire::topology
