// framewire version
#include <fmt/format.h>
#include <command_line/build_info.hpp>
#include <command_line/command.hpp>
#include <framewire/version.hpp>
#include <report/console.hpp>

namespace framewire::app {

int run_version(const Arguments&) {
  return print(fmt::format("framewire {} ({})\n", kVersion, kCommit)) ? kAllDone : kEnvironment;
}

}  // namespace framewire::app
