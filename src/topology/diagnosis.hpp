// What a host's facts mean: probes with verdicts, and the path to expect between each two devices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <topology/host_facts.hpp>
#include <vector>

namespace framewire::topology {

enum class Verdict : std::uint8_t { kOk, kWarning, kMissing, kUnknown, kNotApplicable };

/// "ok", "warning", "missing", "unknown", "not applicable".
[[nodiscard]] std::string_view to_string(Verdict verdict) noexcept;

/// One thing that was looked at.
struct Probe {
  std::string id;       ///< stable word: "peer_memory_module"; docs/doctor.md lists them
  std::string subject;  ///< "gpu0", "mlx5_0"; "" for the host
  std::string title;
  Verdict verdict = Verdict::kUnknown;
  bool required = false;  ///< without it no GPUDirect RDMA; applies to the subject's pairs
  std::vector<std::string> evidence;  ///< what was read, and where
  std::string remedy;                 ///< what to do; "" where nothing need be done
};

/// How bytes are expected to travel between two devices.
enum class Path : std::uint8_t { kGpudirect, kNvlink, kP2p, kStaged };

/// "gpudirect", "nvlink", "p2p", "staged".
[[nodiscard]] std::string_view to_string(Path path) noexcept;

struct Pair {
  std::string a;  ///< label of a GPU
  std::string b;  ///< label of a GPU, or name of a NIC
  bool with_nic = false;
  Route route;
  Path path = Path::kStaged;
  Verdict verdict = Verdict::kUnknown;
  std::vector<std::string> reasons;  ///< what stands against more than that, or is not proven
};

struct Diagnosis {
  HostFacts facts;
  std::vector<Probe> probes;
  std::vector<Pair> pairs;  ///< GPU with GPU, then each GPU with each RDMA device

  /// kOk: works, by all that was read; kMissing: it cannot; kUnknown: nothing stands against it,
  /// but something needed could not be read.
  Verdict gpudirect_rdma = Verdict::kUnknown;
  std::string conclusion;  ///< one line
};

/// Pure: the same facts give the same diagnosis. Thread-safe, never fails.
[[nodiscard]] Diagnosis diagnose(HostFacts facts);

}  // namespace framewire::topology
