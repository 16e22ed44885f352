// A program in the place of nvidia-cuda-mps-control: a shell script with a "server".
#pragma once

#include <csignal>
#include <filesystem>
#include <string>
#include <tests/service/support/temporary_folder.hpp>

namespace framewire::service::mps::test {

/// What its daemon does otherwise than NVIDIA's.
struct Faults {
  std::string start = ":";                    ///< shell, before the daemon starts
  std::string command = ":";                  ///< shell, before a command is answered
  std::string servers = "cat \"$P/server\"";  ///< prints the list of servers
  std::string quit = "kill $(cat \"$P/server\") $(cat \"$P/nvidia-cuda-mps-control.pid\")";
};

/// The script, in a folder of its own. With -d it starts two processes that sleep, the daemon and a
/// server, and writes the daemon's number as NVIDIA's does.
class FakeControl {
 public:
  explicit FakeControl(const Faults& faults = {}) {
    std::signal(SIGPIPE, SIG_IGN);  // as the program does: some of these read no command
    const std::string script =
        "#!/bin/sh\nP=\"$CUDA_MPS_PIPE_DIRECTORY\"\n"
        "if [ \"$1\" = -d ]; then\n" +
        faults.start +
        "\n  [ -d \"$P\" ] || { echo no folder >&2; exit 1; }\n"
        "  env >\"$P/environment\"\n"
        "  setsid sleep 600 </dev/null >/dev/null 2>&1 & echo $! >\"$P/server\"\n"
        "  setsid sleep 600 </dev/null >/dev/null 2>&1 & echo $! "
        ">\"$P/nvidia-cuda-mps-control.pid\"\n"
        "  exit 0\nfi\n" +
        faults.command +
        "\n[ -f \"$P/server\" ] || { echo Cannot find MPS control daemon process; exit 1; }\n"
        "read -r words\ncase \"$words\" in\n"
        "  get_server_list) " +
        faults.servers +
        ";;\n"
        "  get_client_list*) echo 4711; echo 4712;;\n"
        "  get_device_client_list) echo 'Device 0: 4711 4712';;\n"
        "  quit*) echo \"$words\" >\"$P/../../said\" 2>/dev/null; " +
        faults.quit +
        ";;\n"
        "  *) echo unknown; exit 1;;\nesac\n";
    program_ = folder_.write("nvidia-cuda-mps-control", script);
    std::filesystem::permissions(program_, std::filesystem::perms::owner_all);
  }
  [[nodiscard]] const std::string& program() const { return program_; }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  framewire::service::test::TemporaryFolder folder_;
  std::string program_;
};

}  // namespace framewire::service::mps::test
