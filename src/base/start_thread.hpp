// Threads of the library's own.
#pragma once

#include <array>
#include <csignal>
#include <framewire/status.hpp>
#include <new>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace framewire::base {

/// As top -H, ps -L and debuggers show it.
class ThreadName {
 public:
  /// @param name  cut off behind 15 bytes
  explicit ThreadName(std::string_view name) noexcept;
  void give_to_this_thread() const noexcept;
  [[nodiscard]] std::string_view view() const noexcept { return text_.data(); }

 private:
  std::array<char, 16> text_{};
};

/// Blocks signals in the calling thread as long as it lives. Threads that are started meanwhile
/// keep them blocked.
class BlockedSignals {
 public:
  BlockedSignals() noexcept;
  ~BlockedSignals();
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

/// What the exception being handled says about a thread that could not be started. @return busy
[[nodiscard]] Status why_no_thread(const ThreadName& name) noexcept;

/// Starts a thread. It takes no signals, which are for the program's threads, save those that its
/// own faults raise and SIGPROF, by which profilers sample it. A write that would raise SIGPIPE or
/// SIGXFSZ there fails with EPIPE or EFBIG.
/// @param work  must not throw
/// @return busy, with the system's reason, where there is no thread or no memory for one
template <typename Work>
[[nodiscard]] Result<std::thread> start_thread(std::string_view name, Work work) noexcept {
  const ThreadName own(name);
  try {
    const BlockedSignals blocked;
    return std::thread([own, work = std::move(work)]() mutable {
      own.give_to_this_thread();
      work();
    });
  } catch (...) {
    return fail(why_no_thread(own));
  }
}

/// Starts a thread like start_thread(), and appends it to `threads`.
/// @return as start_thread(); `threads` is unchanged then
template <typename Work>
[[nodiscard]] Result<void> add_thread(std::vector<std::thread>& threads, std::string_view name,
                                      Work work) noexcept {
  try {
    threads.emplace_back();  // before there is a thread that could not be kept
  } catch (const std::bad_alloc&) {
    return fail(why_no_thread(ThreadName(name)));
  }
  auto started = start_thread(name, std::move(work));
  if (!started) {
    threads.pop_back();
    return fail(std::move(started.error()));
  }
  threads.back() = std::move(*started);
  return {};
}

}  // namespace framewire::base
