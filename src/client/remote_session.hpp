// A client's session with a server on another host.
#pragma once

#include <atomic>
#include <base/wake_event.hpp>
#include <client/remote_connection.hpp>
#include <client/server_session.hpp>
#include <client/silence.hpp>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

namespace framewire::client {

/// Inputs are copied into messages as they are submitted; outputs lie in the memory that their
/// message came in. A connection that is lost is made anew as often as ClientOptions::retries say;
/// each that has brought an answer begins the count again. What has no answer is sent again, as
/// often at most. Where a server says that it drains, what it has not taken waits for the next
/// connection.
class RemoteSession final : public ServerSession {
 public:
  /// @return as Client::connect()
  [[nodiscard]] static Result<std::shared_ptr<RemoteSession>> connect(RemotePlace place);

  [[nodiscard]] Result<InputSlice> input_slice(std::size_t bytes) override;
  std::size_t submit(std::span<Order> orders, bool waits, std::function<void()> on_room) override;
  void receive() noexcept override;
  void close() noexcept override;
  void stop_retrying() noexcept override;
  [[nodiscard]] std::optional<Status> lost() const override;
  [[nodiscard]] bool draining() const noexcept override { return draining_; }

 private:
  enum class Stage : std::uint8_t {
    kFree,
    kReserved,  ///< its message is being made
    kQueued,    ///< for the connection
    kOffered,   ///< the connection has it
  };
  struct Cancel {
    RemoteSession* session;
    std::uint32_t slot;
    std::uint64_t number;
    void operator()() const { session->cancel({slot, number}); }
  };
  using OnStop = std::stop_callback<Cancel>;
  struct Slot {
    Stage stage = Stage::kFree;
    bool cancelled = false;
    std::uint64_t number = 0;  ///< of the request; another for each
    Order order;
    std::uint64_t input_bytes = 0;                        ///< counted for it
    std::shared_ptr<const ipc::OutgoingMessage> message;  ///< as long as it may be sent (again)
    std::unique_ptr<OnStop> on_stop;
  };

  RemoteSession(RemotePlace place, std::unique_ptr<RemoteConnection> connection);

  // Submitting.
  [[nodiscard]] std::optional<Status> refusal(const Order& order) const noexcept;
  std::size_t reserve(std::span<Order> orders, bool waits, std::function<void()>& on_room,
                      std::vector<std::uint32_t>& slots);
  [[nodiscard]] bool reserve_one(Order& order, std::vector<std::uint32_t>& slots);
  [[nodiscard]] bool prepare(std::uint32_t slot);
  void queue(const std::vector<std::uint32_t>& slots);
  void cancel(RemoteConnection::Request request) noexcept;

  // Receiving: remote_session_answers.cpp.
  [[nodiscard]] Result<void> serve();
  [[nodiscard]] Result<void> look_for_life();
  [[nodiscard]] Result<void> look_for_answers();
  [[nodiscard]] bool awaits_answers() const;
  void note_answer() noexcept;
  [[nodiscard]] bool holds_back() const noexcept;
  [[nodiscard]] Result<bool> drop_cancelled();
  [[nodiscard]] bool hold_back(std::uint32_t slot, const Status& status);
  [[nodiscard]] Result<bool> send_queued();
  [[nodiscard]] Result<bool> send_cancels();
  [[nodiscard]] Result<bool> take_messages();
  [[nodiscard]] Result<void> take_message(RemoteConnection::Received received);
  [[nodiscard]] Result<void> take_answer(RemoteConnection::Received received);
  void count_message(std::uint32_t slot);
  void count_let_go(std::uint64_t bytes) noexcept;
  void drop_connection() noexcept;
  [[nodiscard]] bool is_unanswered(std::uint32_t slot, std::uint64_t number) const;
  [[nodiscard]] bool connect_again(Status& why);
  void queue_again();
  void drop_used_up(std::span<const RemoteConnection::Request> unfetched) noexcept;
  [[nodiscard]] Order free_slot(std::uint32_t slot) noexcept;
  void fail_slot(std::uint32_t slot, const Status& why) noexcept;
  void fail_all(const Status& why) noexcept;
  void answered() noexcept;

  const RemotePlace place_;
  const std::uint64_t max_input_bytes_;  ///< of one input
  base::WakeEvent event_;
  std::atomic<bool> closing_{false};
  std::stop_source stop_;  ///< of the search for another server
  std::atomic<bool> draining_{false};

  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> queued_;  ///< capacity for all slots
  std::vector<RemoteConnection::Request> cancels_;
  std::uint64_t input_bytes_ = 0;  ///< of all that is unanswered, or whose message is still kept
  std::uint64_t next_number_ = 1;
  std::size_t unanswered_ = 0;
  std::vector<std::function<void()>> on_room_;
  std::optional<Status> lost_;

  // Members that receive() alone uses.
  std::uint32_t retries_left_;
  std::unique_ptr<RemoteConnection> connection_;
  Silence silence_;
  WithoutAnswer without_answer_;
  bool has_answered_ = false;         ///< since the last look for answers
  std::uint64_t fetched_before_ = 0;  ///< bytes of requests, at the last answer
  std::vector<std::uint32_t> sending_;
};

}  // namespace framewire::client
