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

Connection::~Connection() {
  if (!counted_) return;
  if (peer_.metrics_listener) io_.shared().metrics_connections.fetch_sub(1);
  io_.shared().connections.fetch_sub(1);
  if (!peer_.metrics_listener) io_.shared().addresses.remove(peer_.client);
}

}  // namespace framewire::service::http
