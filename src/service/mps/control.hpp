// Commands for the daemon of NVIDIA's Multi-Process Service.
//
// Source: nvidia-cuda-mps-control(1). A command is written to the standard input of a second
// instance of that program, which finds the daemon by CUDA_MPS_PIPE_DIRECTORY.
#pragma once

#include <sys/types.h>
#include <chrono>
#include <framewire/status.hpp>
#include <service/process/run.hpp>
#include <string>
#include <vector>

namespace framewire::service::mps {

/// Where nvidia-cuda-mps-control is: the first of the folders of PATH that has it, then of those
/// where drivers put it.
/// @param named  where not empty: this file and no other
/// @return unsupported where there is none
[[nodiscard]] Result<std::string> find_control_program(const std::string& named);

/// Talks to one daemon. Thread safety: all members may be called from any number of threads.
class Control {
 public:
  /// @param folder   of the daemon's pipes
  /// @param timeout  of each command
  Control(std::string program, process::Environment environment, std::string folder,
          std::chrono::milliseconds timeout)
      : program_(std::move(program)),
        environment_(std::move(environment)),
        folder_(std::move(folder)),
        timeout_(timeout) {}

  /// Sends a command. Blocks no longer than the timeout.
  /// @return the daemon's answer, at most 64 KiB; peer_lost where the daemon does not answer there;
  ///         io_error with what it said where it refuses; deadline; too_large
  [[nodiscard]] Result<std::string> command(const std::string& words) const;
  /// Starts the daemon: nvidia-cuda-mps-control -d. @return io_error with what it said; deadline
  [[nodiscard]] Result<void> start_daemon() const;

  /// Processes of its servers, one for each user who has clients. @return as command(); io_error
  /// for an answer that is no list of processes
  [[nodiscard]] Result<std::vector<pid_t>> servers() const;
  /// Processes that a server serves. @return as servers()
  [[nodiscard]] Result<std::vector<pid_t>> clients(pid_t server) const;
  /// Clients by device, in the daemon's own words. @return as command()
  [[nodiscard]] Result<std::string> device_clients() const;

  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
  [[nodiscard]] const std::string& program() const noexcept { return program_; }
  [[nodiscard]] const process::Environment& environment() const noexcept { return environment_; }

 private:
  std::string program_;
  process::Environment environment_;
  std::string folder_;
  std::chrono::milliseconds timeout_;
};

}  // namespace framewire::service::mps
