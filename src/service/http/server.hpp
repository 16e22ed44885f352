// The image service: listens, answers, ends.
#pragma once

#include <chrono>
#include <framewire/engine.hpp>
#include <framewire/status.hpp>
#include <functional>
#include <memory>
#include <service/http/log.hpp>
#include <service/http/settings.hpp>
#include <string>
#include <vector>

namespace framewire::service::source {
struct Network;
}

namespace framewire::service::http {

/// What a server is doing now.
struct ServerState {
  std::uint64_t connections = 0;
  std::uint64_t requests = 0;  ///< under way
  std::uint64_t bytes = 0;     ///< of their bodies and answers
  std::uint64_t pixels = 0;
};

/// How the engine has to be made for these settings.
[[nodiscard]] EngineOptions engine_options(const Settings& settings);

/// Answers HTTP/1.1 on its threads from start() to its end. Thread safety: all members from any
/// thread, one at a time.
class Server {
 public:
  /// Opens all listeners, then answers.
  /// @param engine  outlives the server; made with engine_options()
  /// @param log     may be empty
  /// @param network for tests: in the place of the system's; null otherwise
  /// @return invalid_input for settings that make no sense together; io_error about a listener;
  ///         busy where threads cannot be started
  [[nodiscard]] static Result<std::unique_ptr<Server>> start(
      const Settings& settings, Engine& engine, LogSink log,
      const source::Network* network = nullptr);
  /// Closes every connection at once. To lose none call drain() before.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Where it listens: "127.0.0.1:8080", "unix:PATH", with real ports;
  /// listeners for metrics come last.
  [[nodiscard]] const std::vector<std::string>& endpoints() const noexcept { return endpoints_; }
  [[nodiscard]] ServerState state() const;

  /// Ends in order: /readyz fails; after Settings::drain_delay_ms the listeners close; requests
  /// under way are answered, each with Connection: close; idle connections close. Blocks until no
  /// connection is left, Settings::drain_timeout_ms has passed, or `hurry` returns true.
  /// @return whether every connection ended by itself
  [[nodiscard]] bool drain(const std::function<bool()>& hurry = {});

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
  std::vector<std::string> endpoints_;
};

}  // namespace framewire::service::http
