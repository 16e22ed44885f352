// Serves clients on other hosts over the project's transport: `framewire serve --remote-clients`.
#pragma once

#include <chrono>
#include <cstdint>
#include <framewire/options.hpp>
#include <framewire/status.hpp>
#include <framewire/transport.hpp>
#include <functional>
#include <memory>
#include <service/http/admission.hpp>
#include <service/pictures/client_counters.hpp>
#include <service/pictures/picture_engine.hpp>
#include <string>

namespace framewire::service::remote {

/// What a server tells its owner, for logs.
struct RemoteEvent {
  enum class Kind : std::uint8_t {
    kConnected,  ///< a client was greeted
    kRefused,    ///< somebody was not; the status says why
    kEnded,      ///< a client's connection: peer_lost where it left, invalid_input where it lied,
                 ///< deadline where it was too slow, cancelled where the server ended
  };
  Kind kind = Kind::kConnected;
  std::string peer;  ///< the name that it has proven; empty where it has proven none
  Status status{StatusCode::kCancelled, {}};
};

struct RemoteServerOptions {
  std::string address;  ///< HOST:PORT; no host means this machine alone, port 0 takes a free one
  transport::Security security;               ///< a key file, or certificates; never insecure
  std::string link = transport::kStreamLink;  ///< or ucx-rdma, which clients must name, too
  std::string ucx_device;                     ///< of ucx-rdma: device and port
  Limits limits;              ///< of every request; a client may ask for lower ones, not for higher
  unsigned max_clients = 32;  ///< at a time; each costs a thread
  /// The largest share of connections of one name. 100: no such bound.
  std::uint64_t client_share_percent = 50;
  std::uint32_t slots = 256;  ///< requests of one client at a time, at most ipc::kMaxRemoteSlots
  /// Streams that wait for one client to take them; while there are as many, no more of its
  /// requests are begun.
  std::uint64_t output_bytes = std::uint64_t{64} << 20;
  /// Requests of all clients that are fetched, or that the engine has, at a time; 0: no bound. Who
  /// shares the engine with others says how many may stand in its queue before theirs.
  std::size_t under_way = 0;
  std::chrono::milliseconds greeting{5000};  ///< time that who has connected has to greet
  /// What a client offers, or is offered, must have been sent, or taken, within this time and as
  /// long as its bytes take at the least speed.
  std::chrono::milliseconds patience{30'000};
  std::uint64_t min_bytes_per_s = 64u << 10;
  ClientCounters* counters = nullptr;  ///< counts what clients do; outlives the server
  /// Called by threads of the server's, one at a time: be quick, never call the server. What it
  /// throws is ignored. May be empty.
  std::function<void(const RemoteEvent&)> on_event;
};

struct RemoteServerStats {
  std::size_t clients = 0;   ///< served now
  std::size_t requests = 0;  ///< of theirs that are fetched or worked on, or whose answer waits
};

/// Accepts clients that prove who they are; a thread for each fetches its requests, hands them to
/// the engine, and offers it the answers.
///
/// Thread safety: all members may be called from any number of threads at once.
class RemoteServer {
 public:
  /// @param engine     outlives the server
  /// @param admission  bounds what is under way; outlives the server
  /// @return invalid_input for options out of bounds; those of transport::Listener::listen(); busy
  ///         where threads ran out
  [[nodiscard]] static Result<RemoteServer> start(PictureEngine& engine,
                                                  http::ClientAdmission& admission,
                                                  RemoteServerOptions options);
  /// Ends all connections: what is queued is cancelled, what is worked on is waited for.
  ~RemoteServer();
  RemoteServer(RemoteServer&&) noexcept;
  RemoteServer& operator=(RemoteServer&&) = delete;

  [[nodiscard]] std::uint16_t port() const;

  /// Greets nobody any more, answers new requests with `busy`, and waits until all that was taken
  /// before has been answered and the answers were taken.
  /// @return whether that was so in time
  bool drain(std::chrono::milliseconds deadline);

  [[nodiscard]] RemoteServerStats stats() const;

 private:
  class Impl;
  explicit RemoteServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace framewire::service::remote
