#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <algorithm>
#include <cstring>
#include <service/source/address.hpp>
#include <span>

namespace framewire::service::source {
namespace {

struct V4Range {
  std::uint32_t prefix;
  unsigned bits;
  AddressClass meaning;
};

constexpr std::uint32_t v4(unsigned a, unsigned b, unsigned c, unsigned d) noexcept {
  return a << 24U | b << 16U | c << 8U | d;
}

// https://www.iana.org/assignments/iana-ipv4-special-registry; the first that matches counts.
constexpr V4Range kV4Ranges[] = {
    {v4(0, 0, 0, 0), 8, AddressClass::kUnspecified},
    {v4(10, 0, 0, 0), 8, AddressClass::kPrivate},
    {v4(100, 64, 0, 0), 10, AddressClass::kPrivate},
    {v4(127, 0, 0, 0), 8, AddressClass::kLoopback},
    {v4(169, 254, 0, 0), 16, AddressClass::kLinkLocal},
    {v4(172, 16, 0, 0), 12, AddressClass::kPrivate},
    {v4(192, 0, 0, 0), 24, AddressClass::kReserved},    // protocol assignments
    {v4(192, 0, 2, 0), 24, AddressClass::kReserved},    // documentation
    {v4(192, 88, 99, 0), 24, AddressClass::kReserved},  // relays of 6to4, deprecated
    {v4(192, 168, 0, 0), 16, AddressClass::kPrivate},
    {v4(198, 18, 0, 0), 15, AddressClass::kReserved},    // benchmarks
    {v4(198, 51, 100, 0), 24, AddressClass::kReserved},  // documentation
    {v4(203, 0, 113, 0), 24, AddressClass::kReserved},   // documentation
    {v4(224, 0, 0, 0), 4, AddressClass::kMulticast},
    {v4(255, 255, 255, 255), 32, AddressClass::kMulticast},
    {v4(240, 0, 0, 0), 4, AddressClass::kReserved},
};

AddressClass classify_v4(std::uint32_t address) noexcept {
  for (const V4Range& range : kV4Ranges) {
    const std::uint32_t mask = ~std::uint32_t{0} << (32 - range.bits);
    if ((address & mask) == range.prefix) return range.meaning;
  }
  return AddressClass::kPublic;
}

using Ipv6Bytes = std::array<std::uint8_t, 16>;

std::uint32_t v4_at(const Ipv6Bytes& bytes, std::size_t at) noexcept {
  return v4(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]);
}

bool begins(const Ipv6Bytes& bytes, std::initializer_list<std::uint8_t> with) noexcept {
  return std::equal(with.begin(), with.end(), bytes.begin());
}

bool zeros(const Ipv6Bytes& bytes, std::size_t from, std::size_t to) noexcept {
  return std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(from),
                     bytes.begin() + static_cast<std::ptrdiff_t>(to),
                     [](std::uint8_t byte) { return byte == 0; });
}

// The first of two that is not public.
AddressClass worse(AddressClass a, AddressClass b) noexcept {
  return a != AddressClass::kPublic ? a : b;
}

// 2000::/3, the only addresses that IANA has given out for use everywhere.
AddressClass classify_global(const Ipv6Bytes& bytes) noexcept {
  if (begins(bytes, {0x20, 0x01, 0x00, 0x00})) {  // Teredo, RFC 4380
    return worse(classify_v4(v4_at(bytes, 4)), classify_v4(~v4_at(bytes, 12)));
  }
  if (begins(bytes, {0x20, 0x01}) && bytes[2] < 2) return AddressClass::kReserved;  // 2001::/23
  if (begins(bytes, {0x20, 0x01, 0x0d, 0xb8})) return AddressClass::kReserved;
  if (begins(bytes, {0x3f, 0xff}) && bytes[2] < 0x10) return AddressClass::kReserved;  // /20
  if (begins(bytes, {0x20, 0x02})) return classify_v4(v4_at(bytes, 2));  // 6to4, RFC 3056
  return AddressClass::kPublic;
}

AddressClass classify_prefix(const Ipv6Bytes& bytes) noexcept {
  if (zeros(bytes, 0, 10) && bytes[10] == 0xff && bytes[11] == 0xff) {  // mapped
    return classify_v4(v4_at(bytes, 12));
  }
  if (zeros(bytes, 0, 12)) {
    if (zeros(bytes, 12, 16)) return AddressClass::kUnspecified;
    if (zeros(bytes, 12, 15) && bytes[15] == 1) return AddressClass::kLoopback;
    return classify_v4(v4_at(bytes, 12));  // IPv4-compatible, deprecated
  }
  if (begins(bytes, {0x00, 0x64, 0xff, 0x9b}) && zeros(bytes, 4, 12)) {  // NAT64, RFC 6052
    return classify_v4(v4_at(bytes, 12));
  }
  if (bytes[0] == 0xff) return AddressClass::kMulticast;
  if (bytes[0] == 0xfe && (bytes[1] & 0xc0U) == 0x80) return AddressClass::kLinkLocal;
  if ((bytes[0] & 0xfeU) == 0xfc) return AddressClass::kPrivate;
  if ((bytes[0] & 0xe0U) == 0x20) return classify_global(bytes);
  return AddressClass::kReserved;
}

}  // namespace

AddressClass classify(const IpAddress& address) noexcept {
  const Ipv6Bytes& bytes = address.bytes;
  if (!address.v6) return classify_v4(v4_at(bytes, 0));
  AddressClass meaning = classify_prefix(bytes);
  // ISATAP, RFC 5214: an interface identifier that any prefix may carry.
  if ((bytes[8] & 0xfcU) == 0 && bytes[9] == 0 && bytes[10] == 0x5e && bytes[11] == 0xfe) {
    meaning = worse(meaning, classify_v4(v4_at(bytes, 12)));
  }
  return meaning;
}

bool permits(const AddressPolicy& policy, const IpAddress& address) noexcept {
  switch (classify(address)) {
    case AddressClass::kPublic:
      return true;
    case AddressClass::kLoopback:
      return policy.allow_loopback;
    case AddressClass::kLinkLocal:
      return policy.allow_link_local;
    case AddressClass::kPrivate:
      return policy.allow_private;
    case AddressClass::kUnspecified:
    case AddressClass::kMulticast:
    case AddressClass::kReserved:
      break;
  }
  return false;
}

std::string describe_refusal(const IpAddress& address) {
  std::string_view why;
  switch (classify(address)) {
    case AddressClass::kLoopback:
      why = "is of this machine; accepted with --allow-loopback";
      break;
    case AddressClass::kLinkLocal:
      why = "is link-local; accepted with --allow-link-local";
      break;
    case AddressClass::kPrivate:
      why = "is of a private network; accepted with --allow-private";
      break;
    case AddressClass::kUnspecified:
      why = "is no host's; never accepted";
      break;
    case AddressClass::kMulticast:
      why = "is of a group (multicast); never accepted";
      break;
    case AddressClass::kReserved:
      why = "is reserved; never accepted";
      break;
    case AddressClass::kPublic:
      why = "is public";
      break;
  }
  return fmt::format("{} {}", to_string(address), why);
}

std::optional<IpAddress> address_of(const sockaddr* address, std::size_t length) noexcept {
  IpAddress result;
  if (address->sa_family == AF_INET && length >= sizeof(sockaddr_in)) {
    sockaddr_in in{};
    std::memcpy(&in, address, sizeof in);
    std::memcpy(result.bytes.data(), &in.sin_addr, 4);
    return result;
  }
  if (address->sa_family == AF_INET6 && length >= sizeof(sockaddr_in6)) {
    sockaddr_in6 in{};
    std::memcpy(&in, address, sizeof in);
    std::memcpy(result.bytes.data(), &in.sin6_addr, 16);
    result.v6 = true;
    return result;
  }
  return std::nullopt;
}

std::optional<IpAddress> parse_address(std::string_view text) {
  // inet_pton() reads to a NUL, and nothing that is longer than this.
  char buffer[INET6_ADDRSTRLEN] = {};
  if (text.size() >= sizeof buffer || text.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  std::copy(text.begin(), text.end(), buffer);
  IpAddress result;
  if (inet_pton(AF_INET, buffer, result.bytes.data()) == 1) return result;
  result.v6 = true;
  if (inet_pton(AF_INET6, buffer, result.bytes.data()) == 1) return result;
  return std::nullopt;
}

std::string to_string(const IpAddress& address) {
  char buffer[INET6_ADDRSTRLEN] = {};
  const char* text =
      inet_ntop(address.v6 ? AF_INET6 : AF_INET, address.bytes.data(), buffer, sizeof buffer);
  return text != nullptr ? text : "";
}

}  // namespace framewire::service::source
