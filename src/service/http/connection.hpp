// What the server knows of a client's connection, whichever protocol it speaks.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <service/http/admission.hpp>
#include <service/http/exchange.hpp>
#include <service/http/pace.hpp>
#include <service/http/response.hpp>
#include <string>
#include <string_view>

namespace framewire::service::http {

class IoThread;

/// The other end of a connection.
struct Peer {
  ClientKey client;
  std::string name;               ///< for the log
  bool is_local = false;          ///< loopback, or a unix socket
  bool metrics_listener = false;  ///< came to the listener for metrics, and may do nothing else
};

/// How a connection that has requests gets nowhere. The least one gives way first.
struct Stall {
  /// Its client may have no part in it: somebody is at work, or its answer has just begun.
  bool may_get_on = false;
  double bytes_per_second = 0;  ///< lately
  friend auto operator<=>(const Stall&, const Stall&) = default;
};

/// Lives on one I/O thread, which calls all its members.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Clock = std::chrono::steady_clock;

  Connection(IoThread& io, Peer peer);
  /// Another connection, whose place a new one takes: it counts no more.
  struct InPlaceOf {
    Connection& before;
  };
  explicit Connection(InPlaceOf other) noexcept;
  virtual ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  virtual void start() = 0;
  /// Looks at the deadlines of what it is doing. Called some times a second, past deadline().
  virtual void tick(Clock::time_point now) = 0;
  /// Gives the answer to a request under way; what comes for any other is dropped.
  virtual void answer(Exchange& exchange, Response response) = 0;
  /// There is no answer for want of memory: ends what the request came by.
  virtual void fail(Exchange& exchange) noexcept = 0;
  /// The server is ending: closes once no request is under way, and takes no new ones.
  virtual void drain() = 0;
  /// How fast its slowest body comes, or its slowest answer is read, in bytes a second; nothing
  /// where there is none, or each has just begun. That one is given up by give_way().
  /// @param of  which of the two are looked at
  [[nodiscard]] virtual std::optional<double> slowest(ClientAdmission::GivesWay of,
                                                      Clock::time_point now) noexcept = 0;
  virtual void give_way(ClientAdmission::GivesWay of, Clock::time_point now) = 0;
  /// Closes at once.
  virtual void close() noexcept = 0;
  /// The same, and says in the log that others needed the place.
  virtual void displace() noexcept = 0;
  /// How it has got nowhere with its request for a second or two: its answer is read more slowly
  /// than kMinBytesPerSecond, its body comes more slowly than that, or there is no answer yet.
  /// @return nothing where it gets on, or has no request
  /// Called some times a second while others want its place.
  [[nodiscard]] std::optional<Stall> stall(Clock::time_point now) noexcept;

  /// Whether it could be closed without a loss: no request has come whole.
  [[nodiscard]] virtual bool between_requests() const noexcept = 0;
  /// When tick() has something to do.
  [[nodiscard]] virtual Clock::time_point deadline() const noexcept = 0;
  [[nodiscard]] ClientKey client() const noexcept { return peer_.client; }
  [[nodiscard]] bool metrics_listener() const noexcept { return peer_.metrics_listener; }

 protected:
  /// A handler that holds this connection, and answers what it throws: guarded.hpp.
  template <typename Function>
  auto guarded(Function function);
  virtual void on_exception() noexcept = 0;
  /// Bytes that the client has taken, and those of bodies that have come.
  [[nodiscard]] virtual std::uint64_t moved_bytes() noexcept = 0;
  /// Whether somebody works on a request, and the client could do nothing to end that sooner.
  [[nodiscard]] virtual bool is_in_work() const noexcept = 0;
  /// An answer has gone out whole.
  void count_answer() noexcept { ++answers_; }

  /// What the log says of requests whose connection was displaced.
  static constexpr std::string_view kDisplaced =
      "the connection got nowhere while others wanted its place";

  IoThread& io_;
  Peer peer_;

 private:
  bool counted_ = true;
  std::uint64_t answers_ = 0;
  RecentProgress progress_;
};

}  // namespace framewire::service::http
