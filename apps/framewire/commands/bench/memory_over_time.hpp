// Memory of this process and of an engine in it, looked at once a second.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <framewire/engine.hpp>
#include <mutex>
#include <report/json.hpp>
#include <string>
#include <string_view>
#include <thread>

namespace framewire::app {

/// Resident memory of the whole process; 0 where the system does not tell.
[[nodiscard]] std::uint64_t resident_bytes();

/// Looks from its making to stop(), at the beginning and then each second.
class MemoryOverTime {
 public:
  /// @param engine  outlives this
  explicit MemoryOverTime(const Engine& engine);
  ~MemoryOverTime();
  MemoryOverTime(const MemoryOverTime&) = delete;
  MemoryOverTime& operator=(const MemoryOverTime&) = delete;

  /// Ends it. @return a row for each look: "s", "resident", "pinned", "device" and "kept" in bytes,
  ///         the last all that EngineStats::kept tells of host memory but pinned
  [[nodiscard]] Json stop();

 private:
  void run();

  const Engine& engine_;
  Json rows_ = Json::array();
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread thread_;
};

/// A line for each row. @param rows  as looked at
[[nodiscard]] std::string memory_lines(std::string_view codec, const Json& rows);

}  // namespace framewire::app
