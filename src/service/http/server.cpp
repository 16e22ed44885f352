#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <memory>
#include <service/http/aside_threads.hpp>
#include <service/http/images.hpp>
#include <service/http/io_thread.hpp>
#include <service/http/server.hpp>
#include <system_error>
#include <thread>

namespace framewire::service::http {
namespace {

using Milliseconds = std::chrono::milliseconds;

// One thread of sockets keeps about four of the CPU codec busy, with room to spare.
constexpr unsigned kCoresPerThread = 4;
constexpr Milliseconds kDrainPoll{10};

unsigned thread_count(const Settings& settings) {
  if (settings.threads != 0) return settings.threads;
  return std::max(1u, std::thread::hardware_concurrency() / kCoresPerThread);
}

Settings completed(Settings settings) {
  // Whoever waits for an answer gets 503 after this time; work beyond it is for nobody.
  auto& deadline = settings.defaults.limits.deadline_ms;
  const auto timeout = static_cast<std::uint32_t>(settings.request_timeout_ms);
  deadline = deadline == 0 ? timeout : std::min(deadline, timeout);
  return settings;
}

// One thread is enough for those.
Result<void> listen_for_metrics(const Settings& settings, IoThread& io,
                                std::vector<std::string>& names,
                                std::vector<std::string>& unix_paths) {
  for (const std::string& text : settings.metrics) {
    if (text == "main" || text == "none") continue;
    const auto endpoint = parse_endpoint(text);
    if (!endpoint) return fail(Status(StatusCode::kInvalidInput, "no address").about(text));
    auto socket = open_listener(*endpoint);
    if (!socket) return fail(socket.error());
    names.push_back(socket->name);
    if (socket->family == AF_UNIX) unix_paths.push_back(socket->unix_path);
    if (auto listening = io.listen(std::move(*socket), true); !listening) return listening;
  }
  return {};
}

}  // namespace

EngineOptions engine_options(const Settings& settings) {
  EngineOptions options;
  options.codec = settings.defaults.codec;
  options.threads = settings.engine_threads;
  // Admission counts, so that the engine is never the one that is full.
  options.queue = settings.queue + 1;
  return options;
}

struct Server::Parts {
  Parts(const Settings& settings, Engine& engine, LogSink log)
      : shared(completed(settings), engine, std::move(log)) {}
  ~Parts() {
    // The threads hand tasks aside, and so end first; tasks post to the threads' contexts, which
    // live until `ios` ends.
    for (const auto& io : ios) io->stop();
    for (std::thread& thread : threads) thread.join();
    aside.reset();
    scraping.reset();
    // The engine reads inputs that requests keep, and originals are fetched for them.
    shared.engine.drain();
    if (images != nullptr) images->close();
    ios.clear();
    for (const std::string& path : unix_paths) (void)::unlink(path.c_str());
  }

  SharedState shared;
  std::unique_ptr<Images> images;
  std::vector<std::unique_ptr<IoThread>> ios;
  std::vector<std::thread> threads;
  std::vector<std::string> unix_paths;
  std::unique_ptr<AsideThreads> aside;
  std::unique_ptr<AsideThreads> scraping;
};

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::start(const Settings& settings, Engine& engine, LogSink log,
                                              const source::Network* network) {
  if (auto valid = validate(settings); !valid) return fail(valid.error());
  try {
    auto parts = std::make_unique<Parts>(settings, engine, std::move(log));
    std::vector<std::string> names;
    if (settings.source.remote || !settings.source.root.empty()) {
      auto images = Images::make(parts->shared.settings, engine, network);
      if (!images) return fail(images.error());
      parts->images = std::move(*images);
      parts->shared.images = parts->images.get();
    } else if (auto grammar = url::Grammar::make(settings.url); !grammar) {
      return fail(grammar.error());  // a mistake there is told before it matters
    }
    for (unsigned i = 0; i < thread_count(settings); ++i) {
      parts->ios.push_back(std::make_unique<IoThread>(parts->shared));
      if (auto made = parts->ios.back()->prepare(); !made) return fail(made.error());
    }
    for (const std::string& text : settings.listen) {
      auto endpoint = parse_endpoint(text);
      if (!endpoint) {
        return fail(Status(StatusCode::kInvalidInput, "no address").about(text));
      }
      std::optional<ListeningSocket> first;
      for (const auto& io : parts->ios) {
        // Every thread has a TCP socket of its own, and shares one of the file system.
        auto socket =
            first && first->family == AF_UNIX ? duplicate(*first) : open_listener(*endpoint);
        if (!socket) return fail(socket.error());
        if (!first) {
          names.push_back(socket->name);
          if (socket->family == AF_UNIX) parts->unix_paths.push_back(socket->unix_path);
          const auto bound = parse_endpoint(socket->name);
          if (bound) endpoint = bound;
          auto copy = duplicate(*socket);
          if (!copy) return fail(copy.error());
          first = std::move(*copy);
        }
        if (auto listening = io->listen(std::move(*socket)); !listening) {
          return fail(listening.error());
        }
      }
    }
    if (auto listening =
            listen_for_metrics(settings, *parts->ios.front(), names, parts->unix_paths);
        !listening) {
      return fail(listening.error());
    }
    parts->scraping = std::make_unique<AsideThreads>(1);
    parts->shared.run_scrape = [scraping = parts->scraping.get()](std::function<void()> task) {
      return scraping->run(std::move(task));
    };
    parts->aside = std::make_unique<AsideThreads>(settings.inspect_threads);
    parts->shared.run_aside = [aside = parts->aside.get()](std::function<void()> task) {
      return aside->run(std::move(task));
    };
    for (const auto& io : parts->ios) {
      parts->threads.emplace_back([io = io.get()] { io->run(); });
    }
    std::unique_ptr<Server> server(new Server(std::move(parts)));
    server->endpoints_ = std::move(names);
    return server;
  } catch (const std::bad_alloc&) {
    return fail(StatusCode::kBusy, "memory ran out");
  } catch (const std::system_error& error) {
    return fail(StatusCode::kBusy, fmt::format("cannot start threads: {}", error.what()));
  }
}

ServerState Server::state() const {
  const auto usage = parts_->shared.admission.usage();
  return {parts_->shared.connections.load(), usage.requests, usage.bytes, usage.pixels};
}

bool Server::drain(const std::function<bool()>& hurry) {
  using Clock = std::chrono::steady_clock;
  const Settings& settings = parts_->shared.settings;
  const auto wait_until = [&](Clock::time_point end, const auto& done) {
    while (Clock::now() < end && !done() && !(hurry && hurry())) {
      std::this_thread::sleep_for(kDrainPoll);
    }
    return done();
  };
  parts_->shared.draining = true;
  (void)wait_until(Clock::now() + Milliseconds(settings.drain_delay_ms), [] { return false; });
  for (const auto& io : parts_->ios) io->post_drain();
  const bool ended = wait_until(Clock::now() + Milliseconds(settings.drain_timeout_ms), [&] {
    return parts_->shared.drained_threads >= parts_->ios.size() &&
           parts_->shared.connections.load() == 0;
  });
  if (!ended) {
    for (const auto& io : parts_->ios) io->post_close_all();
  }
  return ended;
}

}  // namespace framewire::service::http
