#include <fmt/format.h>
#include <stdlib.h>
#include <commands/serve/clients.hpp>
#include <commands/serve/mps.hpp>
#include <report/console.hpp>
#include <utility>

namespace framewire::app {

using service::mps::Daemon;

Result<std::optional<Daemon>> start_mps(const service::http::MpsSettings& settings,
                                        const std::vector<int>& devices) {
  using service::http::MpsMode;
  if (settings.mode == MpsMode::kOff) return std::nullopt;
  const bool own = settings.mode == MpsMode::kOn;
  service::mps::DaemonOptions wanted;
  wanted.program = settings.program;
  auto daemon = own ? Daemon::start(wanted) : Daemon::attach(wanted);
  if (!daemon) return fail(daemon.error());
  service::mps::Share share;
  share.threads_percent = settings.threads_percent;
  share.memory_bytes = settings.memory_bytes;
  for (const auto& [name, value] : daemon->environment(share, devices)) {
    (void)(value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str()));
  }
  say(fmt::format("MPS: {} a daemon, pipes in {}", own ? "started" : "uses", daemon->folder()));
  return std::optional<Daemon>(std::move(*daemon));
}

bool tell_of_end(const std::optional<Daemon>& daemon) {
  if (!daemon) return false;
  const auto alive = daemon->alive();
  if (alive) return false;
  Json line = event_line("warning", "MPS daemon ended");
  line["reason"] = alive.error().to_string() +
                   "; who uses the GPU goes on until it ends, and workers to come do without MPS";
  log_event(line);
  return true;
}

}  // namespace framewire::app
