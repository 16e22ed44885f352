// Serves other processes of this machine through memory that both map: `framewire serve --local`.
#pragma once

#include <sys/types.h>
#include <chrono>
#include <cstdint>
#include <framewire/engine.hpp>
#include <framewire/status.hpp>
#include <functional>
#include <memory>
#include <service/pictures/client_counters.hpp>
#include <service/pictures/picture_engine.hpp>
#include <string>
#include <vector>

namespace framewire::service::local {

/// What a server tells its owner, for logs.
struct LocalEvent {
  enum class Kind : std::uint8_t {
    kConnected,  ///< a client was greeted
    kRefused,    ///< somebody was not; the status says why
    kEnded,      ///< a client's connection: peer_lost where it left, invalid_input where it lied,
                 ///< cancelled where the server ended
  };
  Kind kind = Kind::kConnected;
  pid_t pid = 0;  ///< by the kernel's word, of who made the connection; 0 where not known
  uid_t uid = 0;
  Status status{StatusCode::kCancelled, {}};
};

struct LocalServerOptions {
  std::string path;  ///< of the socket's file
  /// A socket that listens already, in the place of one at `path`; start()
  /// takes it over, also where it fails. −1: none.
  int listener_fd = -1;
  mode_t mode = 0660;         ///< of that file: who may write to it may connect
  std::vector<uid_t> uids;    ///< only these users are served; empty: whoever may connect
  Limits limits;              ///< of every request; a client may ask for lower ones, not for higher
  unsigned max_clients = 64;  ///< at a time; each costs a thread
  /// The largest share of connections, and of their memory, of one user. 100: no such bound.
  std::uint64_t user_share_percent = 50;
  std::uint32_t slots = 1024;                             ///< requests of one client at a time
  std::uint64_t input_bytes = std::uint64_t{512} << 20;   ///< memory for inputs of one client
  std::uint64_t output_bytes = std::uint64_t{256} << 20;  ///< memory for its outputs
  /// What all clients together may hold of both, with the memory of their slots. Streams that have
  /// no room in a client's memory are kept in ours for a while: as many bytes again as it has for
  /// outputs, at most.
  std::uint64_t total_bytes = std::uint64_t{4} << 30;
  /// Requests of all clients that the engine has at a time; 0: as many as it takes. Who shares the
  /// engine with others says how many may stand in its queue before theirs.
  std::size_t under_way = 0;
  std::chrono::milliseconds greeting{1000};  ///< time that who has connected has to greet
  ClientCounters* counters = nullptr;        ///< counts what clients do; outlives the server
  /// Called by threads of the server's, one at a time: be quick, never call the server. What it
  /// throws is ignored. May be empty.
  std::function<void(const LocalEvent&)> on_event;
};

struct LocalServerStats {
  std::size_t clients = 0;        ///< served now
  std::uint64_t total_bytes = 0;  ///< that they hold
};

/// Accepts clients at a Unix socket; a thread for each hands its requests to the engine.
///
/// Thread safety: all members may be called from any number of threads at once.
class LocalServer {
 public:
  /// @param engine  outlives the server
  /// @return invalid_input for options out of bounds or a listener that is none; busy where a
  /// server listens there already, or
  ///         threads ran out; io_error
  [[nodiscard]] static Result<LocalServer> start(PictureEngine& engine, LocalServerOptions options);
  /// The same over an engine of this process.
  [[nodiscard]] static Result<LocalServer> start(Engine& engine, LocalServerOptions options);
  /// Ends all connections: what is queued is cancelled, what is worked on is waited for.
  ~LocalServer();
  LocalServer(LocalServer&&) noexcept;
  LocalServer& operator=(LocalServer&&) = delete;

  /// Greets nobody any more, deletes the socket's file, answers new requests with `busy`, and waits
  /// until all that was taken before has been answered.
  /// @return whether that was so in time
  bool drain(std::chrono::milliseconds deadline);

  [[nodiscard]] LocalServerStats stats() const;

 private:
  class Impl;
  explicit LocalServer(std::unique_ptr<Impl> impl);
  [[nodiscard]] static Result<LocalServer> start(PictureEngine& engine,
                                                 std::unique_ptr<PictureEngine> own,
                                                 LocalServerOptions options);
  std::unique_ptr<Impl> impl_;
};

}  // namespace framewire::service::local
