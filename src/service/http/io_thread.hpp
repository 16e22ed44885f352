// One thread that reads and writes sockets, with the connections that live on it.
#pragma once

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
#include <service/http/connection.hpp>
#include <service/http/listener.hpp>
#include <service/http/random_ids.hpp>
#include <service/http/shared_state.hpp>
#include <string>
#include <unordered_map>
#include <vector>

namespace framewire::service::http {

/// One picture for the engine.
struct Job {
  std::span<const std::uint8_t> jpeg;  ///< stays until the answer; `done` may keep it
  ResizeOptions options;
  std::stop_token stop;
  /// Called once, on the thread that submitted, with what the engine says, or busy. Never throws.
  std::function<void(Result<Resized>)> done;
};

/// Accepts, reads, hands requests to the engine in groups and takes its answers in groups: one
/// eventfd wakes the thread for a batch of them.
///
/// Thread safety: run() is the thread; post members may be called from any other; all else is for
/// connections of this thread.
class IoThread {
 public:
  /// @param shared  outlives this
  explicit IoThread(SharedState& shared);
  ~IoThread();
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  /// Makes what may fail. @return io_error
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
  /// Runs on this thread. False where memory ran out.
  bool post(std::function<void()> task);

  [[nodiscard]] SharedState& shared() noexcept { return shared_; }
  [[nodiscard]] boost::asio::io_context& context() noexcept { return context_; }
  /// Hands a picture to the engine, with others of this turn.
  void submit(Job job);
  void forget(const Connection& connection) noexcept;
  [[nodiscard]] std::string_view date();
  [[nodiscard]] std::string new_id() { return ids_.next(); }

 private:
  using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol,
                                                      boost::asio::io_context::executor_type>;
  using Timer =
      boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                        boost::asio::wait_traits<std::chrono::steady_clock>,
                                        boost::asio::io_context::executor_type>;
  using Event = boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type>;

  void accept(std::size_t index);
  void on_accept(std::size_t index, const boost::system::error_code& error, Socket socket);
  void adopt(Socket socket, bool metrics);
  void refuse(Socket socket) noexcept;
  bool make_room(bool metrics);
  void drain();
  void tick();
  void wait_for_answers();
  void take_answers();
  void hand_in();
  void answer(std::uint64_t tag, Result<Resized> result) noexcept;

  struct Listener {
    Acceptor acceptor;
    bool metrics = false;
    bool accepting = false;
  };
  /// A picture that the engine has.
  struct HandedIn {
    std::function<void(Result<Resized>)> done;
    CodecKind codec = CodecKind::kAuto;  ///< that its options name
    std::chrono::steady_clock::time_point begun{};
  };
  void accept_what_waits(Listener& listener);

  SharedState& shared_;
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::vector<Listener> listeners_;
  Timer timer_;
  Event answered_;
  std::shared_ptr<CompletionQueue> completions_;
  std::unordered_map<const Connection*, std::shared_ptr<Connection>> connections_;
  std::vector<Job> to_hand_in_;
  std::unordered_map<std::uint64_t, HandedIn> handed_in_;
  std::uint64_t next_tag_ = 1;
  bool handing_in_ = false;
  bool waiting_for_answers_ = false;
  RandomIds ids_;
  std::string date_;
  std::int64_t date_second_ = -1;
};

}  // namespace framewire::service::http
