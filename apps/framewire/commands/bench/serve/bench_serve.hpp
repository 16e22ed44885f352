// framewire bench serve IN…: servers and clients, as in the published table.
#pragma once

#include <command_line/command.hpp>

namespace framewire::app {

[[nodiscard]] int run_bench_serve(const Arguments& arguments);

}  // namespace framewire::app
