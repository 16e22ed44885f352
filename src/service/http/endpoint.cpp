#include <arpa/inet.h>
#include <netinet/in.h>
#include <base/options_values.hpp>
#include <base/unix_address.hpp>
#include <service/http/endpoint.hpp>

namespace framewire::service::http {

std::optional<Endpoint> parse_endpoint(std::string_view text) {
  constexpr std::string_view kTls = "tls:";
  constexpr std::string_view kUnix = "unix:";
  Endpoint endpoint;
  if (text.starts_with(kTls)) {
    endpoint.tls = true;
    text.remove_prefix(kTls.size());
  }
  if (text.starts_with(kUnix)) {
    endpoint.unix_path = text.substr(kUnix.size());
    if (!base::unix_address(endpoint.unix_path)) return std::nullopt;
    return endpoint;
  }
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  if (!options::parse_integer<std::uint16_t>(text.substr(colon + 1), 0, 65'535, endpoint.port)) {
    return std::nullopt;
  }
  std::string_view address = text.substr(0, colon);
  in6_addr parsed{};
  const bool bracketed = address.starts_with('[') && address.ends_with(']');
  if (bracketed) address = address.substr(1, address.size() - 2);
  endpoint.address = address.empty() && !bracketed ? "127.0.0.1" : std::string(address);
  const int family = bracketed ? AF_INET6 : AF_INET;
  if (::inet_pton(family, endpoint.address.c_str(), &parsed) != 1) return std::nullopt;
  return endpoint;
}

}  // namespace framewire::service::http
