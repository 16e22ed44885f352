// Which addresses may be dialled: a pure judgement, made for every connection.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <service/source/settings.hpp>
#include <string>
#include <string_view>

struct sockaddr;

namespace framewire::service::source {

/// An IPv4 or IPv6 address in network order; IPv4 in the first four bytes. Zones have no place.
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};
  bool v6 = false;

  bool operator==(const IpAddress&) const = default;
};

/// What an address stands for (IANA's special-purpose registries). Of an IPv6 address that carries
/// an IPv4 address, what the latter stands for, unless the former is special itself.
enum class AddressClass : std::uint8_t {
  kPublic,
  kUnspecified,  ///< 0.0.0.0/8, ::
  kLoopback,
  kLinkLocal,
  kPrivate,    ///< RFC 1918, 100.64.0.0/10 (carriers' NAT), fc00::/7
  kMulticast,  ///< with 255.255.255.255
  kReserved,   ///< documentation, benchmarks, protocols' own, not assigned, deprecated
};

/// Unwraps IPv4-mapped, IPv4-compatible, NAT64 (64:ff9b::/96), 6to4, Teredo (server and client) and
/// ISATAP addresses. NAT64 for local use (64:ff9b:1::/48) is kReserved: where in it the IPv4
/// address lies depends on a prefix that only its network knows.
[[nodiscard]] AddressClass classify(const IpAddress& address) noexcept;

/// Whether the policy lets the address be dialled.
[[nodiscard]] bool permits(const AddressPolicy& policy, const IpAddress& address) noexcept;

/// What an address stands for, and what would let it be dialled: "127.0.0.1 is of this machine;
/// accepted with --allow-loopback". For addresses that a policy may refuse.
[[nodiscard]] std::string describe_refusal(const IpAddress& address);

/// The address of an AF_INET or AF_INET6 socket address; nothing for another family or length.
[[nodiscard]] std::optional<IpAddress> address_of(const sockaddr* address,
                                                  std::size_t length) noexcept;

/// Reads `a.b.c.d` in decimal without leading zeros, or IPv6 without brackets and zone.
[[nodiscard]] std::optional<IpAddress> parse_address(std::string_view text);

/// As inet_ntop() writes it.
[[nodiscard]] std::string to_string(const IpAddress& address);

}  // namespace framewire::service::source
