// Trees of sys and proc as hosts have them, made small: a good one, and what spoils it.
#pragma once

#include <unistd.h>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::test {

/// A host of two sockets. Each has one root complex with a root port, a PCIe switch below it, and
/// below the switch two H100s and one 400 Gb/s InfiniBand card; nothing stands against GPUDirect.
/// gpu0 and gpu1 share a switch with mlx5_0, gpu2 and gpu3 with mlx5_1. Deleted with the object.
class RecordedHost {
 public:
  RecordedHost() {
    std::string name = (std::filesystem::temp_directory_path() / "framewire-host-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    add_system();
    for (int socket = 0; socket < 2; ++socket) add_socket(socket);
  }
  ~RecordedHost() {
    std::error_code error;
    std::filesystem::remove_all(root_, error);
  }
  RecordedHost(const RecordedHost&) = delete;
  RecordedHost& operator=(const RecordedHost&) = delete;

  [[nodiscard]] std::string root() const { return root_.string(); }

  void write(const std::string& path, std::string_view text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << text;
  }
  void remove(const std::string& path) { std::filesystem::remove_all(root_ / path); }

  /// Switches ACS of every port of both PCIe switches. 0x1d is what firmware likes to set.
  void set_acs(std::uint16_t control) {
    for (const std::string& port : ports_) write(port + "/config", config_space(control));
  }
  /// As users without privileges see it: the first 64 bytes.
  void hide_capabilities() {
    for (const std::string& port : ports_) write(port + "/config", std::string(64, '\0'));
  }
  void set_iommu_type(std::string_view type) {
    write("sys/class/iommu/dmar0/name", "dmar0\n");
    for (const std::string& device : devices_) {
      write(device + "/iommu_group/type", std::string(type) + "\n");
    }
  }
  void set_bar1(std::uint64_t bytes) {
    for (const std::string& gpu : gpus_) write(gpu + "/resource", resources(bytes));
  }
  void set_port_state(int nic, std::string_view state) {
    write("sys/class/infiniband/mlx5_" + std::to_string(nic) + "/ports/1/state", state);
  }
  void remove_gpus() {
    for (const std::string& gpu : gpus_) take_out(gpu);
  }
  void remove_nics() {
    for (const std::string& nic : nics_) take_out(nic);
    remove("sys/class/infiniband");
  }
  void remove_nic(int nic) {
    take_out(nics_.at(static_cast<std::size_t>(nic)));
    remove("sys/class/infiniband/mlx5_" + std::to_string(nic));
  }

 private:
  void add_system() {
    write("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
    write("proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 iommu=pt\n");
    write("proc/cpuinfo", "processor\t: 0\nmodel name\t: A Processor\nflags\t\t: fpu sse avx2\n");
    write("proc/meminfo", "MemTotal:       2113571112 kB\n");
    write("proc/self/limits",
          "Limit Soft Limit Hard Limit Units\nMax locked memory  unlimited  unlimited  bytes\n");
    write("proc/self/mounts", "tmpfs /dev/shm tmpfs rw,nosuid,nodev 0 0\n");
    write("proc/driver/nvidia/version",
          "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build\n");
    write("sys/module/nvidia_peermem/version", "550.54.15\n");
    write("sys/module/gdrdrv/version", "2.4.1\n");
    write("dev/gdrdrv", "");
    write("dev/infiniband/uverbs0", "");
    for (int socket = 0; socket < 2; ++socket) {
      const std::string cpu = std::to_string(socket * 32), number = std::to_string(socket);
      write("sys/devices/system/node/node" + number + "/cpulist", cpu + "-" + cpu + "\n");
      write("sys/devices/system/cpu/cpu" + cpu + "/topology/physical_package_id", number + "\n");
    }
  }

  void add_socket(int socket) {
    const std::string high = socket == 0 ? "0" : "8";
    const std::string at = "sys/devices/pci0000:" + high + "0/0000:" + high + "0:01.0";
    const std::string upstream = at + "/0000:" + high + "1:00.0";
    add_bridge(at, socket);
    add_bridge(upstream, socket);
    for (int slot = 0; slot < 3; ++slot) {
      const std::string number = std::to_string(slot), bus = std::to_string(slot + 3);
      const std::string port = upstream + "/0000:" + high + "2:0" + number + ".0";
      const std::string device = port + "/0000:" + high + bus + ":00.0";
      add_bridge(port, socket);
      ports_.push_back(port);
      if (slot < 2) {
        add_gpu(device, socket);
      } else {
        add_nic(device, socket);
      }
    }
  }

  void add_device(const std::string& path, int socket, std::string_view vendor,
                  std::string_view pci_class) {
    write(path + "/vendor", std::string(vendor) + "\n");
    write(path + "/device", "0x2330\n");
    write(path + "/class", std::string(pci_class) + "\n");
    write(path + "/numa_node", std::to_string(socket) + "\n");
    write(path + "/current_link_speed", "32.0 GT/s PCIe\n");
    write(path + "/max_link_speed", "32.0 GT/s PCIe\n");
    write(path + "/current_link_width", "16\n");
    write(path + "/max_link_width", "16\n");
    link("sys/bus/pci/devices/" + name_of(path), path);
  }

  void add_bridge(const std::string& path, int socket) {
    add_device(path, socket, "0x1000", "0x060400");
    write(path + "/config", config_space(0));
  }

  void add_gpu(const std::string& path, int socket) {
    add_device(path, socket, "0x10de", "0x030200");
    const std::string minor = std::to_string(gpus_.size());
    gpus_.push_back(path);
    devices_.push_back(path);
    write(path + "/resource", resources(std::uint64_t{128} << 30));
    write("sys/bus/pci/drivers/nvidia/module", "");
    link(path + "/driver", "sys/bus/pci/drivers/nvidia");
    write("proc/driver/nvidia/gpus/" + name_of(path) + "/information",
          "Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t GPU-0" + minor + "\nDevice Minor: \t " +
              minor + "\n");
  }

  void add_nic(const std::string& path, int socket) {
    add_device(path, socket, "0x15b3", "0x020700");
    const std::string number = std::to_string(nics_.size()), name = "mlx5_" + number;
    nics_.push_back(path);
    devices_.push_back(path);
    write(path + "/net/ib" + number + "/mtu", "4092\n");
    const std::string folder = "sys/class/infiniband/" + name;
    write(folder + "/ports/1/state", "4: ACTIVE\n");
    write(folder + "/ports/1/rate", "400 Gb/sec (4X NDR)\n");
    write(folder + "/ports/1/link_layer", "InfiniBand\n");
    write(folder + "/ports/1/gid_attrs/types/0", "IB/RoCE v1\n");
    link(folder + "/device", path);
  }

  // A device leaves its own folder, its link on the bus, and what its driver says of it.
  void take_out(const std::string& path) {
    remove(path);
    remove("sys/bus/pci/devices/" + name_of(path));
    remove("proc/driver/nvidia/gpus/" + name_of(path));
  }

  void link(const std::string& from, const std::string& to) {
    const auto place = root_ / from;
    std::filesystem::create_directories(place.parent_path());
    std::filesystem::create_directory_symlink(
        std::filesystem::relative(root_ / to, place.parent_path()), place);
  }

  static std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

  // Registers of a GPU before Hopper: 16 MiB of controls in 32 bits, the window in 64, 32 MiB more.
  static std::string resources(std::uint64_t bar1_bytes) {
    const auto line = [](std::uint64_t first, std::uint64_t bytes, unsigned flags = 0x14220c) {
      std::array<char, 80> text{};
      std::snprintf(text.data(), text.size(), "0x%016llx 0x%016llx 0x%016x\n",
                    static_cast<unsigned long long>(first),
                    static_cast<unsigned long long>(bytes == 0 ? 0 : first + bytes - 1),
                    bytes == 0 ? 0u : flags);
      return std::string(text.data());
    };
    constexpr std::uint64_t kMiB = 1 << 20;
    return line(0x9a000000, 16 * kMiB, 0x40200) +
           line(bar1_bytes == 0 ? 0 : std::uint64_t{1} << 42, bar1_bytes) + line(0, 0) +
           line(std::uint64_t{3} << 42, 32 * kMiB) + line(0, 0) + line(0, 0);
  }

  // Advanced Error Reporting at 0x100, which leads to Access Control Services at 0x148.
  static std::string config_space(std::uint16_t acs_control) {
    std::string bytes(4096, '\0');
    const auto put = [&](std::size_t offset, std::uint32_t value) {
      for (int i = 0; i < 4; ++i) {
        bytes[offset + static_cast<std::size_t>(i)] = static_cast<char>(value >> (8 * i));
      }
    };
    put(0x100, 0x14820001);
    put(0x148, 0x0001000d);
    put(0x14c, 0x005du | static_cast<std::uint32_t>(acs_control) << 16);
    return bytes;
  }

  std::filesystem::path root_;
  std::vector<std::string> ports_;  // downstream, of both switches
  std::vector<std::string> gpus_;
  std::vector<std::string> nics_;
  std::vector<std::string> devices_;  // both of these
};

}  // namespace framewire::test
