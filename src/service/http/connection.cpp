#include <service/http/connection.hpp>
#include <service/http/io_thread.hpp>
#include <utility>

namespace framewire::service::http {

Connection::Connection(IoThread& io, Peer peer) : io_(io), peer_(std::move(peer)) {
  if (!peer_.metrics_listener) io_.shared().addresses.add(peer_.client);
  io_.shared().connections.fetch_add(1);
  if (peer_.metrics_listener) io_.shared().metrics_connections.fetch_add(1);
}

Connection::Connection(InPlaceOf other) noexcept
    : io_(other.before.io_),
      peer_(std::move(other.before.peer_)),
      counted_(std::exchange(other.before.counted_, false)) {}

std::optional<Stall> Connection::stall(Clock::time_point now) noexcept {
  if (between_requests()) {
    progress_.forget();
    return std::nullopt;
  }
  const auto lately = progress_.look(moved_bytes(), answers_, now);
  if (!lately || lately->bytes_per_second >= kMinBytesPerSecond) return std::nullopt;
  const auto pace = slowest({.bodies = true, .answers = true, .uncharged = true}, now);
  const bool is_slow = pace && *pace < kMinBytesPerSecond;
  if (!is_slow && lately->answered) return std::nullopt;
  return Stall{!pace || (!is_slow && is_in_work()), lately->bytes_per_second};
}

Connection::~Connection() {
  if (!counted_) return;
  if (peer_.metrics_listener) io_.shared().metrics_connections.fetch_sub(1);
  io_.shared().connections.fetch_sub(1);
  if (!peer_.metrics_listener) io_.shared().addresses.remove(peer_.client);
}

}  // namespace framewire::service::http
