// One thread that reads and writes sockets, with the connections that live on it.
#pragma once

#include <atomic>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <framewire/completion_queue.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <service/http/connection.hpp>
#include <service/http/handshakes.hpp>
#include <service/http/listener.hpp>
#include <service/http/random_ids.hpp>
#include <service/http/shared_state.hpp>
#include <service/http/snapshot.hpp>
#include <service/http/stream.hpp>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace framewire::service::http {

/// One picture for the engine.
struct PictureJob {
  std::span<const std::uint8_t> jpeg;  ///< stays until the answer; `done` may keep it
  ResizeOptions options;
  std::stop_token stop;
  ClientKey client;
  std::shared_ptr<std::atomic<bool>> claim;  ///< EngineRequest::claim
  /// Called once, on the thread that submitted, with what the engine says, or busy. Never throws.
  std::function<void(Result<Resized>)> done;
  bool is_retry = false;  ///< a GPU was lost that had it
};

/// Accepts, reads, hands requests to the engine in groups and takes its answers in groups: one
/// eventfd wakes the thread for a batch of them.
///
/// Thread safety: run() is the thread; post members may be called from any other; all else is for
/// connections of this thread.
class IoThread {
 public:
  /// @param shared    outlives this
  /// @param snapshot  the settings until others come; with a count of its own
  IoThread(SharedState& shared, SnapshotRef snapshot);
  ~IoThread();
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  /// Makes what may fail. @return busy where no descriptor is left
  [[nodiscard]] Result<void> prepare();
  /// Accepts from this socket, too. Before run() only.
  /// @param listener  its own descriptor, which is taken over
  /// @param metrics   for metrics, and nothing else
  [[nodiscard]] Result<void> listen(ListeningSocket listener, bool metrics = false);
  /// Works until stop(). Never throws.
  void run() noexcept;

  void post_drain();
  void post_close_all();
  void stop() noexcept { context_.stop(); }
  /// From now on these settings hold for requests that begin here. From any thread.
  /// @param snapshot  with a count of its own (with_own_count())
  void give_snapshot(SnapshotRef snapshot) noexcept;
  /// When run() last looked at its connections' deadlines, as a steady clock's nanoseconds: it does
  /// so every 100 ms, unless a handler is stuck. Zero before run(). From any thread.
  [[nodiscard]] std::int64_t last_tick_ns() const noexcept { return last_tick_ns_.load(); }
  /// Runs on this thread. False where memory ran out.
  bool post(std::function<void()> task);

  [[nodiscard]] SharedState& shared() noexcept { return shared_; }
  /// Takes over what give_snapshot() brought: at the beginning of a request, and in each tick.
  const SnapshotRef& take_snapshot() noexcept;
  [[nodiscard]] const SnapshotRef& snapshot() const noexcept { return snapshot_; }
  [[nodiscard]] const ServiceSettings& settings() const noexcept { return snapshot_->settings; }
  [[nodiscard]] boost::asio::io_context& context() noexcept { return context_; }
  /// Hands a picture to the engine, with others of this turn. Throws std::bad_alloc, and has not
  /// taken it then.
  void submit(PictureJob job);
  void forget(const Connection& connection) noexcept;
  /// Another has taken the connection's place. Throws std::bad_alloc, and nothing has changed then.
  void replace(const Connection& before, const std::shared_ptr<Connection>& after);
  /// A handshake that begins or ends, however it does; forget() is an end, too.
  void handshake_begins(Connection& connection, ClientKey client);
  void handshake_ends(const Connection& connection) noexcept;
  [[nodiscard]] std::string_view date();
  [[nodiscard]] std::string new_id() { return ids_.next(); }
  /// Whether a request that is turned away gets a line in the log: the first ones of each tenth of
  /// a second. The others are counted, and told of in one line.
  [[nodiscard]] bool logs_refusal() noexcept;

 private:
  using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol,
                                                      boost::asio::io_context::executor_type>;
  using Timer =
      boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                        boost::asio::wait_traits<std::chrono::steady_clock>,
                                        boost::asio::io_context::executor_type>;
  using Event = boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type>;

  void accept(std::size_t index);
  void on_accept(std::size_t index, std::uint64_t round, const boost::system::error_code& error,
                 Socket socket);
  struct Listener;
  /// How a client has come.
  struct Arrival {
    boost::asio::generic::stream_protocol protocol;
    bool metrics = false;
    bool tls = false;
    bool handed_on = false;            ///< by another thread, for a connection's place
    bool handshake_handed_on = false;  ///< by another thread, for a handshake's place
  };
  void adopt(Socket socket, const Arrival& arrival);
  [[nodiscard]] std::unique_ptr<TlsSession> begin_tls(int fd);
  [[nodiscard]] bool make_room_for_handshake(Socket& socket, const Arrival& arrival);
  void refuse(Socket socket) noexcept;
  bool make_room(bool metrics, ClientKey newcomer);
  bool make_room_for(const Arrival& arrival, ClientKey newcomer);
  [[nodiscard]] IoThread* take_waiting_place() noexcept;
  [[nodiscard]] bool hand_on(Socket& socket, const Arrival& arrival, ClientKey newcomer);
  [[nodiscard]] static bool hand_to(IoThread& other, Socket& socket, const Arrival& arrival);
  [[nodiscard]] IoThread& most_crowded_by_handshakes() noexcept;
  void adopt_handed_on(int fd, Arrival arrival);
  void make_room_for_descriptors();
  void count_waiting() noexcept;
  void find_stalled(Connection::Clock::time_point now);
  bool displace_stalled(Connection::Clock::time_point now, bool any);
  [[nodiscard]] bool beyond_share(ClientKey client) const noexcept;
  void drain();
  void accept_anew() noexcept;
  void tick();
  void make_way(Connection::Clock::time_point now);
  void tell_unlogged() noexcept;
  void handler_threw(const char* what) noexcept;
  void wait_for_answers();
  void take_answers();
  void hand_in();
  void answer(std::uint64_t tag, Result<Resized> result) noexcept;
  /// Hands a request in again whose GPU was lost. @return false where it was, or memory ran out
  bool try_again(PictureJob& job) noexcept;

  struct Listener {
    Acceptor acceptor;
    Arrival arrival;
    bool inherited = false;
    bool accepting = false;
    std::uint64_t round = 0;  ///< of accepting; what belongs to an earlier one begins no other
  };
  /// A picture that the engine has.
  struct HandedIn {
    PictureJob job;
    std::chrono::steady_clock::time_point begun{};
  };
  void accept_what_waits(Listener& listener);

  SharedState& shared_;
  SnapshotRef snapshot_;
  std::atomic<bool> has_next_snapshot_{false};
  std::mutex next_snapshot_mutex_;
  SnapshotRef next_snapshot_;
  std::atomic<std::int64_t> last_tick_ns_{0};
  /// Connections that waited for a request at the last tick, less those that other threads have
  /// sent newcomers for since.
  std::atomic<std::uint64_t> waiting_{0};
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::vector<Listener> listeners_;
  Timer timer_;
  Event answered_;
  std::shared_ptr<CompletionQueue> completions_;
  std::unordered_map<const Connection*, std::shared_ptr<Connection>> connections_;
  /// Those that would give way to others, as of the last tick; the first to do so stands last.
  std::vector<std::pair<Stall, std::weak_ptr<Connection>>> stalled_;
  TlsHandshakes handshakes_;
  std::atomic<std::size_t> most_handshakes_{0};  ///< TlsHandshakes::most_of_one()
  std::vector<PictureJob> to_hand_in_;
  std::unordered_map<std::uint64_t, HandedIn> handed_in_;
  std::uint64_t next_tag_ = 1;
  bool handing_in_ = false;
  bool waiting_for_answers_ = false;
  RandomIds ids_;
  std::string date_;
  std::int64_t date_second_ = -1;
  unsigned refusals_ = 0;       ///< since the last tick
  std::uint64_t unlogged_ = 0;  ///< of these, without a line
};

}  // namespace framewire::service::http
