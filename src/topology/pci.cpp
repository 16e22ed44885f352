#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <sstream>
#include <topology/pci.hpp>

namespace framewire::topology {
namespace {

constexpr std::string_view kDevices = "/sys/bus/pci/devices";

// "0000:3b:00.0"; domains of more than four digits occur behind VMD controllers.
bool is_address(std::string_view name) {
  const std::size_t colon = name.find(':');
  return colon != std::string_view::npos && colon >= 4 && name.size() == colon + 8 &&
         name[colon + 3] == ':' && name[colon + 6] == '.';
}

std::uint32_t hexadecimal(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  std::uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

int decimal(std::string_view text, int otherwise) {
  int value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::uint32_t little_endian(const std::vector<std::uint8_t>& bytes, std::size_t offset) {
  return bytes[offset] | bytes[offset + 1] << 8 | bytes[offset + 2] << 16 |
         static_cast<std::uint32_t>(bytes[offset + 3]) << 24;
}

// Walks the extended capabilities, which begin at 256. Without privileges the kernel shows 64
// bytes.
Acs read_acs(const std::vector<std::uint8_t>& config) {
  constexpr std::uint32_t kAcsId = 0x000d;
  Acs acs;
  if (config.size() < 260) return acs;
  acs.state = Acs::State::kAbsent;
  std::size_t offset = 256;
  // Each takes 4 bytes at least, so more steps than these mean a loop.
  for (int steps = 0; steps < 960 && offset >= 256 && offset + 8 <= config.size(); ++steps) {
    const std::uint32_t header = little_endian(config, offset);
    if ((header & 0xffff) == kAcsId) {
      acs.state = Acs::State::kPresent;
      acs.control = static_cast<std::uint16_t>(little_endian(config, offset + 4) >> 16);
      return acs;
    }
    offset = header >> 20;
  }
  return acs;
}

// Size of the second base address register. The file has six lines of first address, last address
// and flags. A 64-bit register takes two lines, so the place of the second depends on the first: on
// GPUs before Hopper the first has 32 bits, since Hopper 64.
std::optional<std::uint64_t> read_second_bar(const Reading& resource) {
  constexpr std::uint64_t kIs64Bits = 0x0010'0000;  // IORESOURCE_MEM_64 of Linux
  if (!resource.value) return std::nullopt;
  std::istringstream lines(*resource.value);
  const auto read_line = [&](std::uint64_t& bytes, std::uint64_t& flags) {
    std::uint64_t first = 0, last = 0;
    lines >> std::hex >> first >> last >> flags;
    bytes = last > first ? last - first + 1 : 0;
  };
  std::uint64_t bytes = 0, flags = 0;
  read_line(bytes, flags);
  if ((flags & kIs64Bits) != 0) read_line(bytes, flags);
  read_line(bytes, flags);
  if (!lines) return std::nullopt;
  return bytes;
}

PciDevice read_device(const HostFiles& files, const std::string& folder) {
  PciDevice device;
  device.vendor = hexadecimal(files.text(folder + "/vendor"));
  device.device = hexadecimal(files.text(folder + "/device"));
  device.class_code = hexadecimal(files.text(folder + "/class"));
  device.numa_node = decimal(files.text(folder + "/numa_node"), -1);
  const std::string driver = files.resolve(folder + "/driver");
  device.driver = driver.substr(driver.rfind('/') + 1);
  device.link = {files.text(folder + "/current_link_speed"), files.text(folder + "/max_link_speed"),
                 decimal(files.text(folder + "/current_link_width"), 0),
                 decimal(files.text(folder + "/max_link_width"), 0)};
  device.iommu_type = files.text(folder + "/iommu_group/type");
  // A group of an old kernel has no type.
  if (device.iommu_type.empty() && files.exists(folder + "/iommu_group")) {
    device.iommu_type = "unnamed";
  }
  if (device.is_nvidia_gpu()) {
    device.second_bar_bytes = read_second_bar(files.read(folder + "/resource"));
  }
  if (device.is_bridge()) device.acs = read_acs(files.bytes(folder + "/config"));
  return device;
}

// "/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0": each part is below the one before.
void add_with_bridges(const HostFiles& files, const std::string& real, PciTree& tree) {
  std::string folder, parent, root_bus, part;
  std::istringstream parts(real.substr(1));
  while (std::getline(parts, part, '/')) {
    folder += "/" + part;
    if (part.starts_with("pci") && is_address(part.substr(3) + ":00.0")) root_bus = part;
    if (!is_address(part)) continue;
    if (!tree.contains(part)) {
      PciDevice device = read_device(files, folder);
      device.address = part;
      device.parent = parent;
      device.root_bus = root_bus;
      tree.emplace(part, std::move(device));
    }
    parent = part;
  }
}

}  // namespace

PciTree read_pci(const HostFiles& files) {
  PciTree tree;
  for (const std::string& name : files.names(std::string(kDevices))) {
    const std::string folder = fmt::format("{}/{}", kDevices, name);
    PciDevice device;
    device.vendor = hexadecimal(files.text(folder + "/vendor"));
    device.class_code = hexadecimal(files.text(folder + "/class"));
    if (!device.is_nvidia_gpu() && !device.is_network() && !files.exists(folder + "/infiniband")) {
      continue;
    }
    const std::string real = files.resolve(folder);
    if (!real.empty()) add_with_bridges(files, real, tree);
  }
  return tree;
}

std::string_view to_string(Relation relation) noexcept {
  constexpr std::string_view kNames[] = {"PIX", "PXB", "PHB", "NODE", "SYS", "unknown"};
  return kNames[static_cast<std::size_t>(relation)];
}

std::string_view explain(Relation relation) noexcept {
  constexpr std::string_view kTexts[] = {
      "below one PCIe switch",    "below several PCIe switches, without passing a root complex",
      "through one root complex", "through several root complexes of one socket",
      "across sockets",           "no PCI device, so its place is unknown",
  };
  return kTexts[static_cast<std::size_t>(relation)];
}

int socket_of(const PciDevice& device, const std::map<int, int>& socket_of_node) {
  const auto found = socket_of_node.find(device.numa_node);
  if (found != socket_of_node.end()) return found->second;
  // On a host with one socket, every device is at that one.
  const auto differs = [&](const auto& node) { return node.second != 0; };
  return std::any_of(socket_of_node.begin(), socket_of_node.end(), differs) ? -1 : 0;
}

std::vector<std::string> bridges_above(const PciTree& tree, const std::string& address) {
  std::vector<std::string> bridges;
  for (auto at = tree.find(address); at != tree.end() && !at->second.parent.empty();) {
    bridges.push_back(at->second.parent);
    at = tree.find(at->second.parent);
  }
  return bridges;
}

Route route_between(const PciTree& tree, const std::string& a, const std::string& b,
                    const std::map<int, int>& socket_of_node) {
  Route route;
  const auto first = tree.find(a), second = tree.find(b);
  if (first == tree.end() || second == tree.end()) return route;
  const auto up = bridges_above(tree, a), down = bridges_above(tree, b);
  const auto common = std::find_first_of(up.begin(), up.end(), down.begin(), down.end());
  const auto common_below =
      common == up.end() ? down.end() : std::find(down.begin(), down.end(), *common);
  route.bridges.assign(up.begin(), common == up.end() ? common : common + 1);
  route.bridges.insert(route.bridges.end(), std::make_reverse_iterator(common_below), down.rend());
  if (common != up.end()) {
    // Below one switch each has one bridge, the switch's port, between itself and the common one.
    const bool near = common - up.begin() <= 1 && common_below - down.begin() <= 1;
    route.relation = near ? Relation::kPix : Relation::kPxb;
  } else if (first->second.root_bus == second->second.root_bus) {
    route.relation = Relation::kPhb;
  } else {
    const int socket = socket_of(first->second, socket_of_node);
    const bool same = socket >= 0 && socket == socket_of(second->second, socket_of_node);
    route.relation = same ? Relation::kNode : Relation::kSys;
  }
  return route;
}

}  // namespace framewire::topology
