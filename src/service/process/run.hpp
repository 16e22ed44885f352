// A program that is run for what it says.
#pragma once

#include <chrono>
#include <cstddef>
#include <service/process/child.hpp>

namespace framewire::service::process {

struct ChildRunOptions {
  std::vector<std::string> words;  ///< as ChildOptions
  Environment environment;
  std::string input;                      ///< on its standard input
  std::size_t max_output_bytes = 65'536;  ///< of standard output and standard error, each
  std::chrono::milliseconds timeout{10'000};
};

struct Ran {
  Ending ending;
  std::string output;
  std::string errors;
};

/// Runs a program and waits until it has ended, not until what it has left behind has: daemons may
/// go on, and what they say is not waited for. Blocks no longer than the timeout; the program is
/// killed then. SIGPIPE must be ignored where it may not read its input.
/// @return deadline; too_large where it says more than is allowed; io_error, busy as Child::start()
[[nodiscard]] Result<Ran> run(const ChildRunOptions& options);

}  // namespace framewire::service::process
