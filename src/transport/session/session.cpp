#include <chrono>
#include <transport/session/greeting.hpp>
#include <transport/session/security.hpp>
#include <transport/session/session.hpp>
#include <transport/wire/socket.hpp>
#include <utility>

namespace framewire::transport::session {

Result<Joined> connect(const std::string& address, const SessionOptions& options,
                       const std::stop_token& stop) {
  const auto deadline = base::Clock::now() + std::chrono::milliseconds(options.timeout_ms);
  const auto where = wire::parse_address(address);
  if (!where) return fail(where.error());
  const auto context = open_context(options, false);
  if (!context) return fail(context.error());
  auto socket = wire::connect_to(*where, deadline, stop);
  if (!socket) return fail(socket.error());
  const wire::ShutDownOnStop stops(*socket, stop);
  auto stream = *context ? (*context)->shake_hands(std::move(*socket), where->host, deadline)
                         : wire::make_plain_stream(std::move(*socket));
  if (!stream) return fail(stream.error());
  return greet_as_client(std::move(*stream), options, deadline);
}

}  // namespace framewire::transport::session
