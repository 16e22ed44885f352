// What a Sources asks of the network besides HTTP; tests put their own in its place.
#pragma once

#include <functional>
#include <service/source/address.hpp>
#include <store/environment.hpp>
#include <string>
#include <tl/expected.hpp>
#include <vector>

struct sockaddr_storage;

namespace framewire::service::source {

struct Network {
  /// The addresses of a host's name, or why there are none. Called on the resolver's threads,
  /// several at once; may block. Empty: getaddrinfo().
  std::function<tl::expected<std::vector<IpAddress>, std::string>(const std::string& host)> resolve;
  /// Called for every address that was judged and permitted, on the loop's thread, before a socket
  /// is made for it; may put another in its place. For tests alone, which dial nothing but
  /// loopback. Empty: the address is dialled.
  std::function<void(sockaddr_storage& address)> dial;
  /// Where what is not set of an object store is looked for. Empty: the process's environment.
  store::EnvironmentLookup environment = {};
};

/// getaddrinfo(), with a few seconds at most for the name servers.
[[nodiscard]] tl::expected<std::vector<IpAddress>, std::string> system_resolve(
    const std::string& host);

}  // namespace framewire::service::source
