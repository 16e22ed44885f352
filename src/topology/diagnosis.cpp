#include <fmt/format.h>
#include <algorithm>
#include <topology/checks.hpp>
#include <topology/diagnosis.hpp>
#include <utility>

namespace framewire::topology {
namespace {

int rank(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return 0;
    case Verdict::kWarning:
      return 1;
    case Verdict::kUnknown:
      return 2;
    default:
      return 3;
  }
}

// The pair that speaks for the host: any that works is enough; of several alike, the nearest.
const Pair* best_pair(const std::vector<Pair>& pairs) {
  const Pair* best = nullptr;
  for (const Pair& pair : pairs) {
    if (!pair.with_nic) continue;
    const auto order = [](const Pair& one) {
      return std::pair(rank(one.verdict), one.route.relation);
    };
    if (best == nullptr || order(pair) < order(*best)) best = &pair;
  }
  return best;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : "; ") + text;
  return all;
}

std::string missing_devices(const HostFacts& facts) {
  const bool rdma =
      std::any_of(facts.nics.begin(), facts.nics.end(), [](const Nic& nic) { return nic.rdma; });
  if (facts.gpus.empty() && !rdma) return "no NVIDIA GPU and no RDMA network card";
  return facts.gpus.empty() ? "no NVIDIA GPU" : "no RDMA network card";
}

void conclude(Diagnosis& diagnosis) {
  const Pair* best = best_pair(diagnosis.pairs);
  if (best == nullptr) {
    diagnosis.gpudirect_rdma = Verdict::kMissing;
    diagnosis.conclusion =
        fmt::format("GPUDirect RDMA is not possible: {}", missing_devices(diagnosis.facts));
    return;
  }
  const std::string who = fmt::format("between {} and {}", best->a, best->b);
  switch (best->verdict) {
    case Verdict::kOk:
    case Verdict::kWarning:
      diagnosis.gpudirect_rdma = Verdict::kOk;
      diagnosis.conclusion = fmt::format("GPUDirect RDMA would work {}{}{}", who,
                                         best->reasons.empty() ? "" : "; ", joined(best->reasons));
      break;
    case Verdict::kUnknown:
      diagnosis.gpudirect_rdma = Verdict::kUnknown;
      diagnosis.conclusion =
          fmt::format("GPUDirect RDMA is not proven to work {}: {}", who, joined(best->reasons));
      break;
    default:
      diagnosis.gpudirect_rdma = Verdict::kMissing;
      diagnosis.conclusion =
          fmt::format("GPUDirect RDMA would not work {}: {}", who, joined(best->reasons));
  }
}

}  // namespace

std::string_view to_string(Verdict verdict) noexcept {
  constexpr std::string_view kNames[] = {"ok", "warning", "missing", "unknown", "not applicable"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::string_view to_string(Path path) noexcept {
  constexpr std::string_view kNames[] = {"gpudirect", "nvlink", "p2p", "staged"};
  return kNames[static_cast<std::size_t>(path)];
}

Diagnosis diagnose(HostFacts facts) {
  Diagnosis diagnosis;
  diagnosis.facts = std::move(facts);
  check_host(diagnosis.facts, diagnosis.probes);
  check_gpus(diagnosis.facts, diagnosis.probes);
  check_nics(diagnosis.facts, diagnosis.probes);
  check_registration(diagnosis.facts, diagnosis.probes);
  check_fabric(diagnosis.facts, diagnosis.probes);
  check_extras(diagnosis.facts, diagnosis.probes);
  diagnosis.pairs = judge_pairs(diagnosis.facts, diagnosis.probes);
  conclude(diagnosis);
  return diagnosis;
}

}  // namespace framewire::topology
