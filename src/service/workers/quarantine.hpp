// Inputs that have ended worker processes.
#pragma once

#include <array>
#include <atomic>
#include <base/clock.hpp>
#include <cstdint>
#include <framewire/status.hpp>
#include <list>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

namespace framewire::service::workers {

/// What requests with such an input are answered.
inline constexpr std::string_view kQuarantined =
    "quarantined: decoding this file ended two processes; it is refused for an hour";

/// Remembers inputs by length and SHA-256, so that nobody can make one that is taken for another.
/// At most kMaxInputs, the oldest first forgotten, each for kTime: long enough that a client who
/// sends it again and again ends two workers an hour, short enough that a file that was refused
/// because the machine had no memory is taken again without an administrator. Thread-safe.
class Quarantine {
 public:
  using Clock = base::Clock;
  using Input = std::span<const std::uint8_t>;
  static constexpr std::size_t kMaxInputs = 1024;
  static constexpr std::chrono::hours kTime{1};

  /// Whether an input is refused. Costs a hash only where a refused input has the same length.
  [[nodiscard]] bool contains(Input input, Clock::time_point now = Clock::now());
  /// A worker ended that had this input alone in hand. Throws std::bad_alloc.
  /// @return how often that was so
  unsigned accuse(Input input, Clock::time_point now = Clock::now());
  /// From now on the input is refused. Drops what throws: the next death brings it back.
  void add(Input input, Clock::time_point now = Clock::now()) noexcept;
  /// What a log calls an input: "112345 bytes, SHA-256 0a1b…". Throws std::bad_alloc.
  [[nodiscard]] static std::string name_of(Input input);
  /// Forgets all inputs, refused or merely accused. @return how many were refused until now
  std::size_t clear(Clock::time_point now = Clock::now()) noexcept;
  /// Inputs that are refused.
  [[nodiscard]] std::size_t size(Clock::time_point now = Clock::now()) const;

 private:
  using Digest = std::array<std::uint8_t, 32>;
  struct Entry {
    std::uint64_t bytes = 0;
    Digest digest{};
    unsigned deaths = 0;
    bool refused = false;
    Clock::time_point since;
  };

  [[nodiscard]] static Digest digest_of(Input input);
  // With the lock.
  Entry& find(std::uint64_t bytes, const Digest& digest, Clock::time_point now);
  void forget(Clock::time_point now);
  [[nodiscard]] std::size_t count_refused(Clock::time_point now) const noexcept;

  mutable std::mutex mutex_;
  std::atomic<std::size_t> refused_{0};  ///< entries with `refused`, for a look without the lock
  std::list<Entry> entries_;             ///< oldest first
};

}  // namespace framewire::service::workers
