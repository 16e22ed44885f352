#include <fmt/format.h>
#include <poll.h>
#include <algorithm>
#include <atomic>
#include <base/start_thread.hpp>
#include <base/wake_event.hpp>
#include <condition_variable>
#include <ipc/greeting.hpp>
#include <mutex>
#include <service/local/connection.hpp>
#include <service/local/local_server.hpp>
#include <service/local/socket_file.hpp>
#include <service/local/visitors.hpp>
#include <thread>
#include <utility>

namespace framewire::service::local {
namespace {

constexpr unsigned kMaxClients = 4096;

/// What a client is given of what it asks for.
ipc::AreaSizes granted(const ipc::Hello& hello, const LocalServerOptions& options) {
  const auto area = [](std::uint64_t wanted, std::uint64_t most) {
    const std::uint64_t bytes = std::clamp(wanted, ipc::kMinAreaBytes, most);
    return (bytes + ipc::kPageBytes - 1) / ipc::kPageBytes * ipc::kPageBytes;
  };
  return {std::min(hello.slots, options.slots), area(hello.input_bytes, options.input_bytes),
          area(hello.output_bytes, options.output_bytes)};
}

Result<void> check(const LocalServerOptions& options) {
  const auto is_area = [](std::uint64_t bytes) {
    return bytes >= ipc::kMinAreaBytes && bytes <= ipc::kMaxAreaBytes &&
           bytes % ipc::kPageBytes == 0;
  };
  if (options.max_clients == 0 || options.max_clients > kMaxClients || options.slots == 0 ||
      options.slots > ipc::kMaxSlots || options.user_share_percent == 0 ||
      options.user_share_percent > 100 || !is_area(options.input_bytes) ||
      !is_area(options.output_bytes) || options.greeting.count() <= 0) {
    return fail(
        StatusCode::kInvalidInput,
        fmt::format("found {} clients, {} slots, {} percent for a user, {} bytes for inputs and {} "
                    "for outputs; accepted: 1 to {} clients, 1 to {} slots, 1 to 100 percent, "
                    "whole pages from {} to {} bytes, and some time to greet",
                    options.max_clients, options.slots, options.user_share_percent,
                    options.input_bytes, options.output_bytes, kMaxClients, ipc::kMaxSlots,
                    ipc::kMinAreaBytes, ipc::kMaxAreaBytes));
  }
  return {};
}

}  // namespace

class LocalServer::Impl {
 public:
  Impl(PictureEngine& engine, std::unique_ptr<PictureEngine> own, LocalServerOptions options,
       SocketFile socket)
      : own_(std::move(own)),
        engine_(engine),
        options_(std::move(options)),
        socket_(std::move(socket)),
        share_(options_.under_way),
        visitors_(options_.greeting, [this](Visitor visitor, Result<ipc::Hello> hello) {
          greeted(std::move(visitor), std::move(hello));
        }) {}
  // Nobody is let in once the first is shown out: clients that connect again look for the next
  // server.
  ~Impl() {
    stopping_ = true;
    event_.notify();
    if (listener_.joinable()) listener_.join();
    stop_clients();
    reap(true);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Result<void> start() {
    if (!event_.valid()) return fail(StatusCode::kBusy, "no descriptor is left for an event");
    auto started = base::start_thread("fw-local", [this] { listen(); });
    if (!started) return fail(std::move(started.error()));
    listener_ = std::move(*started);
    return {};
  }

  bool drain(std::chrono::milliseconds deadline) {
    const auto until = base::Clock::now() + deadline;
    std::unique_lock lock(mutex_);
    draining_ = true;
    event_.notify();
    for (const auto& client : clients_) {
      if (client->connection) client->connection->drain();
    }
    const auto idle = [this] {
      return !listening_ && std::ranges::all_of(clients_, [](const auto& client) {
        return client->done || (client->connection && client->connection->idle());
      });
    };
    // Looks now and then: answers tell nobody but their client.
    constexpr auto kLook = std::chrono::milliseconds(1);
    while (!idle()) {
      if (base::Clock::now() >= until) return false;
      changed_.wait_for(lock, kLook);
    }
    return true;
  }

  [[nodiscard]] LocalServerStats stats() const {
    const std::lock_guard lock(mutex_);
    return {static_cast<std::size_t>(
                std::ranges::count_if(clients_, [](const auto& client) { return !client->done; })),
            held_bytes_};
  }

 private:
  struct Client {
    std::thread thread;
    base::FileDescriptor socket;                        ///< until there is a connection
    std::unique_ptr<LocalClientConnection> connection;  ///< from the greeting to the end
    pid_t pid = 0;
    uid_t uid = 0;
    std::uint64_t bytes = 0;
    bool done = false;
  };

  void stop_clients() {
    const std::lock_guard lock(mutex_);
    shows_out_ = true;
    for (const auto& client : clients_) {
      if (client->connection) client->connection->stop();
    }
  }

  void listen() {
    bool accepts = true;
    while (!stopping_ && !draining_) {
      try {
        reap(false);
        std::vector<pollfd> files{{event_.fd(), POLLIN, 0},
                                  {accepts ? socket_.fd() : -1, POLLIN, 0}};
        visitors_.add_to(files);
        // Where descriptors ran out, others must end first.
        constexpr int kPause_ms = 100;
        (void)::poll(files.data(), files.size(), accepts ? visitors_.wait_ms() : kPause_ms);
        event_.clear();
        visitors_.look();
        accepts = accepts ? visitors_.accept(socket_.fd()) : true;
      } catch (const std::bad_alloc&) {
        accepts = false;
      }
    }
    visitors_.clear();
    socket_.close();
    const std::lock_guard lock(mutex_);
    listening_ = false;
    changed_.notify_all();
  }

  void greeted(Visitor visitor, Result<ipc::Hello> hello) {
    auto client = std::make_unique<Client>();
    client->pid = visitor.pid;
    client->uid = visitor.uid;
    const auto begun = hello ? begin(client, *hello, visitor) : fail(hello.error());
    if (!begun) send_away(visitor, begun.error());
  }

  /// Gives a client its place and its thread.
  /// @param made     the client; taken, unless this fails
  /// @param visitor  its socket is taken, unless this fails
  Result<void> begin(std::unique_ptr<Client>& made, const ipc::Hello& hello, Visitor& visitor) {
    Client& client = *made;
    const std::lock_guard lock(mutex_);
    clients_.reserve(clients_.size() + 1);  // nothing throws once there is a thread
    const auto entered = enter(client, hello);
    if (!entered) return fail(entered.error());
    client.socket = std::move(visitor.socket);
    auto started = base::start_thread("fw-local-client",
                                      [this, &client, sizes = *entered] { serve(client, sizes); });
    if (!started) {
      held_bytes_ -= client.bytes;
      visitor.socket = std::move(client.socket);
      return fail(std::move(started.error()));
    }
    client.thread = std::move(*started);
    clients_.push_back(std::move(made));
    return {};
  }

  /// Reserves a place and its bytes. Called with the lock held.
  Result<ipc::AreaSizes> enter(Client& client, const ipc::Hello& hello) {
    const auto& uids = options_.uids;
    if (!uids.empty() && std::ranges::find(uids, client.uid) == uids.end()) {
      return fail(StatusCode::kDenied, fmt::format("user {} is not served here", client.uid));
    }
    const ipc::AreaSizes sizes = granted(hello, options_);
    // With what slots take, which is more than small areas do.
    const auto layout = ipc::Layout::make(sizes);
    if (!layout) return fail(layout.error());
    client.bytes = layout->total;
    if (auto within = check_share(client); !within) return fail(within.error());
    const auto served = std::ranges::count_if(clients_, [](const auto& c) { return !c->done; });
    if (static_cast<std::size_t>(served) >= options_.max_clients) {
      return fail(StatusCode::kBusy,
                  fmt::format("{} clients are served, and no more", options_.max_clients));
    }
    if (client.bytes > options_.total_bytes - held_bytes_) {
      return fail(StatusCode::kBusy,
                  fmt::format("the server's clients hold {} of {} bytes; {} more are too many",
                              held_bytes_, options_.total_bytes, client.bytes));
    }
    held_bytes_ += client.bytes;
    return sizes;
  }

  /// Called with the lock held. Connections stay as long as their clients like, so that a bound
  /// which only held while others wait could not be kept.
  Result<void> check_share(const Client& client) const {
    const std::uint64_t percent = options_.user_share_percent;
    if (percent == 100) return {};
    std::uint64_t served = 0;
    std::uint64_t bytes = 0;
    for (const auto& other : clients_) {
      if (other->done || other->uid != client.uid) continue;
      ++served;
      bytes += other->bytes;
    }
    const std::uint64_t most = std::max<std::uint64_t>(1, options_.max_clients * percent / 100);
    const std::uint64_t max_bytes = options_.total_bytes / 100 * percent;
    if (served < most && (served == 0 || bytes + client.bytes <= max_bytes)) return {};
    return fail(StatusCode::kBusy,
                fmt::format("user {} has {} of at most {} connections for one user, and {} of {} "
                            "bytes; {} more are too many",
                            client.uid, served, most, bytes, max_bytes, client.bytes));
  }

  void send_away(Visitor& visitor, const Status& why) {
    tell({LocalEvent::Kind::kRefused, visitor.pid, visitor.uid, why});
    const transport::shared::LocalPeer peer(std::move(visitor.socket));
    const ipc::Word word = ipc::make_word(why);
    (void)peer.send(std::as_bytes(std::span(&word, 1)));
  }

  /// A client's thread.
  void serve(Client& client, const ipc::AreaSizes& sizes) noexcept {
    Status end = [&]() -> Status {
      try {
        if (auto made = make_connection(client, sizes); !made) {
          return made.error();
        }
        tell({LocalEvent::Kind::kConnected, client.pid, client.uid,
              Status(StatusCode::kCancelled, {})});
        return client.connection->run();
      } catch (const std::bad_alloc&) {
        return {StatusCode::kBusy, "memory ran out"};
      } catch (...) {
        return {StatusCode::kInternal, "an exception that nobody expected"};
      }
    }();
    const bool was_served = client.connection != nullptr;
    std::unique_ptr<LocalClientConnection> over;
    {
      const std::lock_guard lock(mutex_);
      over = std::move(client.connection);
    }
    over.reset();
    tell({was_served ? LocalEvent::Kind::kEnded : LocalEvent::Kind::kRefused, client.pid,
          client.uid, std::move(end)});
    const std::lock_guard lock(mutex_);
    held_bytes_ -= client.bytes;
    client.done = true;
    changed_.notify_all();
    event_.notify();
  }

  Result<void> make_connection(Client& client, const ipc::AreaSizes& sizes) {
    transport::shared::LocalPeer peer(std::move(client.socket));
    const auto refuse = [&](const Status& why) {
      const ipc::Word word = ipc::make_word(why);
      (void)peer.send(std::as_bytes(std::span(&word, 1)));
      return fail(why);
    };
    // Before the client is welcome: without an event nobody could end its thread.
    auto event = std::make_shared<base::WakeEvent>();
    if (!event->valid()) return refuse({StatusCode::kBusy, "no descriptor is left for an event"});
    auto pages = ipc::SharedPages::make(sizes);
    if (!pages) return refuse(pages.error());
    auto registered = engine_.register_memory(pages->input_with_guard());
    if (!registered) return refuse(registered.error());
    ipc::Word word;
    word.slots = sizes.slots;
    word.input_bytes = sizes.input_bytes;
    word.output_bytes = sizes.output_bytes;
    const int file = pages->fd();
    const auto sent = peer.send(std::as_bytes(std::span(&word, 1)), {&file, 1});
    if (!sent) return fail(sent.error());
    pages->close_file();
    const ConnectionContext context{.engine = engine_,
                                    .share = share_,
                                    .counters = counters_,
                                    .limits = options_.limits,
                                    .takes_memory_back = true};
    auto connection = std::make_unique<LocalClientConnection>(
        context, client.uid, std::move(*pages), std::move(*registered), std::move(peer),
        std::move(event));
    const std::lock_guard lock(mutex_);
    client.connection = std::move(connection);
    if (shows_out_) client.connection->stop();
    if (draining_) client.connection->drain();
    return {};
  }

  void tell(const LocalEvent& event) noexcept {
    counters_.count_event(event.kind);
    if (!options_.on_event) return;
    const std::lock_guard lock(telling_);
    try {
      options_.on_event(event);
    } catch (...) {
      // What an owner's function throws is dropped: the server has others to serve.
    }
  }

  /// Joins threads that have ended; with `all`, those that are about to.
  void reap(bool all) {
    std::vector<std::unique_ptr<Client>> over;
    {
      const std::lock_guard lock(mutex_);
      if (all) {
        over.swap(clients_);
      } else {
        over.reserve(clients_.size());  // what throws, throws before anything is moved
        const auto keep = std::stable_partition(clients_.begin(), clients_.end(),
                                                [](const auto& client) { return !client->done; });
        std::move(keep, clients_.end(), std::back_inserter(over));
        clients_.erase(keep, clients_.end());
      }
    }
    for (const auto& client : over) {
      if (client->thread.joinable()) client->thread.join();
    }
  }

  const std::unique_ptr<PictureEngine> own_;  ///< over an engine of this process; else null
  PictureEngine& engine_;
  const LocalServerOptions options_;
  ClientCounters uncounted_;
  ClientCounters& counters_ = options_.counters != nullptr ? *options_.counters : uncounted_;
  SocketFile socket_;
  FairShare share_;
  Visitors visitors_;
  base::WakeEvent event_;
  std::atomic<bool> stopping_{false};
  bool shows_out_ = false;  ///< with the lock: the socket is closed, and clients are shown out
  std::atomic<bool> draining_{false};
  std::mutex telling_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool listening_ = true;
  std::uint64_t held_bytes_ = 0;
  std::vector<std::unique_ptr<Client>> clients_;
  std::thread listener_;
};

LocalServer::LocalServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LocalServer::~LocalServer() = default;
LocalServer::LocalServer(LocalServer&&) noexcept = default;

Result<LocalServer> LocalServer::start(PictureEngine& engine, LocalServerOptions options) {
  return start(engine, nullptr, std::move(options));
}

Result<LocalServer> LocalServer::start(Engine& engine, LocalServerOptions options) {
  auto own = std::make_unique<OwnEngine>(engine);
  PictureEngine& pictures = *own;
  return start(pictures, std::move(own), std::move(options));
}

Result<LocalServer> LocalServer::start(PictureEngine& engine, std::unique_ptr<PictureEngine> own,
                                       LocalServerOptions options) {
  base::FileDescriptor given(std::exchange(options.listener_fd, -1));
  if (auto good = check(options); !good) return fail(good.error());
  auto socket = given.valid() ? SocketFile::adopt(std::move(given))
                              : SocketFile::listen(options.path, options.mode);
  if (!socket) return fail(socket.error());
  auto impl =
      std::make_unique<Impl>(engine, std::move(own), std::move(options), std::move(*socket));
  if (auto started = impl->start(); !started) return fail(started.error());
  return LocalServer(std::move(impl));
}

bool LocalServer::drain(std::chrono::milliseconds deadline) { return impl_->drain(deadline); }
LocalServerStats LocalServer::stats() const { return impl_->stats(); }

}  // namespace framewire::service::local
