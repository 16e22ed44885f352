#include <fmt/format.h>
#include <base/clock.hpp>
#include <chrono>
#include <commands/bench/memory_over_time.hpp>
#include <exception>
#include <fstream>
#include <report/console.hpp>

namespace framewire::app {

std::uint64_t resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stoull(line.substr(6)) * 1024;
  }
  return 0;
}

MemoryOverTime::MemoryOverTime(const Engine& engine)
    : engine_(engine), thread_([this] { run(); }) {}

MemoryOverTime::~MemoryOverTime() {
  if (thread_.joinable()) (void)stop();
}

Json MemoryOverTime::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  over_.notify_one();
  thread_.join();
  return std::move(rows_);
}

void MemoryOverTime::run() try {
  const auto start = base::Clock::now();
  std::unique_lock lock(mutex_);
  for (int second = 0;; ++second) {
    const EngineStats stats = engine_.stats();
    std::uint64_t kept = 0;
    for (const KeptMemory& memory : stats.kept) {
      if (memory.name.find("buffers") == std::string_view::npos) kept += memory.bytes;
    }
    rows_.push_back({{"s", second},
                     {"resident", resident_bytes()},
                     {"pinned", stats.pinned_bytes},
                     {"device", stats.device_bytes},
                     {"kept", kept}});
    if (over_.wait_until(lock, start + std::chrono::seconds(second + 1),
                         [this] { return is_over_; })) {
      return;
    }
  }
} catch (const std::exception& error) {
  say(fmt::format("memory is shown no more: {}", error.what()));
}

std::string memory_lines(std::string_view codec, const Json& rows) {
  std::string lines;
  for (const Json& row : rows) {
    const auto mb = [&](const char* name) { return row[name].get<std::uint64_t>() >> 20; };
    lines +=
        fmt::format("{:<10} {:>4} s: resident {} MB, pinned {} MB, device {} MB, caches {} KB\n",
                    codec, row["s"].get<int>(), mb("resident"), mb("pinned"), mb("device"),
                    row["kept"].get<std::uint64_t>() >> 10);
  }
  return lines;
}

}  // namespace framewire::app
