// A client's connection to a server, whatever carries it.
#pragma once

#include <base/no_memory.hpp>
#include <client/options_texts.hpp>
#include <client/outstanding.hpp>
#include <cstddef>
#include <cstdint>
#include <framewire/client.hpp>
#include <framewire/completion_queue.hpp>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

namespace framewire::client {

/// A request on its way, with all that its answer needs.
struct Order {
  std::span<const std::uint8_t> jpeg;
  std::shared_ptr<const OptionsText> options;
  std::function<void(Result<Resized>)> done;
  std::function<void(Result<ResizedView>)> view;  ///< instead of `done`
  std::shared_ptr<CompletionQueue> completions;   ///< instead of both
  std::list<Completion> completion;               ///< one element with `completions`
  OutputSink sink;
  std::stop_token stop;
  std::uint64_t client = 0;     ///< EngineRequest::client, of a service's own workers alone
  std::uint32_t waited_ms = 0;  ///< EngineRequest::waited_ms, likewise
  std::uint32_t losses = 0;     ///< connections that were lost while the server had it
  Outstanding::Ticket ticket;   ///< until it has been answered
};

/// Takes orders, and answers each once. Thread-safe, save receive(), which one thread calls.
class ServerSession {
 public:
  ServerSession() = default;
  virtual ~ServerSession() = default;
  ServerSession(const ServerSession&) = delete;
  ServerSession& operator=(const ServerSession&) = delete;

  /// As Client::input_slice().
  [[nodiscard]] virtual Result<InputSlice> input_slice(std::size_t bytes) = 0;
  /// Hands in as many orders, from the first on, as there is room for.
  /// @param waits    for room for at least one
  /// @param on_room  @see Client::try_submit()
  /// @return how many were handed in, or answered already; they are moved from
  virtual std::size_t submit(std::span<Order> orders, bool waits,
                             std::function<void()> on_room) = 0;
  /// Receives answers until close() was called or the server is gone; then all that is unanswered
  /// has been answered with peer_lost.
  virtual void receive() noexcept = 0;
  /// Ends receive().
  virtual void close() noexcept = 0;
  /// From now on a lost connection is not made anew, and nothing waits for another server.
  virtual void stop_retrying() noexcept = 0;

  [[nodiscard]] virtual std::optional<Status> lost() const = 0;
  [[nodiscard]] virtual bool draining() const noexcept = 0;
  OptionsTexts& options() noexcept { return options_; }

 private:
  OptionsTexts options_;
};

using base::copy_of;
/// Copies a stream to where an order wants it. @return busy where memory ran out; errors of its
/// sink
[[nodiscard]] Result<Resized> copy_out(const Order& order, Report report,
                                       std::span<const std::uint8_t> stream);
/// Whether an order was with a server as often as it may be: who sends a request again and again
/// that ends servers would end all of them.
/// @param retries  @see ClientOptions
[[nodiscard]] inline bool is_used_up(const Order& order, std::uint32_t retries) noexcept {
  return order.losses > retries;
}
/// What such an order is answered with. Without memory for more, the code.
[[nodiscard]] Status used_up(const Order& order) noexcept;
/// Answers an order that has no slot, or none any more.
void answer(Order& order, Result<Resized> result) noexcept;
/// Calls what waited for room. Without a lock: they submit.
void tell_of_room(const std::vector<std::function<void()>>& waiting) noexcept;

}  // namespace framewire::client
