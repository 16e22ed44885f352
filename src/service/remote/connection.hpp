// One client on another host: what it offers, what is made of it, and what it is offered.
#pragma once

#include <atomic>
#include <base/clock.hpp>
#include <base/wake_event.hpp>
#include <cstdint>
#include <deque>
#include <framewire/completion_queue.hpp>
#include <framewire/engine.hpp>
#include <framewire/transport.hpp>
#include <functional>
#include <ipc/message.hpp>
#include <list>
#include <memory>
#include <optional>
#include <service/http/admission.hpp>
#include <service/local/fair_share.hpp>
#include <service/local/options_cache.hpp>
#include <service/pictures/picture_engine.hpp>
#include <service/remote/remote_server.hpp>
#include <stop_token>
#include <vector>

namespace framewire::service::remote {

/// Requests that are handed to the engine together, and answers that are taken from it together.
inline constexpr std::size_t kGroupSize = 64;

/// What all connections of a server share; outlives them.
struct Common {
  PictureEngine& engine;
  http::ClientAdmission& admission;
  local::FairShare share;
  ClientCounters& counters;
  RemoteServerOptions options;
};

/// Serves one client over its channel: fetches what it offers as soon as there is room for it, and
/// offers it the answers. Believes nothing that the client says.
class RemoteClientConnection {
 public:
  /// @param user  tells this client from others, for shares. Throws std::bad_alloc
  RemoteClientConnection(Common& common, std::uint64_t user, transport::Channel channel);
  RemoteClientConnection(const RemoteClientConnection&) = delete;
  RemoteClientConnection& operator=(const RemoteClientConnection&) = delete;

  /// Reads the client's greeting and answers it.
  /// @return why the client cannot be served; what could be said to it has been said
  [[nodiscard]] Result<void> greet();
  /// Serves until the client leaves, lies, is too slow, or stop() was called; then cancels what is
  /// queued and waits until all that was handed to the engine has been answered. Called once, after
  /// greet().
  [[nodiscard]] Status run() noexcept;
  /// Tells the client why it is not served, if it listens within a second.
  void refuse(const Status& why) noexcept;

  /// From now on new requests are answered with `busy`; those taken before are done. Any thread.
  void drain() noexcept;
  /// Ends greet() and run(). Any thread.
  void stop() noexcept;
  /// Requests that were fetched and whose answers were not taken. Any thread.
  [[nodiscard]] std::size_t requests() const noexcept { return open_; }

 private:
  struct Slot {
    bool busy = false;  ///< its request is unanswered
    std::uint64_t number = 0;
    InputSlice message;
    http::ClientAdmission::Ticket ticket;
    EngineRequest request;  ///< until the engine has it
    std::stop_source stop;
    base::Clock::time_point arrival;
  };
  /// A message that is being fetched.
  struct Fetch {
    transport::Transfer transfer;
    InputSlice memory;
    http::ClientAdmission::Ticket ticket;
    bool is_request = false;  ///< by its length: only a request is longer than a head
  };
  /// A message that the client is offered.
  struct Offer {
    transport::Transfer transfer;
    ipc::OutgoingMessage message;
    http::ClientAdmission::Ticket ticket;
    bool is_answer = false;
  };

  [[nodiscard]] Result<void> serve();
  [[nodiscard]] Result<ipc::MessageHead> await_hello();
  [[nodiscard]] Result<void> wait_for(const std::function<bool()>& true_at_last,
                                      base::Clock::time_point deadline);
  [[nodiscard]] Status why_lost() const;

  // Requests: connection_requests.cpp.
  void take_leases();
  [[nodiscard]] Result<bool> fetch();
  [[nodiscard]] Result<bool> fetch_one(const transport::Lease& lease);
  [[nodiscard]] Result<bool> begin_fetch(const transport::Lease& lease, Fetch fetch);
  [[nodiscard]] bool has_room(std::uint64_t bytes);
  [[nodiscard]] Result<bool> take_fetched();
  [[nodiscard]] Result<void> take_message(Fetch fetch);
  [[nodiscard]] Result<void> take_request(const ipc::Message& message, Fetch fetch);
  [[nodiscard]] Result<void> cancel(const ipc::MessageHead& head);
  [[nodiscard]] Result<EngineRequest> make_request(const ipc::Message& message);
  [[nodiscard]] Result<bool> hand_in();
  [[nodiscard]] std::size_t may_hand_in();
  [[nodiscard]] bool drop_unwanted();
  void submit(const std::vector<std::uint32_t>& slots);
  [[nodiscard]] std::optional<Status> why_dropped(const Slot& slot) const;
  [[nodiscard]] bool is_admitted(Slot& slot);

  // Answers: connection_answers.cpp.
  [[nodiscard]] Result<bool> take_answers();
  [[nodiscard]] static ipc::OutgoingMessage make_answer(ipc::MessageHead head,
                                                        const Result<Resized>& result);
  void answer(std::uint32_t index, Result<Resized> result);
  void offer(ipc::OutgoingMessage message, http::ClientAdmission::Ticket ticket, bool is_answer);
  [[nodiscard]] Result<bool> take_taken();
  void tell_draining();
  void cancel_and_wait() noexcept;

  [[nodiscard]] std::uint32_t time_for(std::uint64_t bytes) const noexcept;

  Common& common_;
  const http::ClientKey client_;
  std::shared_ptr<base::WakeEvent> event_ = std::make_shared<base::WakeEvent>();
  std::shared_ptr<CompletionQueue> completions_;
  local::FairShare::Member share_;
  local::OptionsCache options_;
  std::atomic<bool> draining_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<std::size_t> open_{0};
  bool told_draining_ = false;

  std::uint64_t max_message_bytes_;    ///< of one request
  std::uint64_t client_output_bytes_;  ///< of one stream, as the client has said
  std::vector<Slot> slots_;
  std::deque<std::uint32_t> waiting_;    ///< slots whose requests the engine has not been given
  std::size_t busy_ = 0;                 ///< slots
  std::size_t in_engine_ = 0;            ///< of those, requests that the engine has
  std::deque<transport::Lease> leases_;  ///< that have not been used
  std::list<Fetch> fetches_;
  std::uint64_t fetching_bytes_ = 0;
  std::size_t fetching_requests_ = 0;
  std::list<Offer> offers_;
  std::uint64_t offered_bytes_ = 0;
  std::size_t offered_answers_ = 0;
  /// About the largest answer of late; 64 KiB until there is one.
  std::uint64_t expected_bytes_ = std::uint64_t{64} << 10;
  std::optional<Status> failed_;  ///< why something could not be offered: the connection ends
  bool wants_room_ = false;       ///< something waits for room that nobody tells of
  /// Goes first: what it may still touch lies in the members above.
  transport::Channel channel_;
};

}  // namespace framewire::service::remote
