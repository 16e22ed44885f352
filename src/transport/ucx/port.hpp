// One end of a UCX connection before it is joined to the other.
#pragma once

#include <framewire/status.hpp>
#include <memory>
#include <span>
#include <string>
#include <vector>
#include "transport/link.hpp"

namespace framewire::transport::ucx {

/// Which of UCX's lanes may carry the data.
enum class Lanes : std::uint8_t {
  kShared,  ///< shared memory, between processes of one user on one machine
  kTcp,     ///< TCP; UCX's own accepts writes to any address from whoever reaches its port
};

/// Watches the authenticated control connection, whose end is the peer's end.
class Lifeline {
 public:
  virtual ~Lifeline() = default;
  /// @return peer_lost once it has broken
  [[nodiscard]] virtual Result<void> check() = 0;
};

/// A UCX context and worker of one connection's own, with UCP_FEATURE_AM and nothing else: no
/// handler exists that reads or writes where a peer says (docs/decisions/0010).
class Port {
 public:
  virtual ~Port() = default;
  /// What the peer must be told, over the control connection only: a key that authenticates packets
  /// to us, and our worker's address.
  [[nodiscard]] virtual std::vector<std::byte> blob() const = 0;
  /// Joins with the peer's blob. Once. @return invalid_input for no such blob; peer_lost
  [[nodiscard]] virtual Result<std::unique_ptr<Link>> join(std::span<const std::byte> peer_blob,
                                                           std::unique_ptr<Lifeline> lifeline) = 0;
};

/// @param device  network device of UCX's naming that TCP is bound to; empty for shared memory
/// @return unsupported without UCX, or where it has no such lanes; invalid_input for TCP without a
///         device; busy
[[nodiscard]] Result<std::unique_ptr<Port>> make_port(Lanes lanes, const std::string& device);

}  // namespace framewire::transport::ucx
