// The links that one side has to offer on one connection.
#pragma once

#include <memory>
#include <string>
#include <transport/session/session.hpp>
#include <transport/shared/local_peer.hpp>
#include <transport/wire/control.hpp>
#include <transport/wire/stream.hpp>
#include <vector>

namespace framewire::transport {

/// A link that could be, prepared so far that the peer can be told how to reach it.
class Candidate {
 public:
  virtual ~Candidate() = default;
  [[nodiscard]] virtual wire::LinkOffer offer() const = 0;
  /// Makes it a link. Takes the control stream over, whose end is the connection's.
  /// A link that has to be met over its own fabric is met here, by the deadline.
  /// @param local  the peer, where it has proved to be a process of our user on this machine; not
  ///               null for links that are within_host()
  [[nodiscard]] virtual Result<std::unique_ptr<Link>> join(
      const wire::LinkOffer& peer, const shared::LocalPeer* local,
      std::unique_ptr<wire::ByteStream> control, base::Clock::time_point deadline) = 0;
};

/// The names that the options allow. UCX's TCP receiver writes to whatever address a packet names,
/// from anyone who reaches its port (UCX, src/uct/tcp/tcp_ep.c, uct_tcp_ep_handle_put_req; read,
/// not probed), so that lane is for those who have said insecure.
/// @return invalid_input for unknown names; denied for ucx-tcp without insecure
[[nodiscard]] Result<std::vector<std::string>> allowed_links(const SessionOptions& options);

/// Whether a link so called is for two processes of one user on one machine, who have to have
/// proved that they are.
[[nodiscard]] bool within_host(const std::string& name);

/// @param server  the side that accepts connections, also a link's own
/// @return unsupported where this machine cannot; whatever starting it fails with
[[nodiscard]] Result<std::unique_ptr<Candidate>> make_candidate(const std::string& name,
                                                                const SessionOptions& options,
                                                                bool server);

}  // namespace framewire::transport
