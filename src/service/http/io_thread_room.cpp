// Which connection, handshake, body, original or answer gives way to others.
#include <algorithm>
#include <base/file_descriptor.hpp>
#include <memory>
#include <service/http/images.hpp>
#include <service/http/io_thread.hpp>

namespace framewire::service::http {
namespace {

// Connections are watched once this part of --max-connections is taken, so that it is known which
// of them get nowhere when there is no place left.
constexpr std::uint64_t kWatchedFrom_percent = 75;

}  // namespace

// Whether the address has as many connections as it may while others want some.
bool IoThread::beyond_share(ClientKey client) const noexcept {
  const std::uint64_t percent = shared_.settings.client_share_percent;
  const std::uint64_t share =
      std::max<std::uint64_t>(settings().max_connections * percent / 100, 1);
  return percent < 100 && shared_.addresses.of(client) >= share;
}

// Closes the connection that has waited longest without a whole request: one of the newcomer's own
// address if that has its share, else one of an address that has. Where there is none, the
// newcomer's address still gets its share: of an address that has more, the connection that gets
// nowhere by its client's fault; else any that waits.
bool IoThread::make_room(bool metrics, ClientKey newcomer) {
  const bool own_alone = !metrics && beyond_share(newcomer);
  Connection* oldest = nullptr;
  bool oldest_is_greedy = false;
  for (const auto& [key, connection] : connections_) {
    if (connection->metrics_listener() != metrics || !connection->between_requests()) continue;
    if (own_alone && connection->client() != newcomer) continue;
    const bool greedy = !metrics && beyond_share(connection->client());
    const bool earlier = oldest == nullptr || connection->deadline() < oldest->deadline();
    if (oldest == nullptr || (greedy == oldest_is_greedy ? earlier : greedy)) {
      oldest = connection.get();
      oldest_is_greedy = greedy;
    }
  }
  const bool takes_share = !metrics && !own_alone && !oldest_is_greedy;
  if (takes_share && displace_stalled(Connection::Clock::now(), false)) return true;
  if (oldest == nullptr) return false;
  oldest->close();
  return true;
}

// Where nobody waits, here or elsewhere: closes a connection that gets nowhere so far, of an
// address that has more than its share.
bool IoThread::make_room_for(const Arrival& arrival, ClientKey newcomer) {
  return !arrival.metrics && !beyond_share(newcomer) &&
         displace_stalled(Connection::Clock::now(), true);
}

void IoThread::count_waiting() noexcept {
  const auto waiting = std::ranges::count_if(connections_, [](const auto& entry) {
    return !entry.second->metrics_listener() && entry.second->between_requests();
  });
  waiting_.store(static_cast<std::uint64_t>(waiting), std::memory_order_relaxed);
}

// The other thread on which most connections wait, which has one less from now on. So a crowd sends
// each thread no more newcomers than it has places for, however many come between two ticks.
// @return null where none waits
IoThread* IoThread::take_waiting_place() noexcept {
  while (true) {
    IoThread* best = nullptr;
    std::uint64_t most = 0;
    for (IoThread* const other : shared_.io_threads) {
      const std::uint64_t waiting = other->waiting_.load(std::memory_order_relaxed);
      if (other == this || waiting <= most) continue;
      best = other;
      most = waiting;
    }
    if (best == nullptr) return nullptr;
    // Others may have taken the place, or the thread have counted anew, since it was looked at.
    if (best->waiting_.compare_exchange_strong(most, most - 1, std::memory_order_relaxed)) {
      return best;
    }
  }
}

// Hands a newcomer to another thread, where a connection waits and none does here: once, and not of
// an address that has its share, which displaces its own alone.
// @return whether the socket is another thread's now
bool IoThread::hand_on(Socket& socket, const Arrival& arrival, ClientKey newcomer) {
  // Who drains counts connections, of which this is none while it is on its way.
  const bool stays =
      arrival.metrics || arrival.handed_on || beyond_share(newcomer) || shared_.draining.load();
  IoThread* const other = stays ? nullptr : take_waiting_place();
  if (other == nullptr) return false;
  Arrival there = arrival;
  there.handed_on = true;
  return hand_to(*other, socket, there);
}

// @return whether the socket is the other thread's now
bool IoThread::hand_to(IoThread& other, Socket& socket, const Arrival& arrival) {
  const auto kept = std::make_shared<base::FileDescriptor>();
  boost::system::error_code error;
  const int fd = socket.release(error);
  if (error) return false;
  *kept = base::FileDescriptor(fd);
  // Where memory has run out the socket is closed, as nobody could be told.
  (void)other.post([&other, kept, arrival] { other.adopt_handed_on(kept->release(), arrival); });
  return true;
}

void IoThread::adopt_handed_on(int fd, Arrival arrival) {
  base::FileDescriptor kept(fd);
  boost::system::error_code error;
  Socket socket(context_);
  socket.assign(arrival.protocol, fd, error);
  if (error) return;
  (void)kept.release();
  adopt(std::move(socket), arrival);
}

// Descriptors are the process's: whichever thread has a connection that waits can free one.
void IoThread::make_room_for_descriptors() {
  if (make_room(false, {})) return;
  IoThread* const other = take_waiting_place();
  if (other == nullptr) {
    (void)displace_stalled(Connection::Clock::now(), true);
  } else {
    (void)other->post([other] { (void)other->make_room(false, {}); });
  }
}

// Puts the connections that get nowhere in order, of addresses that have their share: once in a
// tick, however many newcomers there are, and not before places become few.
void IoThread::find_stalled(Connection::Clock::time_point now) {
  stalled_.clear();
  const std::uint64_t for_metrics = shared_.metrics_connections.load();
  const std::uint64_t few = settings().max_connections * kWatchedFrom_percent / 100 + for_metrics;
  if (shared_.connections.load() < few) return;
  for (const auto& [key, connection] : connections_) {
    if (connection->metrics_listener() || !beyond_share(connection->client())) continue;
    if (const auto stall = connection->stall(now)) stalled_.emplace_back(*stall, connection);
  }
  std::ranges::sort(stalled_,
                    [](const auto& one, const auto& other) { return one.first > other.first; });
}

// @param any  also one that may get on without its client's doing. @return false where there is
// none
bool IoThread::displace_stalled(Connection::Clock::time_point now, bool any) {
  while (!stalled_.empty() && (any || !stalled_.back().first.may_get_on)) {
    const auto connection = stalled_.back().second.lock();
    stalled_.pop_back();
    if (connection == nullptr || !connections_.contains(connection.get())) continue;
    // Since the tick it may have got on, or its address may have come back to its share.
    const auto stall = connection->stall(now);
    if (!stall || (stall->may_get_on && !any) || !beyond_share(connection->client())) continue;
    connection->displace();
    return true;
  }
  return false;
}

// Closes the oldest handshake of the client that has most here, or on another thread where one has
// many more. Those are that thread's to close: it gets the newcomer, once.
// @return whether a handshake may begin here
bool IoThread::make_room_for_handshake(Socket& socket, const Arrival& arrival) {
  // Who drains counts connections, of which this is none while it is on its way.
  const bool stays = arrival.handshake_handed_on || shared_.draining.load();
  if (IoThread& other = most_crowded_by_handshakes(); !stays && &other != this) {
    Arrival there = arrival;
    there.handshake_handed_on = true;
    if (hand_to(other, socket, there)) return false;
  }
  Connection* const giving_way = handshakes_.giving_way();
  shared_.metrics.handshakes_displaced.add();
  if (giving_way == nullptr) return false;
  giving_way->close();
  return true;
}

// The thread on which one client has most handshakes under way, if these are more than twice as
// many as here; else this one. So a flood that comes to all threads is displaced on all of them,
// and one thread does not get everybody's handshakes.
IoThread& IoThread::most_crowded_by_handshakes() noexcept {
  IoThread* crowded = this;
  std::size_t most = 2 * handshakes_.most_of_one();
  for (IoThread* const other : shared_.io_threads) {
    const std::size_t there = other->most_handshakes_.load(std::memory_order_relaxed);
    if (there <= most) continue;
    crowded = other;
    most = there;
  }
  return *crowded;
}

// While others are refused, an address that has more than its share gives up what moves slowest.
void IoThread::make_way(Connection::Clock::time_point now) {
  if (!shared_.admission.contended(now)) return;
  std::shared_ptr<Connection> slowest;
  double least = 0;
  for (const auto& [key, connection] : connections_) {
    const auto of = shared_.admission.gives_way(connection->client(), now);
    const auto pace = connection->slowest(of, now);
    if (!pace || (slowest && *pace >= least)) continue;
    slowest = connection;
    least = *pace;
  }
  ClientAdmission& admission = shared_.admission;
  const auto fetch = shared_.images->slowest_fetch(*this, now);
  if (fetch && (!slowest || fetch->bytes_per_second < least)) {
    const auto cut = admission.begin_cut(fetch->client, fetch->bytes_per_second, this, now);
    if (cut.bodies) shared_.images->give_way(*fetch);
  } else if (slowest) {
    slowest->give_way(admission.begin_cut(slowest->client(), least, this, now), now);
  }
}

}  // namespace framewire::service::http
