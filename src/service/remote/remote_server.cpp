#include <fmt/format.h>
#include <algorithm>
#include <base/no_memory.hpp>
#include <base/start_thread.hpp>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <new>
#include <optional>
#include <service/remote/connection.hpp>
#include <service/remote/remote_server.hpp>
#include <string_view>
#include <thread>
#include <utility>

namespace framewire::service::remote {
namespace {

using std::chrono::milliseconds;

constexpr unsigned kMaxClients = 4096;
/// Threads that only tell somebody why they are not served.
constexpr std::size_t kMaxRefusals = 8;
/// How often who accepts looks whether the server ends.
constexpr std::uint32_t kAccept_ms = 100;
/// Besides a fetch and an answer for each slot: greetings, cancellations, last words.
constexpr std::uint32_t kOtherTransfers = 64;

Result<void> check(const RemoteServerOptions& options) {
  if (options.security.insecure) {
    return fail(StatusCode::kInvalidInput,
                "clients on other hosts prove who they are; accepted: a key file or certificates");
  }
  if (options.link != transport::kStreamLink && options.link != transport::kUcxRdmaLink) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("found link '{}'; accepted: stream, ucx-rdma", options.link));
  }
  if (options.max_clients == 0 || options.max_clients > kMaxClients || options.slots == 0 ||
      options.slots > ipc::kMaxRemoteSlots || options.client_share_percent == 0 ||
      options.client_share_percent > 100 || options.greeting.count() <= 0 ||
      options.patience.count() <= 0 || options.min_bytes_per_s == 0) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("found {} clients, {} slots, {} percent for one; accepted: 1 to {} "
                            "clients, 1 to {} slots, 1 to 100 percent, and some time and speed",
                            options.max_clients, options.slots, options.client_share_percent,
                            kMaxClients, ipc::kMaxRemoteSlots));
  }
  return {};
}

/// Tells clients apart for shares. Never 0, which stands for nobody in particular.
std::uint64_t user_of(const std::string& name) {
  return std::hash<std::string_view>{}(name) | std::uint64_t{1} << 63;
}

}  // namespace

class RemoteServer::Impl {
 public:
  Impl(PictureEngine& engine, http::ClientAdmission& admission, RemoteServerOptions options,
       transport::Listener listener)
      : common_{engine, admission, local::FairShare(options.under_way),
                options.counters != nullptr ? *options.counters : uncounted_, std::move(options)},
        listener_(std::move(listener)),
        port_(listener_->port()) {}
  ~Impl() {
    stop();
    if (accepting_.joinable()) accepting_.join();
    reap(true);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Result<void> start() {
    auto started = base::start_thread("fw-remote", [this] { accept(); });
    if (!started) return fail(std::move(started.error()));
    accepting_ = std::move(*started);
    return {};
  }

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

  bool drain(milliseconds deadline) {
    const auto until = base::Clock::now() + deadline;
    std::unique_lock lock(mutex_);
    draining_ = true;
    for (const auto& client : clients_) {
      if (client->connection) client->connection->drain();
    }
    const auto idle = [this] {
      return !accepts_ && std::ranges::all_of(clients_, [](const auto& client) {
        return client->done || !client->connection || client->connection->requests() == 0;
      });
    };
    // Looks now and then: answers tell nobody but their client.
    constexpr milliseconds kLook{2};
    while (!idle()) {
      if (base::Clock::now() >= until) return false;
      changed_.wait_for(lock, kLook);
    }
    return true;
  }

  [[nodiscard]] RemoteServerStats stats() const {
    const std::lock_guard lock(mutex_);
    RemoteServerStats stats;
    for (const auto& client : clients_) {
      if (client->done || client->refusal) continue;
      ++stats.clients;
      if (client->connection) stats.requests += client->connection->requests();
    }
    return stats;
  }

 private:
  struct Client {
    std::thread thread;
    std::unique_ptr<RemoteClientConnection> connection;  ///< until the end
    std::string name;
    std::optional<Status> refusal;  ///< why it is not served
    bool done = false;
  };

  using Clients = std::list<std::unique_ptr<Client>>;

  void stop() {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const auto& client : clients_) {
      if (client->connection) client->connection->stop();
    }
  }

  void accept() {
    const auto goes_on = [this] {
      const std::lock_guard lock(mutex_);
      return !stopping_ && !draining_;
    };
    while (goes_on()) {
      reap(false);
      try {
        auto channel = listener_->accept(kAccept_ms);
        if (channel) {
          enter(std::move(*channel));
        } else if (channel.error().code() != StatusCode::kDeadline) {
          tell({RemoteEvent::Kind::kRefused, {}, channel.error()});
        }
      } catch (const std::bad_alloc&) {
        // Who came is gone, with the memory that was taken for it.
      }
    }
    listener_.reset();
    const std::lock_guard lock(mutex_);
    accepts_ = false;
    changed_.notify_all();
  }

  /// Called with the lock held.
  [[nodiscard]] std::optional<Status> refusal_of(const std::string& name) const {
    std::size_t served = 0;
    std::size_t of_name = 0;
    for (const auto& client : clients_) {
      if (client->done || client->refusal) continue;
      ++served;
      of_name += client->name == name ? 1 : 0;
    }
    const auto& options = common_.options;
    const std::uint64_t share =
        std::max<std::uint64_t>(1, options.max_clients * options.client_share_percent / 100);
    if (options.client_share_percent < 100 && of_name >= share) {
      return Status(StatusCode::kBusy, fmt::format("'{}' has {} connections; at most {} are one's",
                                                   name, of_name, share));
    }
    if (served < options.max_clients) return std::nullopt;
    return Status(StatusCode::kBusy,
                  fmt::format("{} clients are served, and no more", options.max_clients));
  }

  void enter(transport::Channel channel) {
    Clients one;
    one.push_back(std::make_unique<Client>());
    Client& client = *one.front();
    client.name = channel.config().peer;
    client.connection =
        std::make_unique<RemoteClientConnection>(common_, user_of(client.name), std::move(channel));
    const auto begun = begin(one);
    if (!begun) tell({RemoteEvent::Kind::kRefused, client.name, begun.error()});
  }

  /// Gives a client its thread, which serves it or tells it why it is not served.
  /// @param one  the client; empty afterwards, unless this fails
  /// @return busy where it gets no thread
  Result<void> begin(Clients& one) {
    Client& client = *one.front();
    const std::lock_guard lock(mutex_);
    client.refusal = refusal_of(client.name);
    const auto refusals = std::ranges::count_if(
        clients_, [](const auto& other) { return !other->done && other->refusal; });
    if (client.refusal && static_cast<std::size_t>(refusals) >= kMaxRefusals) {
      return fail(*client.refusal);
    }
    if (stopping_) client.connection->stop();
    if (draining_) client.connection->drain();
    auto started = base::start_thread("fw-remote-peer", [this, &client] { serve(client); });
    if (!started) return fail(std::move(started.error()));
    client.thread = std::move(*started);
    clients_.splice(clients_.end(), one);
    return {};
  }

  /// A client's thread.
  void serve(Client& client) noexcept {
    auto kind = RemoteEvent::Kind::kRefused;
    Status end = [&]() -> Status {
      try {
        RemoteClientConnection& connection = *client.connection;
        if (client.refusal) {
          connection.refuse(*client.refusal);
          return *client.refusal;
        }
        if (auto greeted = connection.greet(); !greeted) {
          connection.refuse(greeted.error());
          return greeted.error();
        }
        kind = RemoteEvent::Kind::kEnded;
        tell({RemoteEvent::Kind::kConnected, client.name, Status(StatusCode::kCancelled, {})});
        return connection.run();
      } catch (const std::bad_alloc&) {
        return base::no_memory();
      } catch (...) {
        return base::status_of(StatusCode::kInternal, "an exception that nobody expected");
      }
    }();
    // Moved, not copied: nobody is here to answer where memory runs out.
    RemoteEvent event{kind, {}, std::move(end)};
    std::unique_ptr<RemoteClientConnection> over;
    {
      const std::lock_guard lock(mutex_);
      over = std::move(client.connection);
      event.peer = std::move(client.name);
    }
    over.reset();
    tell(event);
    const std::lock_guard lock(mutex_);
    client.done = true;
    changed_.notify_all();
  }

  void tell(const RemoteEvent& event) noexcept {
    common_.counters.count_event(event.kind);
    if (!common_.options.on_event) return;
    const std::lock_guard lock(telling_);
    try {
      common_.options.on_event(event);
    } catch (...) {
      // What an owner's function throws is dropped: the server has others to serve.
    }
  }

  /// Joins threads that have ended; with `all`, those that are about to.
  void reap(bool all) {
    Clients over;
    {
      const std::lock_guard lock(mutex_);
      for (auto place = clients_.begin(); place != clients_.end();) {
        const auto client = place++;
        if (all || (*client)->done) over.splice(over.end(), clients_, client);
      }
    }
    for (const auto& client : over) {
      if (client->thread.joinable()) client->thread.join();
    }
  }

  ClientCounters uncounted_;
  Common common_;
  std::optional<transport::Listener> listener_;  ///< of the thread that accepts, once that runs
  const std::uint16_t port_;
  std::mutex telling_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  bool draining_ = false;
  bool accepts_ = true;
  Clients clients_;
  std::thread accepting_;
};

RemoteServer::RemoteServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RemoteServer::~RemoteServer() = default;
RemoteServer::RemoteServer(RemoteServer&&) noexcept = default;

Result<RemoteServer> RemoteServer::start(PictureEngine& engine, http::ClientAdmission& admission,
                                         RemoteServerOptions options) {
  if (auto good = check(options); !good) return fail(good.error());
  transport::SessionOptions session;
  session.security = options.security;
  session.links = {options.link};
  session.ucx_device = options.ucx_device;
  session.capacity = 2 * options.slots + kOtherTransfers;
  auto listener = transport::Listener::listen(options.address, session);
  if (!listener) return fail(listener.error());
  auto impl = std::make_unique<Impl>(engine, admission, std::move(options), std::move(*listener));
  if (auto started = impl->start(); !started) return fail(started.error());
  return RemoteServer(std::move(impl));
}

std::uint16_t RemoteServer::port() const { return impl_->port(); }
bool RemoteServer::drain(milliseconds deadline) { return impl_->drain(deadline); }
RemoteServerStats RemoteServer::stats() const { return impl_->stats(); }

}  // namespace framewire::service::remote
