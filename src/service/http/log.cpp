#include <fmt/format.h>
#include <time.h>
#include <base/start_thread.hpp>
#include <chrono>
#include <iterator>
#include <service/http/log.hpp>
#include <service/http/response.hpp>
#include <utility>

namespace framewire::service::http {
namespace {

constexpr std::size_t kMaxWaitingBytes = 1u << 20;
constexpr std::size_t kMaxTargetBytes = 512;

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// "2026-01-31T12:34:56.789Z"
std::string timestamp(std::int64_t unix_ms) {
  const time_t seconds = unix_ms / 1000;
  tm utc{};
  (void)::gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                     unix_ms % 1000);
}

}  // namespace

std::string log_time() { return timestamp(now_ms()); }

std::string to_json(const RequestLine& line, std::int64_t unix_ms) {
  std::string out = fmt::format(
      R"({{"time":"{}","level":"{}","id":"{}","client":"{}","method":"{}","target":"{}",)"
      R"("status":{},"bytes_in":{},"bytes_out":{},"ms":{:.3f})",
      timestamp(unix_ms), line.status >= 500 ? "error" : "info", line.request_id, line.client,
      json_escaped(line.method.substr(0, 32)), json_escaped(line.target.substr(0, kMaxTargetBytes)),
      line.status, line.bytes_in, line.bytes_out, line.ms);
  if (!line.codec.empty()) fmt::format_to(std::back_inserter(out), R"(,"codec":"{}")", line.codec);
  if (!line.message.empty()) {
    fmt::format_to(std::back_inserter(out), R"(,"message":"{}")", json_escaped(line.message));
  }
  return out + "}\n";
}

Result<void> Log::start() {
  if (!sink_) return {};
  auto started = base::start_thread("fw-log", [this] { run(); });
  if (!started) return fail(std::move(started.error()));
  thread_ = std::move(*started);
  return {};
}

Log::~Log() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  filled_.notify_one();
  thread_.join();
}

void Log::write(const RequestLine& line) noexcept {
  if (!sink_) return;
  try {
    add(to_json(line, now_ms()));
  } catch (...) {  // memory ran out: the line is dropped like one that finds no room
    const std::lock_guard lock(mutex_);
    ++dropped_;
  }
}

void Log::write(std::string line) noexcept {
  if (!sink_) return;
  try {
    add(std::move(line));
  } catch (...) {
    const std::lock_guard lock(mutex_);
    ++dropped_;
  }
}

void Log::say(std::string_view level, std::string_view message) noexcept {
  if (!sink_) return;
  try {
    add(fmt::format("{{\"time\":\"{}\",\"level\":\"{}\",\"message\":\"{}\"}}\n", log_time(), level,
                    json_escaped(message)));
  } catch (...) {
    const std::lock_guard lock(mutex_);
    ++dropped_;
  }
}

void Log::add(std::string line) {
  bool was_empty = false;
  {
    const std::lock_guard lock(mutex_);
    was_empty = waiting_.empty();
    if (waiting_.size() + line.size() > kMaxWaitingBytes) {
      ++dropped_;
      return;
    }
    waiting_ += line;
  }
  if (was_empty) filled_.notify_one();
}

void Log::run() {
  std::string lines;
  while (true) {
    std::uint64_t dropped = 0;
    bool ended = false;
    {
      std::unique_lock lock(mutex_);
      filled_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
      lines.clear();
      lines.swap(waiting_);
      dropped = std::exchange(dropped_, 0);
      ended = ended_;
    }
    try {
      if (dropped != 0) {
        lines += fmt::format(
            "{{\"time\":\"{}\",\"level\":\"warning\",\"message\":\"{} lines were dropped\"}}\n",
            log_time(), dropped);
      }
      if (!lines.empty()) sink_(lines);
    } catch (...) {  // a sink that throws has lost these lines; the next ones may fare better
    }
    if (ended) return;
  }
}

}  // namespace framewire::service::http
