// framewire serve
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <batch/input_file.hpp>
#include <command_line/command.hpp>
#include <commands/serve/check.hpp>
#include <commands/serve/clients.hpp>
#include <commands/serve/environment.hpp>
#include <commands/serve/health.hpp>
#include <commands/serve/local_clients.hpp>
#include <commands/serve/mps.hpp>
#include <commands/serve/remote_clients.hpp>
#include <commands/serve/running.hpp>
#include <commands/serve/service_manager.hpp>
#include <commands/serve/signals.hpp>
#include <commands/serve/worker_processes.hpp>
#include <csignal>
#include <framewire/engine.hpp>
#include <future>
#include <optional>
#include <report/console.hpp>
#include <service/http/configuration.hpp>
#include <service/http/grammar_settings.hpp>
#include <service/http/log.hpp>
#include <service/http/server.hpp>

namespace framewire::app {
namespace {

namespace http = service::http;

constexpr std::uint64_t kMaxConfigBytes = 1u << 20;
// Files, the engine's descriptors, listeners.
constexpr std::uint64_t kOtherDescriptors = 64;
// A worker's socket, process and memory; one more of each while it is replaced.
constexpr std::uint64_t kWorkerDescriptors = 6;
// Lines wait so long for a reader of standard error before they are dropped.
constexpr std::chrono::milliseconds kReaderTime{500};
// What the end takes beyond draining: fetches that are given up, memory of GPUs.
constexpr std::chrono::milliseconds kEndingTime{10'000};

// How long those who were cut off may take to end in order.
constexpr std::chrono::milliseconds kCutOffTime{200};
// How often a second signal is looked for.
constexpr std::chrono::milliseconds kHurryPoll{10};

Result<http::GivenSettings> read_config(const std::string& path) {
  if (path.empty()) return http::GivenSettings{};
  const auto file = batch::InputFile::open(path);
  if (!file) return fail(file.error());
  const auto bytes = file->read(kMaxConfigBytes);
  if (!bytes) return fail(bytes.error());
  return http::read_toml({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, path);
}

Result<http::Configuration> read_configuration(const Arguments& arguments) {
  // A script's variable that is not set would start a service without its keys.
  if (arguments.has("config") && arguments.get("config").empty()) {
    return fail(
        Status(StatusCode::kInvalidInput, "found no value; accepted: FILE").about("--config"));
  }
  auto file = read_config(arguments.get("config"));
  if (!file) return fail(file.error());
  http::GivenSettings flags;
  for (const auto& [name, value] : arguments.given) {
    if (http::is_setting(name)) flags[name] = {value, "flag"};
  }
  if (!arguments.paths.empty() && flags.contains("folder")) {
    return fail(Status(StatusCode::kInvalidInput,
                       "found a folder as argument and another as flag; accepted: one of them")
                    .about("folder"));
  }
  if (!arguments.paths.empty()) flags["folder"] = {arguments.paths[0], "argument"};
  return http::configure(*file, http::read_environment(environ), flags);
}

// One descriptor a connection, one a request for its file or origin: as many as the administrator
// allows.
void raise_descriptors(const http::ServiceSettings& settings) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const std::uint64_t others = kOtherDescriptors + http::most_requests(settings, true) +
                               settings.workers * kWorkerDescriptors;
  const std::uint64_t wanted = settings.max_connections + others;
  if (limit.rlim_cur < wanted) {
    limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
  }
  if (limit.rlim_cur < wanted) {
    say(fmt::format(
        "warning: the system allows {} open files; max-connections, queue and workers may need {}, "
        "and connections wait or are refused where there are none left",
        limit.rlim_cur, wanted));
  }
}

/// Writes the log's lines. Those that nobody reads are counted, and told of once somebody does.
class LogLines {
 public:
  void operator()(std::string_view lines) {
    if (dropped_ != 0) {
      const std::string told = fmt::format(
          "{}{{\"time\":\"{}\",\"level\":\"warning\",\"message\":\"{} lines were dropped\"}}\n",
          torn_ ? "\n" : "", http::log_time(), dropped_);
      if (put(told) != told.size()) {
        dropped_ += count_lines(lines);
        return;
      }
      dropped_ = 0;
      torn_ = false;
    }
    const std::size_t written = put(lines);
    dropped_ = count_lines(lines.substr(written));
    torn_ = written != 0 && written != lines.size() && lines[written - 1] != '\n';
  }

 private:
  static std::uint64_t count_lines(std::string_view text) {
    return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
  }
  std::uint64_t dropped_ = 0;
  bool torn_ = false;  ///< the last line written is not whole
};

/// The engine of this process, or the processes that do its work.
struct Engines {
  std::optional<Engine> own;
  std::unique_ptr<WorkerPool> workers;
};

Result<Engines> make_engines(const http::ServiceSettings& settings, const EngineOptions& options) {
  Engines engines;
  auto workers = start_workers(settings, options);
  if (!workers) return fail(workers.error());
  engines.workers = std::move(*workers);
  if (engines.workers != nullptr) return engines;
  auto engine = Engine::make(options);
  if (!engine) return fail(engine.error());
  engines.own.emplace(std::move(*engine));
  return engines;
}

// Pictures in work are nobody's any more, and may take seconds: the process ends without them. What
// else there is ends in that time, or by itself with this process, as workers and MPS do.
void cut_off_soon() {
  (void)std::signal(SIGALRM, [](int) { ::_exit(kInterrupted); });
  const auto time = std::chrono::microseconds(kCutOffTime);
  itimerval once{};
  once.it_value.tv_sec = time / std::chrono::seconds(1);
  once.it_value.tv_usec = time.count() % 1'000'000;
  (void)::setitimer(ITIMER_REAL, &once, nullptr);
}

/// Lets clients, near and far, and the server answer what they have; then there is nobody else.
/// @param clients, remotes  may be empty
/// @return the program's exit code
int end_in_order(const ServeSignals& signals, const http::ServiceSettings& settings,
                 Engines& engines, std::unique_ptr<http::Server>& server,
                 std::optional<LocalServer>& clients, std::optional<RemoteServer>& remotes) {
  const std::chrono::milliseconds timeout(settings.drain_timeout_ms);
  std::atomic<bool> hurried = false;
  const auto hurry = [&] {
    if (signals.ending_again()) hurried = true;
    return hurried.load();
  };
  // Local clients are told first, and have as long as the others.
  constexpr auto kAside = std::launch::async | std::launch::deferred;  // in turn, without threads
  auto tell = std::async(kAside, [&] { return drain_clients(clients, timeout, hurried); });
  auto tell_far = std::async(kAside, [&] { return drain_clients(remotes, timeout, hurried); });
  const bool drained = server->drain(hurry);
  const auto wait_for = [&](std::future<bool>& told) {
    while (told.wait_for(kHurryPoll) == std::future_status::timeout) (void)hurry();
    return told.get();
  };
  const bool near_drained = wait_for(tell);
  const bool all_drained = wait_for(tell_far) && near_drained && drained;
  if (!all_drained) cut_off_soon();
  // Before the server, whose admission and metrics they use.
  remotes.reset();
  clients.reset();
  server.reset();
  if (engines.own) engines.own->drain();
  return all_drained ? kAllDone : kInterrupted;
}

int serve(const ServeSignals& signals, ServiceManager& manager,
          const http::Configuration& configuration, Engines& engines,
          const std::optional<LocalOptions>& local, const std::optional<RemoteOptions>& remote,
          const ReadSettings& read, const std::function<void()>& look) {
  const http::ServiceSettings& settings = configuration.settings;
  auto server = engines.own ? http::Server::start(settings, *engines.own, LogLines(), nullptr,
                                                  std::move(manager.listeners))
                            : http::Server::start(settings, *engines.workers, LogLines(), nullptr,
                                                  std::move(manager.listeners));
  if (!server) return refuse(http::with_origin(server.error(), configuration.given));
  std::optional<service::OwnEngine> own;
  if (engines.own) own.emplace(*engines.own, settings.defaults.codec);
  service::PictureEngine* engine = engines.workers.get();
  if (own) engine = &*own;
  auto clients = start_local(local, settings, *engine, **server);
  if (!clients) return refuse(clients.error());
  auto remotes = start_remote(remote, settings, *engine, **server);
  if (!remotes) return refuse(remotes.error());
  for (const std::string& endpoint : (*server)->endpoints()) {
    say(fmt::format("listening on {}", endpoint));
  }
  if (!settings.source.root.empty()) say(fmt::format("serving {}", settings.source.root));
  if (engines.own && !engines.own->no_device_reason().empty()) {
    say(fmt::format("no GPU: {}", engines.own->no_device_reason()));
  }
  const service::systemd::Notifier& notifier = manager.notifier;
  notifier.ready(fmt::format("listening on {}", fmt::join((*server)->endpoints(), ", ")));
  const auto renew_workers = [&engines] {
    if (engines.workers == nullptr) return;
    engines.workers->clear_quarantine();
    engines.workers->restart_workers();
  };
  run_until_end(signals, **server, notifier, read, renew_workers, look);
  constexpr std::string_view kEnding = "ending; what is under way is answered first";
  say(kEnding);
  notifier.stopping(kEnding, kEndingTime + std::chrono::milliseconds(settings.drain_delay_ms +
                                                                     settings.drain_timeout_ms));
  return end_in_order(signals, settings, engines, *server, *clients, *remotes);
}

}  // namespace

int run_serve(const Arguments& arguments) {
  if (auto known = check_variables(environ); !known) {
    const Status& error = known.error();
    return report_usage("serve", fmt::format("{}: {}", error.subject(), error.message()));
  }
  auto configuration = read_configuration(arguments);
  if (!configuration) {
    const Status& error = configuration.error();
    return report_usage("serve", fmt::format("{}: {}", error.subject(), error.message()));
  }
  const http::ServiceSettings& settings = configuration->settings;
  EngineOptions options = http::engine_options(settings);
  auto local = local_options(settings.local);
  const auto remote = remote_options(settings.remote_clients);
  if (auto grammar = http::make_grammar(settings); !grammar) {
    const Status error = http::with_origin(grammar.error(), configuration->given);
    return report_usage("serve", fmt::format("{}: {}", error.subject(), error.message()));
  }
  if (arguments.has("check")) {
    const auto warnings = check_settings(settings);
    if (!warnings) return refuse(http::with_origin(warnings.error(), configuration->given));
    for (const std::string& warning : *warnings) say("warning: " + warning);
    return print(configuration->to_string()) ? kAllDone : kEnvironment;
  }
  if (arguments.has("health")) {
    const auto healthy = check_health(settings);
    return healthy ? kAllDone : report(healthy.error());
  }
  if (auto good = check_origin_ca(settings); !good) {
    return refuse(http::with_origin(good.error(), configuration->given));
  }
  // Before there are threads: those that watch workers say something, too.
  bound_wait_for_reader(kReaderTime);
  const ServeSignals signals;
  auto manager = find_service_manager();
  if (!manager) return refuse(manager.error());
  if (manager->local.valid()) {
    if (!local) local.emplace();
    local->listener_fd = manager->local.release();
  }
  if (local) options.queue += kClientQueue;
  raise_descriptors(settings);
  const auto daemon = start_mps(settings.mps, settings.devices);  // ends after the engine
  if (!daemon) return refuse(daemon.error());
  auto engines = make_engines(settings, options);
  if (!engines) return refuse(engines.error());
  const ReadSettings read = [&arguments] {
    auto read_now = read_configuration(arguments);
    if (read_now) raise_descriptors(read_now->settings);
    return read_now;
  };
  return serve(signals, *manager, *configuration, *engines, local, remote, read,
               [&daemon, told = false]() mutable { told = told || tell_of_end(*daemon); });
}

}  // namespace framewire::app
