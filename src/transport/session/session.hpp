// From an address to a channel: who is there, what both can do, which link carries the data.
#pragma once

#include <framewire/status.hpp>
#include <memory>
#include <string>
#include "transport/channel.hpp"
#include "transport/wire/tls.hpp"

namespace framewire::transport::session {

/// The two parts of which a Channel is made, so that a test can put something between.
struct Joined {
  std::unique_ptr<Link> link;
  ChannelConfig config;
};

/// As transport::connect().
[[nodiscard]] Result<Joined> connect(const std::string& address, const SessionOptions& options);

/// As transport::Listener.
class Listener {
 public:
  [[nodiscard]] static Result<Listener> listen(const std::string& address,
                                               const SessionOptions& options);
  ~Listener();
  Listener(Listener&&) noexcept;
  Listener& operator=(Listener&&) noexcept;

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] Result<Joined> accept(std::uint32_t wait_ms);

 private:
  class Impl;
  explicit Listener(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace framewire::transport::session
