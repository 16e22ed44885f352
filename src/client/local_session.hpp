// A client's session with a server on the same machine.
#pragma once

#include <atomic>
#include <client/local_connection.hpp>
#include <client/local_place.hpp>
#include <client/server_session.hpp>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

namespace framewire::client {

/// One LocalConnection after another: a connection that is lost is made anew as often as
/// ClientOptions::retries say; each that has brought an answer begins the count again. What has no
/// answer is handed in again, as often at most, out of the memory of the connection that had it,
/// and so is what a draining server has not taken.
class LocalSession final : public ServerSession {
 public:
  /// @return as Client::connect()
  [[nodiscard]] static Result<std::shared_ptr<LocalSession>> connect(LocalPlace place);

  [[nodiscard]] Result<InputSlice> input_slice(std::size_t bytes) override;
  std::size_t submit(std::span<Order> orders, bool waits, std::function<void()> on_room) override;
  void receive() noexcept override;
  void close() noexcept override;
  void stop_retrying() noexcept override;
  [[nodiscard]] std::optional<Status> lost() const override;
  [[nodiscard]] bool draining() const noexcept override;

 private:
  /// An order that has no answer, and the connection in whose memory its input may lie.
  struct Unanswered {
    Order order;
    std::shared_ptr<const LocalConnection> memory;
  };

  LocalSession(LocalPlace place, std::shared_ptr<LocalConnection> connection);
  [[nodiscard]] std::shared_ptr<LocalConnection> current() const;
  [[nodiscard]] std::shared_ptr<LocalConnection> current_or_wait(bool waits,
                                                                 std::function<void()>& on_room);
  [[nodiscard]] bool connect_again(LocalConnection& lost, Status& why);
  void take_what_is_left(LocalConnection& lost);
  void drop_used_up() noexcept;
  [[nodiscard]] std::shared_ptr<LocalConnection> open_again(const LocalConnection& lost,
                                                            Status& why) const;
  void take_over(std::shared_ptr<LocalConnection> connection);
  void hand_in_again();
  void open_to_all() noexcept;
  void end(const Status& why) noexcept;

  const LocalPlace place_;
  std::atomic<bool> closing_{false};
  std::stop_source stop_;  ///< of the search for another server

  mutable std::mutex mutex_;
  std::condition_variable opened_;
  std::shared_ptr<LocalConnection> connection_;
  bool is_reconnecting_ = false;  ///< until all that was unanswered has been handed in again
  std::vector<std::function<void()>> on_room_;

  // Members that receive() alone uses.
  std::uint32_t retries_left_;
  std::deque<Unanswered> unanswered_;
};

}  // namespace framewire::client
