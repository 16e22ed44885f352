// Names to addresses, on a few threads: looking a name up blocks, and strangers choose the names.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <service/source/held_places.hpp>
#include <service/source/network.hpp>
#include <service/source/sources.hpp>
#include <string>
#include <thread>
#include <vector>

namespace framewire::service::source {

/// One name that is being looked up. What it found may be read once `ready` is true.
struct Lookup {
  Lookup(std::string name, AskedBy asker) : host(std::move(name)), client(std::move(asker)) {}

  const std::string host;
  const AskedBy client;
  std::vector<IpAddress> addresses;
  std::string error;       ///< why there are no addresses; empty where there are some
  bool no_memory = false;  ///< memory ran out, which says nothing about the name
  std::atomic<bool> ready = false;
};

/// Strangers choose how long a lookup takes, too: by a name server of their own that says nothing.
/// So who holds fewest threads is next, and one client leaves some to others.
/// Thread safety: all members, from any number of threads.
class Resolver {
 public:
  /// @param resolve   as Network::resolve, not empty
  /// @param on_ready  called on a thread of the resolver after each lookup; must not throw
  Resolver(decltype(Network::resolve) resolve, std::function<void()> on_ready);
  ~Resolver() { stop(); }
  /// @return false where no thread could be started
  [[nodiscard]] bool start(unsigned threads);
  /// Drops what waits; waits for the names that are being looked up. Afterwards on_ready is not
  /// called any more.
  void stop() noexcept;

  /// Looks a name up when a thread is free. Throws std::bad_alloc.
  void ask(std::shared_ptr<Lookup> lookup);
  /// Nobody waits for it any more: it leaves the queue, unless a thread has begun.
  void forget(const std::shared_ptr<Lookup>& lookup) noexcept;
  /// For whom a lookup is may have changed, so that one may begin that might not before.
  void look_again() noexcept { wake_.notify_one(); }

 private:
  /// What may begin: a place in the queue, its size where nothing may, and the client it counts
  /// for.
  struct Next {
    std::size_t at = 0;
    std::uint64_t client = 0;
  };
  void run() noexcept;
  /// With the lock.
  [[nodiscard]] Next next() const noexcept;
  void look_up(Lookup& lookup) const noexcept;

  decltype(Network::resolve) resolve_;
  std::function<void()> on_ready_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Lookup>> queue_;
  HeldPlaces held_{0};  ///< threads that look a name up
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace framewire::service::source
