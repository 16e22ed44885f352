// A listening port: whoever comes is authenticated and greeted, and then accepted.
#pragma once

#include <cstdint>
#include <framewire/status.hpp>
#include <memory>
#include <string>
#include <transport/session/session.hpp>

namespace framewire::transport::session {

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
