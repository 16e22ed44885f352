#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <cstdlib>
#include <regex>
#include <sstream>
#include <topology/devices.hpp>
#include <topology/host_facts.hpp>
#include <topology/mps_program.hpp>

namespace framewire::topology {
namespace {

// The line of a file that begins so, as a reading of its own.
Reading line_of(const HostFiles& files, const std::string& path, std::string_view beginning) {
  Reading found{path, std::nullopt};
  std::istringstream lines(files.text(path));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(beginning)) {
      found.value = line;
      break;
    }
  }
  return found;
}

// Columns are padded with many blanks.
std::string squeezed(const std::string& text) {
  std::istringstream words(text);
  std::string out;
  for (std::string word; words >> word;) out += (out.empty() ? "" : " ") + word;
  return out;
}

Reading shm_line(const HostFiles& files) {
  Reading found{"/proc/self/mounts", std::nullopt};
  std::istringstream lines(files.text(found.path));
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" /dev/shm ") != std::string::npos) found.value = line;
  }
  return found;
}

std::uint64_t number_in(const std::string& text) {
  const std::size_t digits = text.find_first_of("0123456789");
  return digits == std::string::npos ? 0 : std::strtoull(text.c_str() + digits, nullptr, 10);
}

std::map<int, int> read_sockets(const HostFiles& files) {
  std::map<int, int> sockets;
  const std::string folder = "/sys/devices/system/node";
  for (const std::string& name : files.names(folder)) {
    if (!name.starts_with("node") || name.size() < 5) continue;
    // "0-31,64-95": the first processor tells the socket. A node of memory alone has none.
    const std::string list = files.text(fmt::format("{}/{}/cpulist", folder, name));
    if (list.empty()) continue;
    const std::string socket = files.text(
        fmt::format("/sys/devices/system/cpu/cpu{}/topology/physical_package_id", number_in(list)));
    sockets[static_cast<int>(number_in(name))] = socket.empty() ? 0 : std::atoi(socket.c_str());
  }
  return sockets;
}

MpsFacts read_mps(const HostFiles& files) {
  MpsFacts mps;
  for (const std::string_view folder : kMpsFolders) {
    const std::string file = fmt::format("{}/{}", folder, kMpsProgram);
    if (mps.program.empty() && files.exists(file)) mps.program = file;
  }
  const char* named = files.live() ? std::getenv("CUDA_MPS_PIPE_DIRECTORY") : nullptr;
  mps.pipe_directory = named != nullptr && *named != '\0' ? named : "/tmp/nvidia-mps";
  mps.control_pipe = files.exists(mps.pipe_directory + "/control");
  const std::string process = files.text(mps.pipe_directory + "/nvidia-cuda-mps-control.pid");
  mps.running = !process.empty() && files.exists(fmt::format("/proc/{}", number_in(process)));
  mps.owner = files.owner(mps.pipe_directory);
  mps.user = ::geteuid();
  return mps;
}

void read_files(const HostFiles& files, HostFacts& facts) {
  facts.kernel = files.read("/proc/sys/kernel/osrelease");
  facts.command_line = files.read("/proc/cmdline");
  facts.driver = line_of(files, "/proc/driver/nvidia/version", "NVRM version:");
  facts.peer_memory = files.read("/sys/module/nvidia_peermem/version");
  // A module that was built without a version has a folder all the same.
  if (!facts.peer_memory.value && files.exists("/sys/module/nvidia_peermem")) {
    facts.peer_memory = {"/sys/module/nvidia_peermem", "loaded"};
  }
  facts.old_peer_memory = files.read("/sys/kernel/mm/memory_peers/nv_mem/version");
  facts.gdrdrv = files.read("/sys/module/gdrdrv/version");
  facts.limits = line_of(files, "/proc/self/limits", "Max locked memory");
  if (facts.driver.value) facts.driver.value = squeezed(*facts.driver.value);
  if (facts.limits.value) facts.limits.value = squeezed(*facts.limits.value);
  facts.shm_mount = shm_line(files);
  facts.board = files.read("/proc/device-tree/model");
  facts.memory_bytes =
      1024 * number_in(line_of(files, "/proc/meminfo", "MemTotal:").value.value_or(""));
  const std::string flags = line_of(files, "/proc/cpuinfo", "flags").value.value_or("") + " ";
  facts.virtual_machine = flags.find(" hypervisor ") != std::string::npos;
  const std::string processor = line_of(files, "/proc/cpuinfo", "model name").value.value_or("");
  const std::size_t colon = processor.find(": ");
  facts.processor = colon == std::string::npos ? "" : processor.substr(colon + 2);
  facts.iommus = files.names("/sys/class/iommu");
  facts.infiniband_devices = files.names("/dev/infiniband");
  std::erase_if(facts.infiniband_devices,
                [](const std::string& name) { return !name.starts_with("uverbs"); });
  for (std::string& name : facts.infiniband_devices) name.insert(0, "/dev/infiniband/");
  facts.infiniband_usable =
      !facts.infiniband_devices.empty() && files.usable(facts.infiniband_devices.front());
  facts.gdrdrv_usable = files.usable("/dev/gdrdrv");
  facts.socket_of_node = read_sockets(files);
  facts.mps = read_mps(files);
}

void ask_libraries(HostFacts& facts) {
  facts.nvml = ask_nvml();
  facts.cuda = ask_cuda();
  facts.verbs = ask_verbs();
  facts.ucx = ask_ucx();
  facts.gdrcopy = ask_gdrcopy();
}

bool answers_to(const Nic& nic, const std::string& name) {
  return nic.name == name || nic.address == name ||
         std::find(nic.interfaces.begin(), nic.interfaces.end(), name) != nic.interfaces.end();
}

}  // namespace

int version_of(const std::string& text) {
  int major = 0, minor = 0;
  if (std::sscanf(text.c_str(), "%d.%d", &major, &minor) != 2) return 0;
  return 1000 * major + minor;
}

std::string HostFacts::driver_version() const {
  static const std::regex kVersion("[0-9]{3,}\\.[0-9.]*[0-9]");
  std::smatch match;
  if (driver.value && std::regex_search(*driver.value, match, kVersion)) return match.str();
  return nvml.driver_version;
}

std::optional<bool> HostFacts::open_driver() const {
  if (!driver.value) return std::nullopt;
  return driver.value->find("Open Kernel Module") != std::string::npos;
}

HostFacts read_host(const HostFiles& files) {
  HostFacts facts;
  facts.root = files.root();
  facts.live = files.live();
  read_files(files, facts);
  if (facts.live) ask_libraries(facts);
  facts.pci = read_pci(files);
  facts.gpus = read_gpus(files, facts);
  facts.nics = read_nics(files, facts);
  return facts;
}

Result<void> keep_only(HostFacts& facts, const std::string& gpu, const std::string& nic) {
  if (!gpu.empty()) {
    std::string known;
    for (const Gpu& one : facts.gpus) known += fmt::format(" {} ({})", one.index, one.address);
    std::erase_if(facts.gpus, [&](const Gpu& one) {
      return std::to_string(one.index) != gpu && one.address != gpu;
    });
    if (facts.gpus.empty()) {
      return fail(
          Status(StatusCode::kInvalidInput, fmt::format("found '{}'; this host has:{}", gpu,
                                                        known.empty() ? " no NVIDIA GPU" : known))
              .about("gpu"));
    }
  }
  if (!nic.empty()) {
    std::string known;
    for (const Nic& one : facts.nics) known += " " + one.name;
    std::erase_if(facts.nics, [&](const Nic& one) { return !answers_to(one, nic); });
    if (facts.nics.empty()) {
      return fail(
          Status(StatusCode::kInvalidInput, fmt::format("found '{}'; this host has:{}", nic,
                                                        known.empty() ? " no network card" : known))
              .about("nic"));
    }
  }
  return {};
}

}  // namespace framewire::topology
