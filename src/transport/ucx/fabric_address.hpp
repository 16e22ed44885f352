// From the name of an RDMA device to the address of IP by which its connections are made.
#pragma once

#include <sys/socket.h>
#include <cstddef>
#include <framewire/status.hpp>
#include <span>
#include <string>
#include <vector>

namespace framewire::transport::ucx {

/// An address and port of IP.
struct FabricAddress {
  sockaddr_storage storage{};
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  [[nodiscard]] socklen_t bytes() const;
};

/// The address of the network interface that belongs to a device, port 0; IPv4 before IPv6.
/// @param device  "mlx5_0:1", or "mlx5_0" for port 1
/// @param root    where sysfs is mounted
/// @return invalid_input where there is no such device, saying which there are, or it has no
///         interface with an address
[[nodiscard]] Result<FabricAddress> address_of(const std::string& device,
                                               const std::string& root = "/sys");

/// For the greeting: family, port and address. Any bytes are safe to read. @return invalid_input
[[nodiscard]] std::vector<std::byte> encode(const FabricAddress& address);
[[nodiscard]] Result<FabricAddress> decode_address(std::span<const std::byte> bytes);

}  // namespace framewire::transport::ucx
