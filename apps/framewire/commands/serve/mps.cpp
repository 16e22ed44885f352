#include <fmt/format.h>
#include <stdlib.h>
#include <command_line/gpu_options.hpp>
#include <command_line/misuse.hpp>
#include <command_line/numbers.hpp>
#include <commands/serve/mps.hpp>
#include <engine/codec_router.hpp>
#include <report/console.hpp>
#include <utility>
#include <vector>

namespace framewire::app {

using service::mps::Daemon;

Result<std::optional<MpsOptions>> read_mps(const Arguments& arguments,
                                           const EngineOptions& engine) {
  const std::string mode = arguments.get("mps");
  if (mode == "off") {
    for (const char* name : {"mps-program", "mps-threads", "mps-memory"}) {
      if (arguments.given.contains(name)) {
        return misuse(fmt::format("--{} needs --mps on or attach", name));
      }
    }
    return std::nullopt;
  }
  if (engine::runs_on_host(engine.codec)) {
    return misuse(fmt::format("--mps {}: --codec {} uses no GPU", mode, to_string(engine.codec)));
  }
  MpsOptions options;
  options.start = mode == "on";
  options.program = arguments.get("mps-program");
  const std::string threads = arguments.get("mps-threads");
  if (!threads.empty() && !parse_number(threads, 1u, 100u, options.share.threads_percent)) {
    return misuse(fmt::format("--mps-threads: found '{}'; accepted: 1 to 100", threads));
  }
  const auto memory = parse_memory("mps-memory", arguments.get("mps-memory"));
  if (!memory) return fail(memory.error());
  options.share.memory_bytes = *memory;
  if (*memory != 0 && engine.devices.empty()) {
    return misuse("--mps-memory needs --device with ordinals: the bound is one for each GPU");
  }
  return options;
}

Result<std::optional<Daemon>> start_mps(const std::optional<MpsOptions>& options,
                                        const EngineOptions& engine) {
  if (!options) return std::nullopt;
  service::mps::DaemonOptions wanted;
  wanted.program = options->program;
  auto daemon = options->start ? Daemon::start(wanted) : Daemon::attach(wanted);
  if (!daemon) return fail(daemon.error());
  for (const auto& [name, value] : daemon->environment(options->share, engine.devices)) {
    (void)(value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str()));
  }
  say(fmt::format("MPS: {} a daemon, pipes in {}", options->start ? "started" : "uses",
                  daemon->folder()));
  return std::optional<Daemon>(std::move(*daemon));
}

}  // namespace framewire::app
