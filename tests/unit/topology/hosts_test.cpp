// Recorded hosts, good and bad: what the doctor concludes, and which probe says why.
#include <gtest/gtest.h>
#include <functional>
#include <string>
#include <tests/support/recorded_host.hpp>
#include <tests/unit/topology/diagnosis_parts.hpp>
#include <topology/diagnosis.hpp>
#include <utility>
#include <vector>

namespace framewire::topology {
namespace {

using test::pair;
using test::probe;
using test::RecordedHost;

HostFacts facts_of(const RecordedHost& host) {
  const auto files = HostFiles::open(host.root());
  EXPECT_TRUE(files.has_value());
  return read_host(*files);
}

Diagnosis diagnosis_of(const RecordedHost& host) { return diagnose(facts_of(host)); }

Diagnosis diagnosis_of(const RecordedHost& host, const std::string& gpu, const std::string& nic) {
  HostFacts facts = facts_of(host);
  EXPECT_TRUE(keep_only(facts, gpu, nic).has_value());
  return diagnose(std::move(facts));
}

bool says(const std::vector<std::string>& lines, std::string_view part) {
  for (const std::string& line : lines) {
    if (line.find(part) != std::string::npos) return true;
  }
  return false;
}

// Verdict, evidence and remedy go together: whatever is not ok says what to do, and all say why.
void expect_complete(const Diagnosis& diagnosis) {
  for (const Probe& one : diagnosis.probes) {
    EXPECT_FALSE(one.evidence.empty()) << one.id;
    EXPECT_FALSE(one.title.empty()) << one.id;
    if (one.verdict == Verdict::kMissing || one.verdict == Verdict::kWarning) {
      EXPECT_FALSE(one.remedy.empty()) << one.id;
    }
    if (one.verdict == Verdict::kOk) {
      EXPECT_EQ(one.remedy, "") << one.id;
    }
  }
}

TEST(TopologyHosts, GoodHostWorks) {
  const RecordedHost host;
  const Diagnosis diagnosis = diagnosis_of(host);
  EXPECT_EQ(diagnosis.gpudirect_rdma, Verdict::kOk) << diagnosis.conclusion;
  ASSERT_EQ(diagnosis.facts.gpus.size(), 4u);
  ASSERT_EQ(diagnosis.facts.nics.size(), 2u);
  EXPECT_EQ(diagnosis.facts.gpus[0].name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(diagnosis.facts.driver_version(), "550.54.15");
  EXPECT_EQ(diagnosis.facts.nics[0].interfaces, std::vector<std::string>{"ib0"});
  for (const char* id : {"gpu", "driver", "nic", "gpu_memory_registration", "iommu", "acs",
                         "peer_memory_module", "dmabuf_kernel", "dmabuf_driver", "kernel",
                         "locked_memory", "shared_memory", "gdrcopy", "infiniband_access"}) {
    EXPECT_EQ(probe(diagnosis, id).verdict, Verdict::kOk) << id;
  }
  expect_complete(diagnosis);
}

TEST(TopologyHosts, GoodHostsPairs) {
  const RecordedHost host;
  const Diagnosis diagnosis = diagnosis_of(host);
  const Pair& near = pair(diagnosis, "gpu1", "mlx5_0");
  EXPECT_EQ(near.route.relation, Relation::kPix);
  EXPECT_EQ(near.path, Path::kGpudirect);
  EXPECT_EQ(near.verdict, Verdict::kOk);
  EXPECT_EQ(near.route.bridges,
            (std::vector<std::string>{"0000:02:01.0", "0000:01:00.0", "0000:02:02.0"}));
  const Pair& far = pair(diagnosis, "gpu1", "mlx5_1");
  EXPECT_EQ(far.route.relation, Relation::kSys);
  EXPECT_EQ(far.path, Path::kStaged);
  EXPECT_EQ(far.verdict, Verdict::kMissing);
  EXPECT_EQ(pair(diagnosis, "gpu0", "gpu1").path, Path::kP2p);
  EXPECT_EQ(pair(diagnosis, "gpu0", "gpu2").path, Path::kStaged);
  EXPECT_EQ(diagnosis.pairs.size(), 6u + 8u);
}

TEST(TopologyHosts, GpuAndNicUnderDifferentSockets) {
  RecordedHost host;
  const Diagnosis chosen = diagnosis_of(host, "0", "mlx5_1");
  EXPECT_EQ(chosen.gpudirect_rdma, Verdict::kMissing);
  EXPECT_NE(chosen.conclusion.find("across sockets"), std::string::npos) << chosen.conclusion;
  host.remove("sys/bus/pci/devices/0000:83:00.0");
  host.remove("sys/bus/pci/devices/0000:84:00.0");
  host.remove_nic(0);
  EXPECT_EQ(diagnosis_of(host).gpudirect_rdma, Verdict::kMissing);
}

TEST(TopologyHosts, NeitherPeerMemoryModuleNorDmabuf) {
  RecordedHost host;
  host.remove("sys/module/nvidia_peermem");
  // The open modules export dma-bufs, so the host still works.
  Diagnosis diagnosis = diagnosis_of(host);
  EXPECT_EQ(probe(diagnosis, "peer_memory_module").verdict, Verdict::kMissing);
  EXPECT_EQ(diagnosis.gpudirect_rdma, Verdict::kOk);
  host.write("proc/driver/nvidia/version",
             "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Release Build\n");
  diagnosis = diagnosis_of(host);
  EXPECT_EQ(probe(diagnosis, "dmabuf_driver").verdict, Verdict::kMissing);
  EXPECT_EQ(probe(diagnosis, "gpu_memory_registration").verdict, Verdict::kMissing);
  EXPECT_EQ(diagnosis.gpudirect_rdma, Verdict::kMissing);
  host.write("sys/kernel/mm/memory_peers/nv_mem/version", "1.3\n");
  EXPECT_EQ(diagnosis_of(host).gpudirect_rdma, Verdict::kOk);
  expect_complete(diagnosis);
}

TEST(TopologyHosts, AcsRedirectsAtTheSwitch) {
  RecordedHost host;
  host.set_acs(0x001d);
  const Diagnosis diagnosis = diagnosis_of(host);
  EXPECT_EQ(probe(diagnosis, "acs").verdict, Verdict::kMissing);
  EXPECT_TRUE(says(probe(diagnosis, "acs").evidence, "0000:02:02.0/config: ACS control 0x001d"));
  EXPECT_EQ(diagnosis.gpudirect_rdma, Verdict::kMissing);
  EXPECT_TRUE(says(pair(diagnosis, "gpu0", "mlx5_0").reasons, "ACS of 0000:02:00.0"));
  EXPECT_EQ(pair(diagnosis, "gpu0", "gpu1").verdict, Verdict::kWarning);
  // Source validation alone sends nothing another way.
  host.set_acs(0x0001);
  EXPECT_EQ(diagnosis_of(host).gpudirect_rdma, Verdict::kOk);
}

TEST(TopologyHosts, TranslatingIommu) {
  RecordedHost host;
  host.set_iommu_type("DMA-FQ");
  const Diagnosis diagnosis = diagnosis_of(host);
  EXPECT_EQ(probe(diagnosis, "iommu").verdict, Verdict::kMissing);
  EXPECT_TRUE(says(probe(diagnosis, "iommu").evidence, "iommu_group/type: DMA-FQ"));
  EXPECT_EQ(diagnosis.gpudirect_rdma, Verdict::kMissing);
  host.set_iommu_type("identity");
  EXPECT_EQ(diagnosis_of(host).gpudirect_rdma, Verdict::kOk);
}

TEST(TopologyHosts, IommuGroupsOfOldKernelsHaveNoType) {
  RecordedHost host;
  host.set_iommu_type("");
  EXPECT_EQ(probe(diagnosis_of(host), "iommu").verdict, Verdict::kOk);  // iommu=pt is set
  host.write("proc/cmdline", "quiet password=secret\n");
  const Diagnosis diagnosis = diagnosis_of(host);
  EXPECT_EQ(probe(diagnosis, "iommu").verdict, Verdict::kUnknown);
  EXPECT_FALSE(says(probe(diagnosis, "iommu").evidence, "secret"));
}

TEST(TopologyHosts, SmallBar1) {
  RecordedHost host;
  host.set_bar1(256 << 20);
  Diagnosis diagnosis = diagnosis_of(host);
  EXPECT_EQ(probe(diagnosis, "bar1", "gpu0").verdict, Verdict::kWarning);
  EXPECT_TRUE(says(probe(diagnosis, "bar1", "gpu0").evidence, "256 MiB"));
  EXPECT_EQ(diagnosis.gpudirect_rdma, Verdict::kOk);
  host.set_bar1(0);
  diagnosis = diagnosis_of(host);
  EXPECT_EQ(probe(diagnosis, "bar1", "gpu0").verdict, Verdict::kMissing);
  EXPECT_EQ(diagnosis.gpudirect_rdma, Verdict::kMissing);
}

TEST(TopologyHosts, HopperHasWiderRegisters) {
  RecordedHost host;
  host.write("sys/bus/pci/devices/0000:03:00.0/resource",
             "0x0000104002000000 0x0000104002ffffff 0x000000000014220c\n"
             "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
             "0x0000100000000000 0x0000103fffffffff 0x000000000014220c\n"
             "0x0000000000000000 0x0000000000000000 0x0000000000000000\n");
  host.remove("sys/bus/pci/devices/0000:04:00.0/resource");
  const Diagnosis diagnosis = diagnosis_of(host);
  EXPECT_EQ(diagnosis.facts.gpus[0].bar1_bytes, std::uint64_t{256} << 30);
  EXPECT_EQ(probe(diagnosis, "bar1", "gpu1").verdict, Verdict::kUnknown);
}

TEST(TopologyHosts, EthernetWithoutRoutableGid) {
  RecordedHost host;
  host.write("sys/class/infiniband/mlx5_0/ports/1/link_layer", "Ethernet\n");
  EXPECT_EQ(probe(diagnosis_of(host), "nic_port", "mlx5_0").verdict, Verdict::kWarning);
  host.write("sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/1", "RoCE v2\n");
  EXPECT_EQ(probe(diagnosis_of(host), "nic_port", "mlx5_0").verdict, Verdict::kOk);
}

/// A host that differs from the good one in a single way, and what the doctor makes of it.
struct OddHost {
  struct Found {
    std::string id;
    Verdict verdict;
    std::string subject = "";
    std::string evidence = "";  ///< part of it
  };
  struct Way {
    std::string a, b;
    Verdict verdict;
  };
  std::string name;
  std::function<void(RecordedHost&)> change;
  std::vector<Found> probes = {};
  std::vector<Way> pairs = {};
  Verdict gpudirect = Verdict::kMissing;
  std::string conclusion = "";  ///< part of it
};

class TopologyOddHosts : public testing::TestWithParam<OddHost> {};

TEST_P(TopologyOddHosts, AreToldByTheirProbes) {
  RecordedHost host;
  GetParam().change(host);
  const Diagnosis diagnosis = diagnosis_of(host);
  EXPECT_EQ(diagnosis.gpudirect_rdma, GetParam().gpudirect) << diagnosis.conclusion;
  EXPECT_NE(diagnosis.conclusion.find(GetParam().conclusion), std::string::npos)
      << diagnosis.conclusion;
  for (const auto& [id, verdict, subject, evidence] : GetParam().probes) {
    const auto& found = probe(diagnosis, id, subject);
    EXPECT_EQ(found.verdict, verdict) << id << ' ' << subject;
    EXPECT_TRUE(evidence.empty() || says(found.evidence, evidence)) << id;
  }
  for (const auto& [a, b, verdict] : GetParam().pairs) {
    EXPECT_EQ(pair(diagnosis, a, b).verdict, verdict) << a << ' ' << b;
  }
  expect_complete(diagnosis);
}

constexpr auto kOk = Verdict::kOk;
constexpr auto kMissing = Verdict::kMissing;
constexpr auto kWarning = Verdict::kWarning;
constexpr auto kUnknown = Verdict::kUnknown;

/// Writes files, by pairs of path and contents.
auto with(std::vector<std::pair<std::string, std::string>> files) {
  return [=](RecordedHost& host) {
    for (const auto& [path, contents] : files) host.write(path, contents);
  };
}

auto without(std::vector<std::string> paths) {
  return [=](RecordedHost& host) {
    for (const auto& path : paths) host.remove(path);
  };
}

// A capability that names itself as the next one.
std::string looping_capabilities() {
  std::string config(4096, '\0');
  config[0x100] = 1;
  config[0x103] = 0x10;
  return config;
}

std::vector<OddHost> odd_hosts() {
  const std::string devices = "sys/bus/pci/devices/";
  const std::string one_package = "sys/devices/system/cpu/cpu32/topology/physical_package_id";
  const std::string mig = "proc/driver/nvidia/capabilities/gpu1/mig/gi7/access";
  const auto software_nic = [](RecordedHost& host) {
    host.remove_nics();
    host.write("sys/class/infiniband/rxe0/ports/1/state", "4: ACTIVE\n");
  };
  const auto old = [](RecordedHost& host) {
    host.write("proc/sys/kernel/osrelease", "4.18.0-553.el8.x86_64\n");
    host.write("proc/driver/nvidia/version",
               "NVRM version: NVIDIA UNIX x86_64 Kernel Module  418.67  Sat Apr  6 2019\n");
    host.remove("sys/module/nvidia_peermem");
  };
  const auto container = [](RecordedHost& host) {
    host.write("proc/self/limits", "Max locked memory         65536     65536     bytes\n");
    host.write("proc/self/mounts", "shm /dev/shm tmpfs rw,size=65536k 0 0\n");
    host.remove("dev/infiniband");
  };
  return {
      {"SeveralRootComplexesOfOneSocket",
       with({{one_package, "0\n"}}),
       {},
       {{"gpu0", "mlx5_1", kMissing}},
       kOk},
      {"WithoutPrivileges",
       [](auto& host) { host.hide_capabilities(); },
       {{"acs", kUnknown}},
       {{"gpu0", "mlx5_0", kUnknown}},
       kUnknown},
      {"DamagedCapabilities",
       with({{devices + "0000:02:00.0/config", looping_capabilities()}}),
       {},
       {},
       kOk},
      {"NoNic",
       [](auto& host) { host.remove_nics(); },
       {{"nic", kMissing}},
       {},
       kMissing,
       "no RDMA network card"},
      {"NoGpu",
       [](auto& host) { host.remove_gpus(); },
       {{"gpu", kMissing}},
       {},
       kMissing,
       "no NVIDIA GPU"},
      {"Nothing", without({"sys", "proc", "dev"})},
      {"NicWithoutRdmaDriver",
       without({"sys/class/infiniband"}),
       {{"nic", kMissing, "", "without RDMA: ib0 ib1"}}},
      // The other card still works with its own GPUs.
      {"PortDown",
       [](auto& host) { host.set_port_state(0, "1: DOWN\n"); },
       {{"nic_port", kMissing, "mlx5_0"}},
       {{"gpu0", "mlx5_0", kMissing}, {"gpu2", "mlx5_1", kOk}},
       kOk},
      {"SoftwareNic", software_nic, {{"nic", kOk}, {"nic_hardware", kMissing, "rxe0"}}},
      {"MigInstances",
       with({{mig, "DeviceFileMode: 256\n"}}),
       {{"mig", kOk, "gpu0"}, {"mig", kWarning, "gpu1"}},
       {{"gpu1", "mlx5_0", kOk}},
       kOk},
      {"OldKernelAndDriver",
       old,
       {{"kernel", kWarning},
        {"driver", kWarning},
        {"dmabuf_kernel", kMissing},
        {"dmabuf_driver", kMissing}}},
      {"GpuInOtherHands",
       without({devices + "0000:03:00.0/driver", "proc/driver/nvidia/gpus/0000:03:00.0"}),
       {{"gpu_driver", kMissing, "gpu0"}},
       {{"gpu0", "mlx5_0", kMissing}, {"gpu1", "mlx5_0", kOk}},
       kOk},
      // A GPU's link may be slow because it is idle.
      {"NarrowAndSlowLinks",
       with({{devices + "0000:03:00.0/current_link_speed", "2.5 GT/s PCIe\n"},
             {devices + "0000:04:00.0/current_link_width", "8\n"},
             {devices + "0000:05:00.0/current_link_speed", "16.0 GT/s PCIe\n"}}),
       {{"pcie_link", kOk, "gpu0"},
        {"pcie_link", kWarning, "gpu1"},
        {"pcie_link", kWarning, "mlx5_0"}},
       {},
       kOk},
      {"LimitsOfAContainer",
       container,
       {{"locked_memory", kWarning}, {"shared_memory", kWarning}, {"infiniband_access", kMissing}}},
      {"VirtualMachine",
       with({{"proc/cpuinfo", "flags\t\t: fpu hypervisor\n"}}),
       {{"virtual_machine", kWarning}},
       {},
       kOk},
  };
}

INSTANTIATE_TEST_SUITE_P(, TopologyOddHosts, testing::ValuesIn(odd_hosts()),
                         [](const auto& test) { return test.param.name; });

TEST(TopologyHosts, PathsOfOddHosts) {
  RecordedHost one_socket;
  one_socket.write("sys/devices/system/cpu/cpu32/topology/physical_package_id", "0\n");
  EXPECT_EQ(pair(diagnosis_of(one_socket), "gpu0", "mlx5_1").route.relation, Relation::kNode);
  RecordedHost with_mig;
  with_mig.write("proc/driver/nvidia/capabilities/gpu1/mig/gi7/access", "DeviceFileMode: 256\n");
  EXPECT_EQ(pair(diagnosis_of(with_mig), "gpu0", "gpu1").path, Path::kStaged);
}

TEST(TopologyHosts, MpsIsExplained) {
  RecordedHost host;
  const auto evidence_of = [](const HostFacts& facts) {
    std::string all;
    const Diagnosis diagnosis = diagnose(facts);
    for (const std::string& line : probe(diagnosis, "mps").evidence) all += line + "\n";
    return all;
  };
  EXPECT_NE(evidence_of(facts_of(host)).find("not in any folder"), std::string::npos);
  host.write("usr/local/nvidia/bin/nvidia-cuda-mps-control", "");
  HostFacts facts = facts_of(host);
  EXPECT_EQ(facts.mps.program, "/usr/local/nvidia/bin/nvidia-cuda-mps-control");
  for (const auto& [mode, word] :
       {std::pair(0, "DEFAULT"), std::pair(3, "EXCLUSIVE_PROCESS"), std::pair(2, "PROHIBITED")}) {
    NvmlGpu nvml;
    nvml.capability = 90;
    nvml.compute_mode = mode;
    facts.gpus.at(0).nvml = nvml;
    const std::string evidence = evidence_of(facts);
    EXPECT_NE(evidence.find(word), std::string::npos) << evidence;
    EXPECT_NE(evidence.find("at most 48 client contexts"), std::string::npos) << evidence;
  }
}

TEST(TopologyHosts, MpsOfAnotherUser) {
  RecordedHost host;
  EXPECT_EQ(probe(diagnosis_of(host), "mps").verdict, Verdict::kNotApplicable);
  host.write("tmp/nvidia-mps/nvidia-cuda-mps-control.pid", "4711\n");
  host.write("proc/4711/stat", "4711\n");
  HostFacts facts = facts_of(host);
  EXPECT_EQ(probe(diagnose(facts), "mps").verdict, Verdict::kOk);
  facts.mps.owner = facts.mps.user + 1;
  EXPECT_EQ(probe(diagnose(facts), "mps").verdict, Verdict::kWarning);
}

TEST(TopologyHosts, DevicesAreChosenByAnyOfTheirNames) {
  const RecordedHost host;
  EXPECT_EQ(diagnosis_of(host, "0000:84:00.0", "ib1").gpudirect_rdma, Verdict::kOk);
  EXPECT_EQ(diagnosis_of(host, "3", "0000:85:00.0").pairs.size(), 1u);
  HostFacts facts = facts_of(host);
  const auto gpu = keep_only(facts, "7", "");
  ASSERT_FALSE(gpu.has_value());
  EXPECT_EQ(gpu.error().message(),
            "found '7'; this host has: 0 (0000:03:00.0) 1 (0000:04:00.0) 2 (0000:83:00.0) 3 "
            "(0000:84:00.0)");
  facts = facts_of(host);
  const auto nic = keep_only(facts, "", "eth0");
  ASSERT_FALSE(nic.has_value());
  EXPECT_EQ(nic.error().code(), StatusCode::kInvalidInput);
}

TEST(TopologyHosts, LinksOutOfTheRecordingAreNotFollowed) {
  RecordedHost host;
  host.remove("proc/sys/kernel/osrelease");
  std::filesystem::create_symlink("/proc/sys/kernel/osrelease",
                                  host.root() + "/proc/sys/kernel/osrelease");
  EXPECT_FALSE(facts_of(host).kernel.value.has_value());
  EXPECT_FALSE(HostFiles::open(host.root() + "/nothing").has_value());
}

}  // namespace
}  // namespace framewire::topology
