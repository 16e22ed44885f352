// Recorded hosts, good and bad: what the doctor concludes, and which probe says why.
#include <gtest/gtest.h>
#include <topology/diagnosis.hpp>
#include "diagnosis_parts.hpp"
#include "recorded_host.hpp"

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

TEST(TopologyHosts, SeveralRootComplexesOfOneSocket) {
  RecordedHost host;
  host.write("sys/devices/system/cpu/cpu32/topology/physical_package_id", "0\n");
  const Diagnosis diagnosis = diagnosis_of(host);
  const Pair& far = pair(diagnosis, "gpu0", "mlx5_1");
  EXPECT_EQ(far.route.relation, Relation::kNode);
  EXPECT_EQ(far.verdict, Verdict::kMissing);
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

TEST(TopologyHosts, WithoutPrivilegesAcsIsNotProven) {
  RecordedHost host;
  host.hide_capabilities();
  const Diagnosis diagnosis = diagnosis_of(host);
  EXPECT_EQ(probe(diagnosis, "acs").verdict, Verdict::kUnknown);
  EXPECT_EQ(pair(diagnosis, "gpu0", "mlx5_0").verdict, Verdict::kUnknown);
  EXPECT_EQ(diagnosis.gpudirect_rdma, Verdict::kUnknown);
}

TEST(TopologyHosts, DamagedCapabilitiesDoNotLoop) {
  RecordedHost host;
  std::string config(4096, '\0');
  // A capability that names itself as the next one.
  config[0x100] = 1;
  config[0x103] = 0x10;
  host.write("sys/bus/pci/devices/0000:02:00.0/config", config);
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

TEST(TopologyHosts, NoNic) {
  RecordedHost host;
  host.remove_nics();
  const Diagnosis diagnosis = diagnosis_of(host);
  EXPECT_EQ(probe(diagnosis, "nic").verdict, Verdict::kMissing);
  EXPECT_EQ(diagnosis.gpudirect_rdma, Verdict::kMissing);
  EXPECT_NE(diagnosis.conclusion.find("no RDMA network card"), std::string::npos);
  expect_complete(diagnosis);
}

TEST(TopologyHosts, NoGpu) {
  RecordedHost host;
  host.remove_gpus();
  const Diagnosis diagnosis = diagnosis_of(host);
  EXPECT_EQ(probe(diagnosis, "gpu").verdict, Verdict::kMissing);
  EXPECT_EQ(diagnosis.gpudirect_rdma, Verdict::kMissing);
  EXPECT_NE(diagnosis.conclusion.find("no NVIDIA GPU"), std::string::npos);
  expect_complete(diagnosis);
}

TEST(TopologyHosts, EmptyFolder) {
  RecordedHost host;
  host.remove("sys");
  host.remove("proc");
  host.remove("dev");
  const Diagnosis diagnosis = diagnosis_of(host);
  EXPECT_EQ(diagnosis.gpudirect_rdma, Verdict::kMissing);
  expect_complete(diagnosis);
}

TEST(TopologyHosts, NicWithoutRdmaDriver) {
  RecordedHost host;
  host.remove("sys/class/infiniband");
  const Diagnosis diagnosis = diagnosis_of(host);
  EXPECT_EQ(probe(diagnosis, "nic").verdict, Verdict::kMissing);
  EXPECT_TRUE(says(probe(diagnosis, "nic").evidence, "without RDMA: ib0 ib1"));
}

TEST(TopologyHosts, PortDown) {
  RecordedHost host;
  host.set_port_state(0, "1: DOWN\n");
  const Diagnosis diagnosis = diagnosis_of(host);
  EXPECT_EQ(probe(diagnosis, "nic_port", "mlx5_0").verdict, Verdict::kMissing);
  EXPECT_EQ(pair(diagnosis, "gpu0", "mlx5_0").verdict, Verdict::kMissing);
  // The other card still works with its own GPUs.
  EXPECT_EQ(pair(diagnosis, "gpu2", "mlx5_1").verdict, Verdict::kOk);
  EXPECT_EQ(diagnosis.gpudirect_rdma, Verdict::kOk);
}

TEST(TopologyHosts, EthernetWithoutRoutableGid) {
  RecordedHost host;
  host.write("sys/class/infiniband/mlx5_0/ports/1/link_layer", "Ethernet\n");
  EXPECT_EQ(probe(diagnosis_of(host), "nic_port", "mlx5_0").verdict, Verdict::kWarning);
  host.write("sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/1", "RoCE v2\n");
  EXPECT_EQ(probe(diagnosis_of(host), "nic_port", "mlx5_0").verdict, Verdict::kOk);
}

TEST(TopologyHosts, SoftwareNicIsNoWay) {
  RecordedHost host;
  host.remove_nics();
  host.write("sys/class/infiniband/rxe0/ports/1/state", "4: ACTIVE\n");
  const Diagnosis diagnosis = diagnosis_of(host);
  EXPECT_EQ(probe(diagnosis, "nic").verdict, Verdict::kOk);
  EXPECT_EQ(probe(diagnosis, "nic_hardware", "rxe0").verdict, Verdict::kMissing);
  EXPECT_EQ(diagnosis.gpudirect_rdma, Verdict::kMissing);
}

TEST(TopologyHosts, MigInstances) {
  RecordedHost host;
  host.write("proc/driver/nvidia/capabilities/gpu1/mig/gi7/access", "DeviceFileMode: 256\n");
  const Diagnosis diagnosis = diagnosis_of(host);
  EXPECT_EQ(probe(diagnosis, "mig", "gpu0").verdict, Verdict::kOk);
  EXPECT_EQ(probe(diagnosis, "mig", "gpu1").verdict, Verdict::kWarning);
  EXPECT_EQ(pair(diagnosis, "gpu0", "gpu1").path, Path::kStaged);
  EXPECT_EQ(pair(diagnosis, "gpu1", "mlx5_0").verdict, Verdict::kOk);
}

TEST(TopologyHosts, OldKernelAndDriver) {
  RecordedHost host;
  host.write("proc/sys/kernel/osrelease", "4.18.0-553.el8.x86_64\n");
  host.write("proc/driver/nvidia/version",
             "NVRM version: NVIDIA UNIX x86_64 Kernel Module  418.67  Sat Apr  6 2019\n");
  host.remove("sys/module/nvidia_peermem");
  const Diagnosis diagnosis = diagnosis_of(host);
  EXPECT_EQ(probe(diagnosis, "kernel").verdict, Verdict::kWarning);
  EXPECT_EQ(probe(diagnosis, "driver").verdict, Verdict::kWarning);
  EXPECT_EQ(probe(diagnosis, "dmabuf_kernel").verdict, Verdict::kMissing);
  EXPECT_EQ(probe(diagnosis, "dmabuf_driver").verdict, Verdict::kMissing);
  EXPECT_EQ(diagnosis.gpudirect_rdma, Verdict::kMissing);
  expect_complete(diagnosis);
}

TEST(TopologyHosts, GpuInOtherHands) {
  RecordedHost host;
  host.remove("sys/bus/pci/devices/0000:03:00.0/driver");
  host.remove("proc/driver/nvidia/gpus/0000:03:00.0");
  const Diagnosis diagnosis = diagnosis_of(host);
  EXPECT_EQ(probe(diagnosis, "gpu_driver", "gpu0").verdict, Verdict::kMissing);
  EXPECT_EQ(pair(diagnosis, "gpu0", "mlx5_0").verdict, Verdict::kMissing);
  EXPECT_EQ(pair(diagnosis, "gpu1", "mlx5_0").verdict, Verdict::kOk);
}

TEST(TopologyHosts, NarrowAndSlowLinks) {
  RecordedHost host;
  host.write("sys/bus/pci/devices/0000:03:00.0/current_link_speed", "2.5 GT/s PCIe\n");
  host.write("sys/bus/pci/devices/0000:04:00.0/current_link_width", "8\n");
  host.write("sys/bus/pci/devices/0000:05:00.0/current_link_speed", "16.0 GT/s PCIe\n");
  const Diagnosis diagnosis = diagnosis_of(host);
  EXPECT_EQ(probe(diagnosis, "pcie_link", "gpu0").verdict, Verdict::kOk);  // idle, perhaps
  EXPECT_EQ(probe(diagnosis, "pcie_link", "gpu1").verdict, Verdict::kWarning);
  EXPECT_EQ(probe(diagnosis, "pcie_link", "mlx5_0").verdict, Verdict::kWarning);
}

TEST(TopologyHosts, LimitsOfAContainer) {
  RecordedHost host;
  host.write("proc/self/limits", "Max locked memory         65536     65536     bytes\n");
  host.write("proc/self/mounts", "shm /dev/shm tmpfs rw,size=65536k 0 0\n");
  host.remove("dev/infiniband");
  const Diagnosis diagnosis = diagnosis_of(host);
  EXPECT_EQ(probe(diagnosis, "locked_memory").verdict, Verdict::kWarning);
  EXPECT_EQ(probe(diagnosis, "shared_memory").verdict, Verdict::kWarning);
  EXPECT_EQ(probe(diagnosis, "infiniband_access").verdict, Verdict::kMissing);
  EXPECT_EQ(diagnosis.gpudirect_rdma, Verdict::kMissing);
}

TEST(TopologyHosts, VirtualMachineHidesItsTree) {
  RecordedHost host;
  host.write("proc/cpuinfo", "flags\t\t: fpu hypervisor\n");
  EXPECT_EQ(probe(diagnosis_of(host), "virtual_machine").verdict, Verdict::kWarning);
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
