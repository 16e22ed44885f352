#include <fmt/format.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <base/errno_code.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <transport/ucx/fabric_address.hpp>

namespace framewire::transport::ucx {
namespace {

namespace fs = std::filesystem;

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

// Ethernet cards name the interface of each of their addresses; InfiniBand's hang on the same
// device of PCI.
std::set<std::string> interfaces_of(const fs::path& device, const std::string& port) {
  std::set<std::string> found;
  const fs::path attributes = device / "ports" / port / "gid_attrs" / "ndevs";
  for (const std::string& index : names_in(attributes)) {
    std::ifstream file(attributes / index);
    std::string name;
    // Most places are empty, and reading those fails.
    if (file >> name) found.insert(name);
  }
  return found.empty() ? names_in(device / "device" / "net") : found;
}

bool usable(const sockaddr& address) {
  if (address.sa_family == AF_INET) return true;
  if (address.sa_family != AF_INET6) return false;
  sockaddr_in6 six;
  std::memcpy(&six, &address, sizeof six);
  return !IN6_IS_ADDR_LINKLOCAL(&six.sin6_addr);
}

std::string listed(const std::set<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += " " + name;
  return all.empty() ? " none" : all;
}

}  // namespace

socklen_t FabricAddress::bytes() const {
  return storage.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

Result<FabricAddress> address_of(const std::string& device, const std::string& root) {
  const auto colon = device.find(':');
  const std::string name = device.substr(0, colon);
  const std::string port = colon == std::string::npos ? "1" : device.substr(colon + 1);
  const fs::path all = fs::path(root) / "class" / "infiniband";
  const auto devices = names_in(all);
  if (!devices.contains(name) || !names_in(all / name / "ports").contains(port)) {
    return fail(
        StatusCode::kInvalidInput,
        fmt::format("no RDMA device and port '{}'; devices here:{}", device, listed(devices)));
  }
  const auto interfaces = interfaces_of(all / name, port);
  ifaddrs* raw = nullptr;
  if (::getifaddrs(&raw) != 0) {
    const int error = errno;
    return fail(base::code_of_errno(error), "cannot list addresses of IP");
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> addresses(raw, ::freeifaddrs);
  FabricAddress found;
  for (const ifaddrs* one = raw; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || !interfaces.contains(one->ifa_name)) continue;
    if (!usable(*one->ifa_addr) || found.storage.ss_family == AF_INET) continue;
    if (found.storage.ss_family == AF_INET6 && one->ifa_addr->sa_family == AF_INET6) continue;
    std::memcpy(&found.storage, one->ifa_addr,
                one->ifa_addr->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
  }
  if (found.storage.ss_family != AF_UNSPEC) return found;
  return fail(StatusCode::kInvalidInput,
              fmt::format("RDMA connections are made by addresses of IP, and '{}' has none; its "
                          "network interfaces:{}",
                          device, listed(interfaces)));
}

std::vector<std::byte> encode(const FabricAddress& address) {
  std::vector<std::byte> bytes(address.bytes());
  std::memcpy(bytes.data(), &address.storage, bytes.size());
  return bytes;
}

Result<FabricAddress> decode_address(std::span<const std::byte> bytes) {
  FabricAddress address;
  if (bytes.size() >= sizeof(sockaddr_in) && bytes.size() <= sizeof(sockaddr_in6)) {
    std::memcpy(&address.storage, bytes.data(), bytes.size());
    const auto family = address.storage.ss_family;
    if ((family == AF_INET || family == AF_INET6) && bytes.size() == address.bytes()) {
      return address;
    }
  }
  return fail(StatusCode::kInvalidInput,
              fmt::format("the peer gives no address to dial, but {} bytes", bytes.size()));
}

}  // namespace framewire::transport::ucx
