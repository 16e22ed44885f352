// framewire bench WHAT IN…
#include <fmt/format.h>
#include <command_line/command.hpp>
#include <commands/bench/common.hpp>
#include <report/console.hpp>
#ifdef FRAMEWIRE_SERVICE
#include <commands/bench/serve/bench_serve.hpp>
#include <commands/bench/serve/part.hpp>
#endif

namespace framewire::app {

int run_bench(const Arguments& arguments) {
  const std::string& what = arguments.paths[0];
  if (what == "resize") return run_bench_resize(arguments);
  if (what == "jpeg2jpeg") return run_bench_jpeg2jpeg(arguments);
#ifdef FRAMEWIRE_SERVICE
  if (what == "serve" || what == bench_serve::kPartWord) return run_bench_serve(arguments);
#endif
  return report_usage(
      "bench", fmt::format("found '{}'; accepted: framewire bench {} IN…", what, kBenchWords));
}

}  // namespace framewire::app
