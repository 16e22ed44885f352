#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <base/clock.hpp>
#include <base/cores.hpp>
#include <base/start_thread.hpp>
#include <exception>
#include <memory>
#include <new>
#include <service/http/aside_threads.hpp>
#include <service/http/grammar_settings.hpp>
#include <service/http/images.hpp>
#include <service/http/io_thread.hpp>
#include <service/http/server.hpp>
#include <service/http/snapshot.hpp>
#include <thread>

namespace framewire::service::http {
namespace {

using Milliseconds = std::chrono::milliseconds;

// One thread of sockets keeps about four of the CPU codec busy, with room to spare.
constexpr unsigned kCoresPerThread = 4;
// With half of it outputs of many sizes made lanes wait for memory in the first second.
constexpr std::uint64_t kWarmBytes = std::uint64_t{2} << 30;
constexpr Milliseconds kDrainPoll{10};

unsigned thread_count(const ServiceSettings& settings) {
  if (settings.threads != 0) return settings.threads;
  return std::max(1u, base::usable_cores() / kCoresPerThread);
}

ServiceSettings completed(ServiceSettings settings) {
  // Whoever waits for an answer gets 503 after this time; work beyond it is for nobody.
  auto& deadline = settings.defaults.limits.deadline_ms;
  const auto timeout = static_cast<std::uint32_t>(settings.request_timeout_ms);
  deadline = deadline == 0 ? timeout : std::min(deadline, timeout);
  return settings;
}

// @return null where no listener speaks TLS
Result<std::shared_ptr<const ServerTlsContext>> load_tls(const ServiceSettings& settings,
                                                         Log& log) {
  if (settings.tls_cert.empty()) return nullptr;
  auto loaded = ServerTlsContext::load(settings);
  if (!loaded) return loaded;
  for (const std::string& warning : (*loaded)->warnings()) log.say("warning", warning);
  return loaded;
}

std::vector<std::string> own_listeners(const ServiceSettings& settings,
                                       const InheritedListeners& inherited) {
  return inherited.requests.empty() ? settings.listen : std::vector<std::string>();
}

// Sockets that are handed over speak no TLS: in the place of an address with tls: they would have
// everything said in the clear.
Result<void> check_inherited(const ServiceSettings& settings, const InheritedListeners& inherited) {
  const auto refuse_tls = [](const char* about, const std::vector<std::string>& addresses,
                             const std::vector<ListeningSocket>& instead) -> Result<void> {
    for (const std::string& text : addresses) {
      const auto endpoint = parse_endpoint(text);
      if (instead.empty() || !endpoint || !endpoint->tls) continue;
      return fail(Status(StatusCode::kInvalidInput,
                         fmt::format("found {}, but {} is handed over in its place, which speaks "
                                     "no TLS; accepted: one of the two",
                                     text.substr(0, 100), instead.front().name))
                      .about(about));
    }
    return {};
  };
  if (auto good = refuse_tls("listen", settings.listen, inherited.requests); !good) return good;
  return refuse_tls("metrics", settings.metrics, inherited.metrics);
}

// One socket for all threads: the system wakes one of those that wait.
Result<void> share_among(const std::vector<ListeningSocket>& sockets,
                         const std::vector<std::unique_ptr<IoThread>>& ios,
                         std::vector<std::string>& names) {
  for (const ListeningSocket& socket : sockets) {
    names.push_back(socket.name);
    for (const auto& io : ios) {
      auto copy = duplicate(socket);
      if (!copy) return fail(copy.error());
      if (auto listening = io->listen(std::move(*copy)); !listening) return listening;
    }
  }
  return {};
}

// One thread is enough for those.
Result<void> listen_for_metrics(const ServiceSettings& settings, InheritedListeners& inherited,
                                IoThread& io, std::vector<std::string>& names,
                                std::vector<BoundPath>& bound_paths) {
  for (ListeningSocket& socket : inherited.metrics) {
    names.push_back(socket.name);
    if (auto listening = io.listen(std::move(socket), true); !listening) return listening;
  }
  if (!inherited.metrics.empty()) return {};
  for (const std::string& text : settings.metrics) {
    if (text == "main" || text == "none") continue;
    const auto endpoint = parse_endpoint(text);
    if (!endpoint) return fail(Status(StatusCode::kInvalidInput, "no address").about(text));
    auto socket = open_listener(*endpoint);
    if (!socket) return fail(socket.error());
    names.push_back(socket->name);
    if (socket->family == AF_UNIX) bound_paths.push_back(socket->bound);
    if (auto listening = io.listen(std::move(*socket), true); !listening) return listening;
  }
  return {};
}

}  // namespace

EngineOptions engine_options(const ServiceSettings& settings) {
  EngineOptions options;
  options.codec = settings.defaults.codec;
  options.threads = settings.engine_threads;
  options.devices = settings.devices;
  options.gpu_memory_bytes = settings.gpu_memory_bytes;
  options.warm_bytes = settings.warm_bytes.value_or(kWarmBytes);
  // Admission counts, so that the engine is never the one that is full.
  options.queue = most_requests(settings, true) + Images::kMaxExtraRequests + 1;
  return options;
}

Result<std::vector<std::string>> check_files(const ServiceSettings& settings) {
  if (settings.tls_cert.empty()) return std::vector<std::string>{};
  const auto loaded = ServerTlsContext::load(settings);
  if (!loaded) return fail(loaded.error());
  return (*loaded)->warnings();
}

struct Server::Parts {
  Parts(const ServiceSettings& settings, PictureEngine& engine, std::unique_ptr<PictureEngine> kept,
        LogSink log, const source::Network* network)
      : own(std::move(kept)),
        shared(completed(settings), engine, std::move(log)),
        snapshots(engine, network) {
    shared.images = &images;
  }
  ~Parts() {
    // The threads hand tasks aside, and so end first; tasks post to the threads' contexts, which
    // live until `ios` ends.
    for (const auto& io : ios) io->stop();
    for (std::thread& thread : threads) thread.join();
    aside.reset();
    scraping.reset();
    // The engine reads inputs that requests keep, and originals are fetched for them.
    shared.engine.drain();
    snapshots.close();
    disk.reset();
    ios.clear();
    unlink_paths();
  }

  // What start() consists of, in this order.
  [[nodiscard]] Result<void> open_cache(const ServiceSettings& settings);
  [[nodiscard]] Result<void> make_io_threads(const ServiceSettings& settings);
  [[nodiscard]] Result<void> open_listeners(const ServiceSettings& settings,
                                            InheritedListeners& inherited);
  [[nodiscard]] Result<void> listen_on(Endpoint endpoint);
  [[nodiscard]] Result<void> start_threads(const ServiceSettings& settings);
  /// From here on nobody connects to a path of ours.
  void unlink_paths() noexcept {
    for (const BoundPath& file : bound_paths) remove_bound_path(file);
    bound_paths.clear();
  }

  std::unique_ptr<PictureEngine> own;  ///< over an engine of this process; else null
  SharedState shared;
  std::unique_ptr<cache::DiskCache> disk;  ///< null: there is no cache
  Snapshots snapshots;
  Images images;
  std::vector<std::unique_ptr<IoThread>> ios;
  std::vector<std::thread> threads;
  std::vector<BoundPath> bound_paths;
  std::vector<std::string> endpoints;  ///< as they were bound
  std::unique_ptr<AsideThreads> aside;
  std::unique_ptr<AsideThreads> scraping;
};

Result<void> Server::Parts::open_cache(const ServiceSettings& settings) {
  if (settings.cache_dir.empty()) return {};
  auto opened = cache::DiskCache::open(
      cache_settings(settings),
      [&log = shared.log](std::string_view line) { log.say("warning", line); });
  if (!opened) return fail(opened.error());
  disk = std::move(*opened);
  snapshots.use_cache(disk.get());
  shared.cache_stats = [from = disk.get()] { return from->stats(); };
  return {};
}

Result<void> Server::Parts::make_io_threads(const ServiceSettings& settings) {
  auto snapshot = snapshots.make(shared.settings);
  if (!snapshot) return fail(snapshot.error());
  snapshots.publish(*snapshot);
  for (unsigned i = 0; i < thread_count(settings); ++i) {
    ios.push_back(std::make_unique<IoThread>(shared, with_own_count(*snapshot)));
    if (auto made = ios.back()->prepare(); !made) return made;
    shared.io_threads.push_back(ios.back().get());
  }
  return {};
}

Result<void> Server::Parts::open_listeners(const ServiceSettings& settings,
                                           InheritedListeners& inherited) {
  if (auto shared_out = share_among(inherited.requests, ios, endpoints); !shared_out) {
    return shared_out;
  }
  for (const std::string& text : own_listeners(settings, inherited)) {
    const auto endpoint = parse_endpoint(text);
    if (!endpoint) return fail(Status(StatusCode::kInvalidInput, "no address").about(text));
    if (auto listening = listen_on(*endpoint); !listening) return listening;
  }
  return listen_for_metrics(settings, inherited, *ios.front(), endpoints, bound_paths);
}

/// Every thread has a TCP socket of its own, and shares one of the file system.
Result<void> Server::Parts::listen_on(Endpoint endpoint) {
  std::optional<ListeningSocket> first;
  for (const auto& io : ios) {
    auto socket = first && first->family == AF_UNIX ? duplicate(*first)
                                                    : open_listener(endpoint, first.has_value());
    if (!socket) return fail(socket.error());
    if (!first) {
      endpoints.push_back(socket->name);
      if (socket->family == AF_UNIX) bound_paths.push_back(socket->bound);
      // The port that the system has chosen, if it was to choose one.
      if (const auto bound = parse_endpoint(socket->name)) endpoint = *bound;
      auto copy = duplicate(*socket);
      if (!copy) return fail(copy.error());
      first = std::move(*copy);
    }
    if (auto listening = io->listen(std::move(*socket)); !listening) return listening;
  }
  return {};
}

Result<void> Server::Parts::start_threads(const ServiceSettings& settings) {
  scraping = std::make_unique<AsideThreads>();
  if (auto started = scraping->start(1); !started) return started;
  shared.run_scrape = [this](std::function<void()> task) { return scraping->run(std::move(task)); };
  aside = std::make_unique<AsideThreads>();
  if (auto started = aside->start(settings.inspect_threads); !started) return started;
  shared.run_aside = [this](std::function<void()> task) { return aside->run(std::move(task)); };
  Result<void> started;
  for (const auto& io : ios) {
    if (!started) break;
    started = base::add_thread(threads, "fw-http", [io = io.get()] { io->run(); });
  }
  return started;
}

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::start(const ServiceSettings& settings, Engine& engine,
                                              LogSink log, const source::Network* network,
                                              InheritedListeners inherited) {
  std::unique_ptr<PictureEngine> own(new (std::nothrow) OwnEngine(engine, settings.defaults.codec));
  if (own == nullptr) return fail(StatusCode::kBusy, "memory ran out");
  PictureEngine& pictures = *own;
  return start(settings, pictures, std::move(own), std::move(log), network, std::move(inherited));
}

Result<std::unique_ptr<Server>> Server::start(const ServiceSettings& settings,
                                              PictureEngine& engine, LogSink log,
                                              const source::Network* network,
                                              InheritedListeners inherited) {
  return start(settings, engine, nullptr, std::move(log), network, std::move(inherited));
}

Result<std::unique_ptr<Server>> Server::start(const ServiceSettings& settings,
                                              PictureEngine& engine,
                                              std::unique_ptr<PictureEngine> own, LogSink log,
                                              const source::Network* network,
                                              InheritedListeners inherited) {
  if (auto valid = validate(settings); !valid) return fail(valid.error());
  if (auto good = check_inherited(settings, inherited); !good) return fail(good.error());
  try {
    auto parts = std::make_unique<Parts>(settings, engine, std::move(own), std::move(log), network);
    if (auto logging = parts->shared.log.start(); !logging) return fail(logging.error());
    auto tls = load_tls(settings, parts->shared.log);
    if (!tls) return fail(tls.error());
    parts->shared.tls.set(std::move(*tls));
    if (auto opened = parts->open_cache(settings); !opened) return fail(opened.error());
    if (auto made = parts->make_io_threads(settings); !made) return fail(made.error());
    if (auto open = parts->open_listeners(settings, inherited); !open) return fail(open.error());
    if (auto started = parts->start_threads(settings); !started) return fail(started.error());
    return std::unique_ptr<Server>(new Server(std::move(parts)));
  } catch (const std::bad_alloc&) {
    return fail(StatusCode::kBusy, "memory ran out");
  } catch (const std::exception& error) {  // Asio's contexts take descriptors
    return fail(StatusCode::kBusy, fmt::format("cannot start: {}", error.what()));
  }
}

const std::vector<std::string>& Server::endpoints() const noexcept { return parts_->endpoints; }

ServerState Server::state() const {
  const auto usage = parts_->shared.admission.usage();
  return {parts_->shared.connections.load(), usage.requests, usage.bytes, usage.pixels};
}

ClientAdmission& Server::admission() noexcept { return parts_->shared.admission; }

ClientCounters& Server::client_counters(ClientTransport transport) noexcept {
  return parts_->shared.metrics.clients[enum_index(transport)];
}

Result<SettingsChange> Server::reload(const ServiceSettings& wanted) {
  try {
    const SnapshotRef before = parts_->snapshots.current();
    SettingsChange change = merge_live(before->settings, completed(wanted));
    if (auto valid = validate(change.settings); !valid) return fail(valid.error());
    auto snapshot = parts_->snapshots.make(change.settings);
    if (!snapshot) return fail(snapshot.error());
    change.contents = changed_contents(*before, **snapshot);
    std::vector<SnapshotRef> references;
    for (std::size_t i = 0; i < parts_->ios.size(); ++i) {
      references.push_back(with_own_count(*snapshot));
    }
    auto tls = load_tls(change.settings, parts_->shared.log);
    if (!tls) return fail(tls.error());
    parts_->snapshots.publish(*snapshot);
    // Nothing fails from here on: all threads have the same settings.
    parts_->shared.tls.set(std::move(*tls));
    for (std::size_t i = 0; i < parts_->ios.size(); ++i) {
      parts_->ios[i]->give_snapshot(std::move(references[i]));
    }
    return change;
  } catch (const std::bad_alloc&) {
    return fail(StatusCode::kBusy, "memory ran out");
  }
}

bool Server::end_earlier_settings() noexcept { return parts_->snapshots.reap(); }

std::chrono::milliseconds Server::slowest_thread() const {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  std::chrono::nanoseconds slowest{0};
  for (const auto& io : parts_->ios) {
    const std::chrono::nanoseconds ticked(io->last_tick_ns());
    if (ticked.count() != 0) slowest = std::max(slowest, now - ticked);
  }
  return std::chrono::duration_cast<Milliseconds>(slowest);
}

bool Server::drain(const std::function<bool()>& hurry) {
  const SnapshotRef snapshot = parts_->snapshots.current();
  const ServiceSettings& settings = snapshot->settings;
  const auto wait_until = [&](base::Clock::time_point end, const auto& done) {
    while (base::Clock::now() < end && !done() && !(hurry && hurry())) {
      std::this_thread::sleep_for(kDrainPoll);
    }
    return done();
  };
  parts_->shared.draining = true;
  (void)wait_until(base::Clock::now() + Milliseconds(settings.drain_delay_ms),
                   [] { return false; });
  // First of all: whoever connects between a listener's last accept() and its end is reset, and
  // may have sent a request by then.
  parts_->unlink_paths();
  for (const auto& io : parts_->ios) io->post_drain();
  const bool ended = wait_until(base::Clock::now() + Milliseconds(settings.drain_timeout_ms), [&] {
    return parts_->shared.drained_threads >= parts_->ios.size() &&
           parts_->shared.connections.load() == 0;
  });
  if (!ended) {
    for (const auto& io : parts_->ios) io->post_close_all();
  }
  return ended;
}

}  // namespace framewire::service::http
