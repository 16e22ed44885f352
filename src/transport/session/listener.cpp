#include "transport/session/listener.hpp"
#include <chrono>
#include <optional>
#include <utility>
#include "transport/session/greeting.hpp"
#include "transport/session/security.hpp"
#include "transport/wire/socket.hpp"

namespace framewire::transport::session {
namespace {

using base::Clock;

Clock::time_point after(std::uint32_t ms) { return Clock::now() + std::chrono::milliseconds(ms); }

}  // namespace

class Listener::Impl {
 public:
  SessionOptions options;
  std::optional<wire::TlsContext> context;
  wire::Socket socket;
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
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  impl->context = std::move(*context);
  impl->socket = std::move(*socket);
  return Listener(std::move(impl));
}

std::uint16_t Listener::port() const { return wire::port_of(impl_->socket); }

Result<Joined> Listener::accept(std::uint32_t wait_ms) {
  auto socket = wire::accept_on(impl_->socket, after(wait_ms));
  if (!socket) return fail(socket.error());
  const auto deadline = after(impl_->options.timeout_ms);
  auto stream = impl_->context ? impl_->context->shake_hands(std::move(*socket), "", deadline)
                               : wire::make_plain_stream(std::move(*socket));
  if (!stream) return fail(stream.error());
  return greet_as_server(std::move(*stream), impl_->options, deadline);
}

}  // namespace framewire::transport::session
