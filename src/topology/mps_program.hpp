// The program that runs NVIDIA's Multi-Process Service, and where it may lie.
#pragma once

#include <string_view>

namespace framewire::topology {

inline constexpr std::string_view kMpsProgram = "nvidia-cuda-mps-control";

/// Where packages, installers and container runtimes put it. Sources: files of Debian's
/// nvidia-cuda-mps and Ubuntu's nvidia-compute-utils, NVIDIA's .run installer, its container
/// toolkit and its driver container.
inline constexpr std::string_view kMpsFolders[] = {"/usr/bin",
                                                   "/usr/local/bin",
                                                   "/opt/bin",
                                                   "/usr/local/nvidia/bin",
                                                   "/usr/lib/nvidia/current",
                                                   "/run/nvidia/driver/usr/bin"};

}  // namespace framewire::topology
