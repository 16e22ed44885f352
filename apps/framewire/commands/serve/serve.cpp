// framewire serve
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>
#include <batch/input_file.hpp>
#include <command_line/command.hpp>
#include <command_line/gpu_options.hpp>
#include <commands/serve/local_clients.hpp>
#include <framewire/engine.hpp>
#include <future>
#include <optional>
#include <report/console.hpp>
#include <service/http/configuration.hpp>
#include <service/http/server.hpp>

namespace framewire::app {
namespace {

namespace http = service::http;

constexpr std::uint64_t kMaxConfigBytes = 1u << 20;
// Files, the engine's descriptors, listeners.
constexpr std::uint64_t kOtherDescriptors = 64;

Result<http::GivenSettings> read_config(const std::string& path) {
  if (path.empty()) return http::GivenSettings{};
  const auto file = batch::InputFile::open(path);
  if (!file) return fail(file.error());
  const auto bytes = file->read(kMaxConfigBytes);
  if (!bytes) return fail(bytes.error());
  return http::read_toml({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, path);
}

Result<http::Configuration> read_configuration(const Arguments& arguments) {
  auto file = read_config(arguments.get("config"));
  if (!file) return fail(file.error());
  http::GivenSettings flags;
  for (const auto& [name, value] : arguments.given) {
    if (http::is_setting(name)) flags[name] = {value, "flag"};
  }
  if (!arguments.paths.empty()) flags["folder"] = {arguments.paths[0], "argument"};
  return http::configure(*file, http::read_environment(environ), flags);
}

Result<EngineOptions> engine_options(const Arguments& arguments, const http::Settings& settings) {
  Arguments with_codec = arguments;
  with_codec.options.codec = settings.defaults.codec;
  const auto gpu = make_engine_options(with_codec);
  if (!gpu) return fail(gpu.error());
  EngineOptions options = http::engine_options(settings);
  options.devices = gpu->devices;
  options.gpu_memory_bytes = gpu->gpu_memory_bytes;
  return options;
}

// One descriptor a connection: as many as the administrator allows.
void raise_descriptors(const http::Settings& settings) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const std::uint64_t wanted = settings.max_connections + kOtherDescriptors;
  if (limit.rlim_cur < wanted) {
    limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
  }
  if (limit.rlim_cur < wanted) {
    say(fmt::format("warning: at most {} connections: the system allows {} open files",
                    limit.rlim_cur - std::min<rlim_t>(limit.rlim_cur, kOtherDescriptors),
                    limit.rlim_cur));
  }
}

/// SIGTERM and SIGINT, held back in every thread and taken here.
class EndingSignals {
 public:
  /// Before any thread is started.
  EndingSignals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGTERM);
    sigaddset(&set_, SIGINT);
    (void)::pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }
  void wait() const {
    int number = 0;
    while (::sigwait(&set_, &number) != 0) {
    }
  }
  /// Whether another one has come.
  [[nodiscard]] bool again() const {
    const timespec now{};
    return ::sigtimedwait(&set_, nullptr, &now) > 0;
  }

 private:
  sigset_t set_{};
};

int serve(const EndingSignals& signals, const http::Settings& settings, Engine& engine,
          const std::optional<LocalOptions>& local) {
  auto server = http::Server::start(settings, engine, [](std::string_view lines) { put(lines); });
  if (!server) return refuse(server.error());
  auto clients = start_local(local, settings.defaults.limits, engine);
  if (!clients) return refuse(clients.error());
  for (const std::string& endpoint : (*server)->endpoints()) {
    say(fmt::format("listening on {}", endpoint));
  }
  if (!settings.source.root.empty()) say(fmt::format("serving {}", settings.source.root));
  if (!engine.no_device_reason().empty()) say(fmt::format("no GPU: {}", engine.no_device_reason()));
  signals.wait();
  say("ending; what is under way is answered first");
  // Local clients are told first, and have as long as the others.
  auto tell = std::async(std::launch::async,
                         [&] { return drain_local(*clients, settings.drain_timeout_ms); });
  const bool drained = (*server)->drain([&] { return signals.again(); });
  const bool all_drained = tell.get() && drained;
  server->reset();
  clients->reset();
  engine.drain();
  return all_drained ? kAllDone : kInterrupted;
}

}  // namespace

int run_serve(const Arguments& arguments) {
  auto configuration = read_configuration(arguments);
  if (!configuration) {
    const Status& error = configuration.error();
    return report_usage("serve", fmt::format("{}: {}", error.subject(), error.message()));
  }
  const http::Settings& settings = configuration->settings;
  auto options = engine_options(arguments, settings);
  if (!options) return report_usage("serve", options.error());
  auto local = read_local(arguments);
  if (!local) return report_usage("serve", local.error());
  if (*local) options->queue += kLocalQueue;
  if (arguments.has("check")) {
    return print(configuration->to_string()) ? kAllDone : kEnvironment;
  }
  const EndingSignals signals;
  raise_descriptors(settings);
  auto engine = Engine::make(*options);
  if (!engine) return refuse(engine.error());
  return serve(signals, settings, *engine, *local);
}

}  // namespace framewire::app
