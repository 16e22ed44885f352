// The public ways to a channel.
#include <fmt/format.h>
#include <base/random.hpp>
#include <transport/loopback/loopback.hpp>
#include <transport/session/listener.hpp>
#include <transport/session/session.hpp>
#include <transport/wire/control.hpp>
#include <utility>

namespace framewire::transport {
namespace {

Result<Channel> channel_of(Result<session::Joined> joined) {
  if (!joined) return fail(std::move(joined.error()));
  return make_channel(std::move(joined->link), std::move(joined->config));
}

}  // namespace

Result<Channel> connect(const std::string& address, const SessionOptions& options) {
  return channel_of(session::connect(address, options));
}

Result<std::pair<Channel, Channel>> connect_loopback(std::uint32_t capacity) {
  if (capacity == 0 || capacity > wire::kMaxCapacity) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("a capacity of {}; 1 to {}", capacity, wire::kMaxCapacity));
  }
  ChannelConfig config;
  const auto epoch = base::random_number<std::uint32_t>();
  if (!epoch) return fail(epoch.error());
  config.epoch = *epoch;
  config.capacity = config.peer_capacity = capacity;
  config.peer = "loopback";
  auto [one, other] = make_loopback();
  return std::pair(make_channel(std::move(one), config), make_channel(std::move(other), config));
}

class Listener::Impl {
 public:
  explicit Impl(session::Listener made) : listener(std::move(made)) {}
  session::Listener listener;
};

Listener::Listener(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Listener::~Listener() = default;
Listener::Listener(Listener&&) noexcept = default;
Listener& Listener::operator=(Listener&&) noexcept = default;

Result<Listener> Listener::listen(const std::string& address, const SessionOptions& options) {
  auto listener = session::Listener::listen(address, options);
  if (!listener) return fail(std::move(listener.error()));
  return Listener(std::make_unique<Impl>(std::move(*listener)));
}

std::uint16_t Listener::port() const { return impl_->listener.port(); }

Result<Channel> Listener::accept(std::uint32_t wait_ms) {
  return channel_of(impl_->listener.accept(wait_ms));
}

}  // namespace framewire::transport
