// The image service: listens, answers, ends.
#pragma once

#include <chrono>
#include <framewire/engine.hpp>
#include <framewire/status.hpp>
#include <functional>
#include <memory>
#include <service/http/admission.hpp>
#include <service/http/listener.hpp>
#include <service/http/live_settings.hpp>
#include <service/http/log.hpp>
#include <service/http/metrics.hpp>
#include <service/http/settings.hpp>
#include <service/pictures/picture_engine.hpp>
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

/// Sockets that whoever started the program has opened (adopt_listener()). Where there are some,
/// ServiceSettings::listen, or the addresses of ServiceSettings::metrics, are not opened.
struct InheritedListeners {
  std::vector<ListeningSocket> requests;
  std::vector<ListeningSocket> metrics;
};

/// How the engine has to be made for these settings.
[[nodiscard]] EngineOptions engine_options(const ServiceSettings& settings);

/// Checks what settings alone do not tell: the files of tls_cert and tls_key, where they are given.
/// @return sentences about what is odd but works (an expired certificate); errors of
///         ServerTlsContext::load()
[[nodiscard]] Result<std::vector<std::string>> check_files(const ServiceSettings& settings);

/// Answers HTTP/1.1, and HTTP/2 over TLS, on its threads from start() to its end. Thread safety:
/// all members from any thread, one at a time.
class Server {
 public:
  /// Opens all listeners, then answers.
  /// @param engine  outlives the server; made with engine_options()
  /// @param log     may be empty
  /// @param network for tests: in the place of the system's; null otherwise
  /// @param inherited  sockets in the place of those that the settings name
  /// @return invalid_input for settings that make no sense together; io_error about a listener;
  ///         errors of ServerTlsContext::load(), where a listener speaks TLS;
  ///         busy where threads cannot be started
  [[nodiscard]] static Result<std::unique_ptr<Server>> start(
      const ServiceSettings& settings, Engine& engine, LogSink log,
      const source::Network* network = nullptr, InheritedListeners inherited = {});
  /// The same over an engine that may be in other processes.
  [[nodiscard]] static Result<std::unique_ptr<Server>> start(
      const ServiceSettings& settings, PictureEngine& engine, LogSink log,
      const source::Network* network = nullptr, InheritedListeners inherited = {});
  /// Closes every connection at once. To lose none call drain() before.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Where it listens: "127.0.0.1:8080", "unix:PATH", with real ports;
  /// listeners for metrics come last.
  [[nodiscard]] const std::vector<std::string>& endpoints() const noexcept;
  [[nodiscard]] ServerState state() const;
  /// What bounds the work under way, for others who hand work to the same engine. Lives as long as
  /// the server.
  [[nodiscard]] ClientAdmission& admission() noexcept;
  /// What is told of clients that come otherwise than by HTTP. Lives as long as the server.
  [[nodiscard]] ClientCounters& client_counters(ClientTransport transport) noexcept;

  /// Takes over new settings while requests go on. A request keeps the settings with which it
  /// began. Certificate and key are read again, changed or not: new handshakes show what was read,
  /// connections that there are go on with what they have. On error nothing has changed. Reads
  /// files, and so blocks.
  /// @param wanted  all settings, as start() would be given them
  /// @return what was taken over, and what needs a restart; errors of start() about settings
  ///         and files; busy
  ///         where requests of too many earlier settings are still under way, or memory ran out
  [[nodiscard]] Result<SettingsChange> reload(const ServiceSettings& wanted);

  /// Ends what earlier settings left, once no request needs it; may take some seconds.
  /// @return whether something is left
  bool end_earlier_settings() noexcept;

  /// How long the slowest thread of sockets has not looked at its connections: about 100 ms at most
  /// where all is well. Zero while threads are just starting.
  [[nodiscard]] std::chrono::milliseconds slowest_thread() const;

  /// Ends in order: /readyz fails; after ServiceSettings::drain_delay_ms the listeners close;
  /// requests under way are answered, each with Connection: close; idle connections close. Blocks
  /// until no connection is left, ServiceSettings::drain_timeout_ms has passed, or `hurry` returns
  /// true.
  /// @return whether every connection ended by itself
  [[nodiscard]] bool drain(const std::function<bool()>& hurry = {});

 private:
  struct Parts;
  [[nodiscard]] static Result<std::unique_ptr<Server>> start(
      const ServiceSettings& settings, PictureEngine& engine, std::unique_ptr<PictureEngine> own,
      LogSink log, const source::Network* network, InheritedListeners inherited);
  explicit Server(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace framewire::service::http
