// What the server knows of a client's connection, whichever protocol it speaks.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <service/http/admission.hpp>
#include <service/http/exchange.hpp>
#include <service/http/response.hpp>
#include <string>

namespace framewire::service::http {

class IoThread;

/// The other end of a connection.
struct Peer {
  ClientKey client;
  std::string name;               ///< for the log
  bool is_local = false;          ///< loopback, or a unix socket
  bool metrics_listener = false;  ///< came to the listener for metrics, and may do nothing else
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

  IoThread& io_;
  Peer peer_;

 private:
  bool counted_ = true;
};

}  // namespace framewire::service::http
