// What NVML, CUDA, verbs and UCX add to the files: their answers are put into the facts by hand.
#include <gtest/gtest.h>
#include <tests/support/recorded_host.hpp>
#include <tests/unit/topology/diagnosis_parts.hpp>
#include <topology/diagnosis.hpp>

namespace framewire::topology {
namespace {

using test::pair;
using test::probe;
using test::RecordedHost;

// A good host whose libraries have all said yes.
HostFacts answered_facts() {
  const RecordedHost host;
  HostFacts facts = read_host(*HostFiles::open(host.root()));
  const LibraryAnswer yes{true, true, true, "it answers"};
  facts.nvml.library = facts.cuda.library = facts.verbs.library = facts.ucx.library = yes;
  facts.gdrcopy.library = yes;
  facts.ucx.memory_types = 0b11;
  const std::size_t count = facts.gpus.size();
  for (Gpu& gpu : facts.gpus) {
    NvmlGpu nvml;
    nvml.address = gpu.address;
    nvml.capability = 90;
    nvml.nvlinks = nvml.nvlinks_active = 18;
    facts.nvml.gpus.push_back(nvml);
    gpu.nvml = nvml;
    CudaGpu cuda;
    cuda.address = gpu.address;
    cuda.gpudirect = cuda.gpudirect_with_vmm = cuda.dmabuf = cuda.dmabuf_exported = true;
    cuda.writes_ordering = 200;
    cuda.flush_options = 1;
    facts.cuda.gpus.push_back(cuda);
    gpu.cuda = cuda;
  }
  facts.nvml.peers.assign(count, std::vector<NvmlPeer>(count, NvmlPeer{true, true, true}));
  facts.cuda.can_access.assign(count, std::vector<std::optional<bool>>(count, true));
  for (Nic& nic : facts.nics) {
    nic.verbs = VerbsDevice{nic.name, true, "Bad file descriptor"};
    facts.verbs.devices.push_back(*nic.verbs);
  }
  return facts;
}

TEST(TopologyLibraries, AllSayYes) {
  const Diagnosis diagnosis = diagnose(answered_facts());
  EXPECT_EQ(diagnosis.gpudirect_rdma, Verdict::kOk) << diagnosis.conclusion;
  for (const char* id :
       {"nvml", "verbs", "ucx", "peer_access", "gdrcopy", "dmabuf_kernel", "dmabuf_driver"}) {
    EXPECT_EQ(probe(diagnosis, id).verdict, Verdict::kOk) << id;
  }
  EXPECT_EQ(probe(diagnosis, "nvlink", "gpu3").verdict, Verdict::kOk);
  EXPECT_EQ(probe(diagnosis, "gpudirect_attributes", "gpu0").verdict, Verdict::kOk);
  // NVLink does not mind sockets.
  EXPECT_EQ(pair(diagnosis, "gpu0", "gpu3").path, Path::kNvlink);
  EXPECT_EQ(pair(diagnosis, "gpu0", "gpu3").verdict, Verdict::kOk);
}

TEST(TopologyLibraries, PeerAccessWithoutNvlink) {
  HostFacts facts = answered_facts();
  for (auto& row : facts.nvml.peers) row.assign(row.size(), NvmlPeer{true, true, false});
  Diagnosis diagnosis = diagnose(facts);
  EXPECT_EQ(pair(diagnosis, "gpu0", "gpu1").path, Path::kP2p);
  facts.cuda.can_access[1][0] = false;
  diagnosis = diagnose(facts);
  EXPECT_EQ(pair(diagnosis, "gpu0", "gpu1").path, Path::kStaged);
  EXPECT_EQ(pair(diagnosis, "gpu0", "gpu1").verdict, Verdict::kWarning);
  EXPECT_EQ(probe(diagnosis, "peer_access").verdict, Verdict::kWarning);
}

TEST(TopologyLibraries, NvmlAnswersWhereCudaDoesNot) {
  HostFacts facts = answered_facts();
  for (Gpu& gpu : facts.gpus) gpu.cuda.reset();
  EXPECT_EQ(pair(diagnose(facts), "gpu0", "gpu1").path, Path::kNvlink);
  facts.nvml.peers[0][1].write = false;
  EXPECT_EQ(pair(diagnose(facts), "gpu0", "gpu1").path, Path::kStaged);
}

TEST(TopologyLibraries, DriverWithoutGpudirect) {
  HostFacts facts = answered_facts();
  facts.gpus[0].cuda->gpudirect = false;
  const Diagnosis diagnosis = diagnose(facts);
  EXPECT_EQ(probe(diagnosis, "gpudirect_attributes", "gpu0").verdict, Verdict::kMissing);
  EXPECT_EQ(pair(diagnosis, "gpu0", "mlx5_0").verdict, Verdict::kMissing);
  EXPECT_EQ(pair(diagnosis, "gpu1", "mlx5_0").verdict, Verdict::kOk);
}

TEST(TopologyLibraries, WritesThatCannotBeFlushed) {
  HostFacts facts = answered_facts();
  facts.gpus[0].cuda->writes_ordering = 0;
  EXPECT_EQ(probe(diagnose(facts), "gpudirect_attributes", "gpu0").verdict, Verdict::kOk);
  facts.gpus[0].cuda->flush_options = 0;
  EXPECT_EQ(probe(diagnose(facts), "gpudirect_attributes", "gpu0").verdict, Verdict::kWarning);
}

TEST(TopologyLibraries, TrialBeatsVersionAndAttribute) {
  HostFacts facts = answered_facts();
  facts.peer_memory.value.reset();
  facts.gpus[0].cuda->dmabuf_exported = false;
  Diagnosis diagnosis = diagnose(facts);
  EXPECT_EQ(pair(diagnosis, "gpu0", "mlx5_0").verdict, Verdict::kMissing);
  EXPECT_EQ(pair(diagnosis, "gpu1", "mlx5_0").verdict, Verdict::kOk);
  facts.nics[0].verbs->dmabuf = false;
  diagnosis = diagnose(facts);
  EXPECT_EQ(pair(diagnosis, "gpu1", "mlx5_0").verdict, Verdict::kMissing);
  EXPECT_EQ(pair(diagnosis, "gpu2", "mlx5_1").verdict, Verdict::kOk);
  facts.nics[1].verbs->dmabuf = false;
  diagnosis = diagnose(facts);
  EXPECT_EQ(probe(diagnosis, "dmabuf_kernel").verdict, Verdict::kMissing);
  EXPECT_EQ(diagnosis.gpudirect_rdma, Verdict::kMissing);
}

TEST(TopologyLibraries, AbsentLibrariesAreFindings) {
  HostFacts facts = answered_facts();
  facts.verbs.library = {true, false, false, "libibverbs.so.1: not there"};
  Diagnosis diagnosis = diagnose(facts);
  EXPECT_EQ(probe(diagnosis, "verbs").verdict, Verdict::kMissing);
  EXPECT_EQ(diagnosis.gpudirect_rdma, Verdict::kMissing);
  facts = answered_facts();
  facts.ucx.memory_types = 0b1;
  diagnosis = diagnose(facts);
  EXPECT_EQ(probe(diagnosis, "ucx").verdict, Verdict::kMissing);
  EXPECT_EQ(diagnosis.gpudirect_rdma, Verdict::kMissing);
  facts = answered_facts();
  facts.nvml.library = {true, false, false, "libnvidia-ml.so.1: not there"};
  diagnosis = diagnose(facts);
  EXPECT_EQ(probe(diagnosis, "nvml").verdict, Verdict::kMissing);
  EXPECT_EQ(diagnosis.gpudirect_rdma, Verdict::kOk);
}

TEST(TopologyLibraries, NvlinksThatAreDown) {
  HostFacts facts = answered_facts();
  facts.gpus[0].nvml->nvlinks_active = 17;
  facts.gpus[1].nvml->nvlinks = facts.gpus[1].nvml->nvlinks_active = 0;
  const Diagnosis diagnosis = diagnose(facts);
  EXPECT_EQ(probe(diagnosis, "nvlink", "gpu0").verdict, Verdict::kWarning);
  EXPECT_EQ(probe(diagnosis, "nvlink", "gpu1").verdict, Verdict::kNotApplicable);
}

TEST(TopologyLibraries, OneRootComplexOfAVirtualMachineProvesNothing) {
  HostFacts facts = answered_facts();
  // As most hypervisors show it: every device by itself on the one root bus.
  for (auto& [address, device] : facts.pci) {
    device.parent.clear();
    device.root_bus = "pci0000:00";
  }
  EXPECT_EQ(pair(diagnose(facts), "gpu0", "mlx5_0").verdict, Verdict::kWarning);
  EXPECT_EQ(diagnose(facts).gpudirect_rdma, Verdict::kOk);
  facts.virtual_machine = true;
  EXPECT_EQ(pair(diagnose(facts), "gpu0", "mlx5_0").verdict, Verdict::kUnknown);
  EXPECT_EQ(diagnose(facts).gpudirect_rdma, Verdict::kUnknown);
}

TEST(TopologyLibraries, TheTruthTestOutranksWhatWasRead) {
  HostFacts facts = answered_facts();
  EXPECT_EQ(probe(diagnose(facts), "truth_test", "mlx5_0").verdict, Verdict::kUnknown);
  facts.nics[0].verbs->loops = true;
  EXPECT_EQ(probe(diagnose(facts), "truth_test", "mlx5_0").verdict, Verdict::kOk);
  facts.nics[0].verbs->loops = false;
  facts.nics[0].verbs->loop_evidence = "an RDMA write fails with status 10";
  const Diagnosis diagnosis = diagnose(facts);
  EXPECT_EQ(probe(diagnosis, "truth_test", "mlx5_0").verdict, Verdict::kMissing);
  EXPECT_EQ(pair(diagnosis, "gpu0", "mlx5_0").verdict, Verdict::kMissing);
}

// No hardware is needed to ask: what is absent must come back as an answer, not as a fault.
TEST(TopologyLibraries, AskingThisHostAlwaysAnswers) {
  EXPECT_FALSE(ask_verbs().library.evidence.empty());
  EXPECT_FALSE(ask_gdrcopy().library.evidence.empty());
  const NvmlFacts nvml = ask_nvml();
  EXPECT_TRUE(nvml.library.asked);
  EXPECT_FALSE(nvml.library.evidence.empty());
  EXPECT_EQ(nvml.peers.size(), nvml.gpus.size());
}

}  // namespace
}  // namespace framewire::topology
