// One end of a UCX connection before it is joined to the other.
#pragma once

#include <base/clock.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <span>
#include <string>
#include <transport/lifeline.hpp>
#include <transport/link.hpp>
#include <vector>

namespace framewire::transport::ucx {

/// Which of UCX's lanes may carry the data.
enum class Lanes : std::uint8_t {
  kTcp,    ///< TCP; UCX's own accepts writes to any address from whoever reaches its port
  kVerbs,  ///< RDMA, reliable connections only; the card checks keys, nothing is encrypted
};

/// Over kVerbs one end listens, at a port of the RDMA connection manager; elsewhere all the same.
enum class PortSide : std::uint8_t { kDials, kListens };

/// Memory of one device, that packets shall come from and go to without the host.
struct DirectWish {
  /// What is tried before it is promised; where that fails the host's memory is used as ever.
  enum class Proof : std::uint8_t {
    kCard,  ///< that UCX knows such memory, and that the card registers it: over kVerbs only
    kUcx,   ///< the first of these, for tests without a card: UCX itself copies
    kHost,  ///< nothing: for tests whose device's memory is the host's
  };
  DeviceMemory* devices = nullptr;
  int device = -1;
  Proof proof = Proof::kCard;
};

using transport::Lifeline;

/// A UCX context and worker of one connection's own, with UCP_FEATURE_AM and nothing else: no
/// handler exists that reads or writes where a peer says (docs/decisions/0010).
class Port {
 public:
  virtual ~Port() = default;
  /// What the peer must be told, over the control connection only: a key that authenticates packets
  /// to us, and where and how to reach us.
  [[nodiscard]] virtual std::vector<std::byte> blob() const = 0;
  /// Joins with the peer's blob. Once. Over kTcp and kVerbs it returns when both ends have met; the
  /// other end must be joining at the same time.
  /// @return invalid_input for no such blob; peer_lost; deadline
  [[nodiscard]] virtual Result<std::unique_ptr<Link>> join(std::span<const std::byte> peer_blob,
                                                           std::unique_ptr<Lifeline> lifeline,
                                                           base::Clock::time_point deadline) = 0;
};

/// @param device  kTcp: network device of UCX's naming ("eth0"); kVerbs: RDMA device and port
///                ("mlx5_0:1")
/// @param wish  a link that reads and writes that memory where it can, and says so in its path
/// @return unsupported without UCX, or where it has no such lanes; invalid_input where a device is
///         needed and not named, or has no address of IP; busy
[[nodiscard]] Result<std::unique_ptr<Port>> make_port(Lanes lanes, const std::string& device,
                                                      PortSide side = PortSide::kDials,
                                                      const DirectWish& wish = {});

}  // namespace framewire::transport::ucx
