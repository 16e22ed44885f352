// Ports over RDMA, which meet through the RDMA connection manager.
#pragma once

#include <memory>
#include <string>
#include <transport/ucx/api.hpp>
#include <transport/ucx/port.hpp>
#include <transport/ucx/siphash.hpp>

namespace framewire::transport::ucx {

/// UCX's own addresses would need a datagram lane to meet over, which strangers could talk to (and
/// which times out over soft-RoCE in 1.13.1). Instead the listening side waits at a port of the
/// device's address, until join() has met the peer and no longer. Whoever asks for a connection
/// there must show a random number that the peer has sent us over the control connection; others
/// are rejected before a queue pair is theirs. join() accepts one connection only.
///
/// @return as make_port()
[[nodiscard]] Result<std::unique_ptr<Port>> make_fabric_port(const Api& api,
                                                             const std::string& device,
                                                             PortSide side, const MacKey& key,
                                                             const DirectWish& wish);

}  // namespace framewire::transport::ucx
