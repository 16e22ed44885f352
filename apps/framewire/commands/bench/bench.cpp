// framewire bench WHAT IN…
#include <fmt/format.h>
#include <command_line/command.hpp>
#include <commands/bench/common.hpp>
#include <report/console.hpp>

namespace framewire::app {

int run_bench(const Arguments& arguments) {
  const std::string& what = arguments.paths[0];
  if (what == "resize") return run_bench_resize(arguments);
  if (what == "jpeg2jpeg") return run_bench_jpeg2jpeg(arguments);
  return report_usage(
      "bench", fmt::format("found '{}'; accepted: framewire bench resize|jpeg2jpeg IN…", what));
}

}  // namespace framewire::app
