// framewire version
#include <fmt/format.h>
#include <framewire/version.hpp>
#include "build_info.hpp"
#include "command.hpp"
#include "console.hpp"

namespace framewire::app {

int run_version(const Arguments&) {
  return print(fmt::format("framewire {} ({})\n", kVersion, kCommit)) ? kAllDone : kEnvironment;
}

}  // namespace framewire::app
