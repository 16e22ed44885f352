#include <chrono>
#include <transport/session/handshakes.hpp>
#include <transport/session/listener.hpp>
#include <transport/session/security.hpp>
#include <transport/wire/socket.hpp>
#include <utility>

namespace framewire::transport::session {
class Listener::Impl {
 public:
  std::unique_ptr<Handshakes> handshakes;
};

Listener::Listener(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Listener::~Listener() = default;
Listener::Listener(Listener&&) noexcept = default;
Listener& Listener::operator=(Listener&&) noexcept = default;

Result<Listener> Listener::listen(const std::string& address, const SessionOptions& options) {
  const auto where = wire::parse_address(address);
  if (!where) return fail(where.error());
  auto context = open_context(options, true);
  if (!context) return fail(context.error());
  auto socket = wire::listen_on(*where);
  if (!socket) return fail(socket.error());
  auto handshakes = Handshakes::start(options, std::move(*context), std::move(*socket));
  if (!handshakes) return fail(handshakes.error());
  auto impl = std::make_unique<Impl>();
  impl->handshakes = std::move(*handshakes);
  return Listener(std::move(impl));
}

std::uint16_t Listener::port() const { return wire::port_of(impl_->handshakes->port()); }

Result<Joined> Listener::accept(std::uint32_t wait_ms) {
  return impl_->handshakes->take(base::Clock::now() + std::chrono::milliseconds(wait_ms));
}

}  // namespace framewire::transport::session
