#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <service/mps/control.hpp>
#include <string_view>
#include <topology/mps_program.hpp>
#include <utility>

namespace framewire::service::mps {
namespace {

constexpr std::size_t kMaxProcesses = 4096;
constexpr std::size_t kMaxQuoted = 400;

bool is_program(const std::string& path) {
  struct stat file {};
  return ::stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

std::string quoted(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return std::string(text.substr(0, kMaxQuoted));
}

std::string said(const process::Ran& ran) {
  const std::string text = quoted(ran.errors.empty() ? ran.output : ran.errors);
  return text.empty() ? "nothing" : fmt::format("'{}'", text);
}

tl::unexpected<Status> refusal(StatusCode code, const std::string& about, std::string message) {
  return fail(Status(code, std::move(message)).about(about));
}

Result<std::vector<pid_t>> read_processes(const std::string& command, std::string_view text) {
  std::vector<pid_t> processes;
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.empty()) continue;
    pid_t process = 0;
    const auto [stop, error] = std::from_chars(line.data(), line.data() + line.size(), process);
    const bool good = error == std::errc{} && stop == line.data() + line.size() && process > 1 &&
                      processes.size() < kMaxProcesses;
    if (!good) {
      return refusal(StatusCode::kIoError, command,
                     fmt::format("it answered '{}', which is no list of processes", quoted(line)));
    }
    processes.push_back(process);
  }
  return processes;
}

}  // namespace

Result<std::string> find_control_program(const std::string& named) {
  if (!named.empty()) {
    if (named.find('/') != std::string::npos && is_program(named)) return named;
    return refusal(StatusCode::kUnsupported, named, "is no program that can be run");
  }
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? std::string_view() : path;
  while (!rest.empty()) {
    const auto folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    const std::string file = fmt::format("{}/{}", folder, topology::kMpsProgram);
    if (folder.starts_with('/') && is_program(file)) return file;
  }
  for (const std::string_view folder : topology::kMpsFolders) {
    const std::string file = fmt::format("{}/{}", folder, topology::kMpsProgram);
    if (is_program(file)) return file;
  }
  return refusal(StatusCode::kUnsupported, std::string(topology::kMpsProgram),
                 "there is no such program, neither in PATH nor where NVIDIA's driver puts it");
}

Result<std::string> Control::command(const std::string& words) const {
  process::ChildRunOptions options{{program_}, environment_, words + "\n"};
  options.timeout = timeout_;
  auto ran = process::run(options);
  if (!ran) return fail(ran.error());
  if (!ran->ending.succeeded()) {
    const std::string message =
        fmt::format("{}: {}; it said {}", words, ran->ending.to_string(), said(*ran));
    const bool absent = said(*ran).find("Cannot find MPS control daemon") != std::string::npos;
    return refusal(absent ? StatusCode::kPeerLost : StatusCode::kIoError, folder_, message);
  }
  return std::move(ran->output);
}

Result<void> Control::start_daemon() const {
  process::ChildRunOptions options{{program_, "-d"}, environment_, {}};
  options.timeout = timeout_;
  const auto ran = process::run(options);
  if (!ran) return fail(ran.error());
  if (ran->ending.succeeded()) return {};
  return refusal(StatusCode::kIoError, program_,
                 fmt::format("the daemon has not started: {}; it said {}", ran->ending.to_string(),
                             said(*ran)));
}

Result<std::vector<pid_t>> Control::servers() const {
  const auto text = command("get_server_list");
  if (!text) return fail(text.error());
  return read_processes("get_server_list", *text);
}

Result<std::vector<pid_t>> Control::clients(pid_t server) const {
  const auto text = command(fmt::format("get_client_list {}", server));
  if (!text) return fail(text.error());
  return read_processes("get_client_list", *text);
}

Result<std::string> Control::device_clients() const { return command("get_device_client_list"); }

}  // namespace framewire::service::mps
