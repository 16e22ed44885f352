#include "transport/session/session.hpp"
#include <fmt/format.h>
#include <chrono>
#include <optional>
#include <utility>
#include "transport/session/greeting.hpp"
#include "transport/session/links.hpp"
#include "transport/wire/control.hpp"

namespace framewire::transport::session {
namespace {

using base::Clock;

Clock::time_point after(std::uint32_t ms) { return Clock::now() + std::chrono::milliseconds(ms); }

Result<std::optional<wire::TlsContext>> make_context(const SessionOptions& options, bool server) {
  if (options.capacity == 0 || options.capacity > wire::kMaxCapacity) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("a capacity of {}; 1 to {}", options.capacity, wire::kMaxCapacity));
  }
  if (auto names = allowed_links(options); !names) return fail(names.error());
  if (auto good = wire::check(options.security); !good) return fail(good.error());
  if (options.security.insecure) return std::nullopt;
  auto context = wire::TlsContext::make(options.security, server);
  if (!context) return fail(context.error());
  return std::optional<wire::TlsContext>(std::move(*context));
}

Result<std::unique_ptr<wire::Stream>> secure(const std::optional<wire::TlsContext>& context,
                                             wire::Socket socket, const std::string& host,
                                             Clock::time_point deadline) {
  if (!context) return wire::make_plain_stream(std::move(socket));
  return context->shake_hands(std::move(socket), host, deadline);
}

}  // namespace

Result<Joined> connect(const std::string& address, const SessionOptions& options) {
  const auto deadline = after(options.timeout_ms);
  const auto where = wire::parse_address(address);
  if (!where) return fail(where.error());
  const auto context = make_context(options, false);
  if (!context) return fail(context.error());
  auto socket = wire::connect_to(*where, deadline);
  if (!socket) return fail(socket.error());
  auto stream = secure(*context, std::move(*socket), where->host, deadline);
  if (!stream) return fail(stream.error());
  return greet_as_client(std::move(*stream), options, deadline);
}

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
  auto context = make_context(options, true);
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
  auto stream = secure(impl_->context, std::move(*socket), "", deadline);
  if (!stream) return fail(stream.error());
  return greet_as_server(std::move(*stream), impl_->options, deadline);
}

}  // namespace framewire::transport::session
