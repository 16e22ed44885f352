// The truth test: a card writes into memory of its own host, and what arrives is compared.
#pragma once

#include <optional>
#include <string>

namespace framewire::topology {

class Library;

struct LoopResult {
  std::optional<bool> works;  ///< nothing: it could not be tried
  std::string evidence;
};

/// Connects two queue pairs of one card to each other by its first port that is up, writes 4 KiB
/// from one buffer of host memory to another by RDMA, reads them back by RDMA into a third, and
/// compares. Takes at most about a second; nothing leaves the host.
/// @param verbs    libibverbs
/// @param context  of the open device, struct ibv_context
/// @param name     of the device, for its files below /sys/class/infiniband
[[nodiscard]] LoopResult try_loop(Library& verbs, void* context, const std::string& name);

}  // namespace framewire::topology
