// Event loops over libcurl's multi handles, for requests that are sent as often as it takes.
#pragma once

#include <atomic>
#include <base/clock.hpp>
#include <framewire/status.hpp>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <store/s3/curl_handle.hpp>
#include <store/s3/kept_sockets.hpp>
#include <thread>
#include <vector>

namespace framewire::store::s3 {

/// One request with its attempts. All members are called by one loop's thread.
class HttpTask {
 public:
  HttpTask() = default;
  HttpTask(const HttpTask&) = delete;
  HttpTask& operator=(const HttpTask&) = delete;
  virtual ~HttpTask() = default;

  /// When the next attempt begins, or nothing: the task has been answered and goes.
  using Next = std::optional<base::Clock::time_point>;
  /// Sets an attempt up in a handle that knows nothing yet.
  /// @return nothing where the attempt goes on now; otherwise what is to happen instead of it
  [[nodiscard]] virtual std::optional<Next> prepare(CURL* easy) = 0;
  /// An attempt has ended, however.
  [[nodiscard]] virtual Next ended(CURLcode code) = 0;
  [[nodiscard]] virtual bool cancelled() const noexcept = 0;
  /// Answers without another attempt.
  virtual void give_up(Status why) noexcept = 0;
  /// Whether the attempt under way has told libcurl to pause, so that others go on.
  [[nodiscard]] virtual bool is_paused() const noexcept { return false; }
  /// libcurl is about to go on with the attempt.
  virtual void begin_turn() noexcept {}
};

/// One thread with one multi handle. Thread safety: submit() and tasks().
class HttpLoop {
 public:
  explicit HttpLoop(unsigned connections);
  /// Gives everything up as cancelled.
  ~HttpLoop();
  HttpLoop(const HttpLoop&) = delete;
  HttpLoop& operator=(const HttpLoop&) = delete;
  /// @return busy where a thread or a handle cannot be had
  [[nodiscard]] Result<void> start();

  /// Takes the task, unless it throws.
  void submit(std::unique_ptr<HttpTask>&& task);
  [[nodiscard]] std::size_t tasks() const noexcept { return tasks_.load(); }

 private:
  struct Entry {
    std::unique_ptr<HttpTask> task;
    CurlHandle easy;  ///< while an attempt is under way
    base::Clock::time_point due;
    KeptSockets* sockets = nullptr;  ///< the loop's
    bool dialled = false;            ///< the attempt has a connection of its own
    bool spoilt = false;             ///< the one that was kept is of no use
  };
  using Entries = std::list<Entry>;
  struct FreeMulti {
    void operator()(CURLM* multi) const noexcept { curl_multi_cleanup(multi); }
  };

  static curl_socket_t on_socket(void* entry, curlsocktype, curl_sockaddr* address) noexcept;
  static int on_connected(void* entry, char*, char*, int, int local_port) noexcept;

  void run() noexcept;
  void begin_due() noexcept;
  void begin(Entries::iterator entry);
  void begin_turns() noexcept;
  void take_ended() noexcept;
  void end_or_give_up(Entries::iterator entry, CURLcode code) noexcept;
  [[nodiscard]] bool connects_anew(Entry& entry) noexcept;
  void end(Entries::iterator entry, CURLcode code);
  void settle(Entries& list, Entries::iterator entry, HttpTask::Next next);
  void forget(Entries& list, Entries::iterator entry) noexcept;
  [[nodiscard]] int poll_ms() const noexcept;

  const unsigned connections_;
  KeptSockets sockets_;  ///< of multi_, which closes them
  std::unique_ptr<CURLM, FreeMulti> multi_;
  std::atomic<std::size_t> tasks_ = 0;
  std::atomic<bool> ending_ = false;
  std::mutex mutex_;
  Entries inbox_;  ///< under mutex_

  // The loop's own.
  Entries waiting_;
  Entries active_;
  std::vector<CurlHandle> idle_;
  std::thread thread_;
};

/// Several loops: one is a core's worth of copies and TLS. Thread safety: submit().
class HttpLoops {
 public:
  /// @param connections  kept open, over all loops
  [[nodiscard]] Result<void> start(unsigned loops, unsigned connections);
  /// Takes the task, unless it throws.
  void submit(std::unique_ptr<HttpTask>&& task);

 private:
  std::vector<std::unique_ptr<HttpLoop>> loops_;
};

}  // namespace framewire::store::s3
