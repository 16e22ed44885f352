// A client's channel to a server on another host: messages out, messages in.
#pragma once

#include <base/clock.hpp>
#include <chrono>
#include <client/silence.hpp>
#include <cstddef>
#include <cstdint>
#include <framewire/client.hpp>
#include <framewire/transport.hpp>
#include <ipc/message.hpp>
#include <list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace framewire::client {

/// What so many bytes take over the slowest connection that is waited for.
[[nodiscard]] constexpr std::chrono::milliseconds slow_time_of(std::uint64_t bytes) noexcept {
  constexpr std::uint64_t kBytesPerMs = 64;
  return std::chrono::milliseconds(bytes / kBytesPerMs);
}

/// Where a server is, and what a client asks of it.
struct RemotePlace {
  std::string address;
  transport::SessionOptions session;
  ClientOptions options;
  std::chrono::milliseconds patience = kServerPatience;  ///< with a server that is silent
};

/// A greeted connection. One thread at a time. Its memory goes with it, after the channel.
class RemoteConnection {
 public:
  /// A message that the server has sent, with what keeps it.
  struct Received {
    ipc::Message message;
    std::shared_ptr<const void> keeper;
  };
  /// Names a request, on its way to the server.
  struct Request {
    std::uint32_t slot = 0;
    std::uint64_t number = 0;
  };

  /// Connects and greets.
  /// @param stop  ends it soon, unless it is the host's name that takes long
  /// @return errors of transport::connect(); what the server says; peer_lost, deadline
  [[nodiscard]] static Result<std::unique_ptr<RemoteConnection>> open(
      const RemotePlace& place, base::Clock::time_point deadline, const std::stop_token& stop);

  [[nodiscard]] std::uint32_t slots() const noexcept { return welcome_.slots; }
  [[nodiscard]] std::uint64_t input_bytes() const noexcept { return welcome_.input_bytes; }

  /// Offers a message. @param request  that it brings; nothing for others
  [[nodiscard]] Result<void> send(std::shared_ptr<const ipc::OutgoingMessage> message,
                                  std::optional<Request> request);
  /// Takes an offer back. @return false where the server has begun to fetch it
  [[nodiscard]] bool take_back(std::uint64_t number);
  /// Counts bytes of a request, which somebody has an answer to, as long as its message is kept.
  /// @return whether it is; else nothing is counted
  [[nodiscard]] bool count_while_kept(std::uint64_t number, std::uint64_t bytes);
  /// Of the bytes that were counted, those whose message has been let go since the last call.
  [[nodiscard]] std::uint64_t take_let_go() noexcept { return std::exchange(let_go_bytes_, 0); }
  /// Those whose message is kept, or whose end nobody has heard of.
  [[nodiscard]] std::uint64_t counted_bytes() const noexcept;
  /// Asks the server for a sign of life, which costs it nothing: it has to fetch a message. Does
  /// nothing while the last one is on its way.
  [[nodiscard]] Result<void> probe();
  /// Whether the server has shown a sign of life since the last call.
  [[nodiscard]] bool take_sign_of_life() noexcept { return std::exchange(is_alive_, false); }
  /// Bytes of requests that the server has fetched so far.
  [[nodiscard]] std::uint64_t fetched_bytes() const noexcept { return fetched_bytes_; }
  /// Bytes of requests that the server is fetching.
  [[nodiscard]] std::uint64_t moving_bytes();
  /// Bytes of messages that are fetched from the server.
  [[nodiscard]] std::uint64_t fetching_bytes() const noexcept { return fetching_bytes_; }
  /// The requests that the server has not fetched whole: it cannot have begun them. Once, where the
  /// connection is lost.
  [[nodiscard]] std::vector<Request> unfetched();
  /// The server has sent what no server would. @return as client::lied()
  [[nodiscard]] tl::unexpected<Status> lied(std::string what);
  [[nodiscard]] bool server_lied() const noexcept { return server_lied_; }
  /// Moves what can be moved. @return whether anything was; why there is no connection any more
  [[nodiscard]] Result<bool> progress();
  /// The next message that is here as a whole. @return peer_lost for what is no message
  [[nodiscard]] Result<std::optional<Received>> receive();
  /// Sleeps until something has come, `wake_fd` can be read, or half a second has passed.
  void idle(int wake_fd);

 private:
  struct Sent {
    transport::Transfer transfer;
    std::shared_ptr<const ipc::OutgoingMessage> message;
    std::optional<Request> request;
    bool is_probe = false;
    std::uint64_t counted_bytes = 0;  ///< see count_while_kept()
  };
  struct Fetch {
    transport::Transfer transfer;
    std::shared_ptr<std::uint8_t[]> memory;
    std::size_t bytes = 0;
  };

  RemoteConnection(const ClientOptions& options, bool is_stream, transport::Channel channel);
  [[nodiscard]] Result<void> greet(base::Clock::time_point deadline, const std::stop_token& stop);
  [[nodiscard]] Result<bool> drop_sent();
  [[nodiscard]] Result<bool> fetch();

  const std::uint64_t output_bytes_;
  const std::uint32_t wanted_slots_;
  const bool is_stream_;  ///< whether the link moves only when the server does
  bool is_alive_ = false;
  bool is_probing_ = false;
  bool server_lied_ = false;
  ipc::MessageHead welcome_;
  std::list<Sent> sent_;
  std::uint64_t sent_bytes_ = 0;
  std::uint64_t let_go_bytes_ = 0;
  std::uint64_t fetched_bytes_ = 0;
  std::list<Fetch> fetches_;
  std::uint64_t fetching_bytes_ = 0;
  std::optional<transport::Lease> lease_;  ///< for which there is no room yet
  /// Goes first: what it may still touch lies in the members above.
  transport::Channel channel_;
};

}  // namespace framewire::client
