#include <algorithm>
#include <base/cores.hpp>
#include <commands/serve/clients.hpp>
#include <service/http/log.hpp>
#include <utility>

namespace framewire::app {

std::size_t client_requests_under_way(bool has_devices) {
  constexpr std::size_t kEachCore = 4;
  if (has_devices) return kClientQueue;
  return std::min(kClientQueue, kEachCore * base::usable_cores());
}

Json event_line(std::string_view level, std::string_view what) {
  Json line;
  line["time"] = service::http::log_time();
  line["level"] = level;
  line["event"] = what;
  return line;
}

// Events come from threads that serve clients, and from those that watch workers.
void log_event(const Json& line) {
  static service::http::Log log([](std::string_view lines) { put(lines); });
  static const bool has_thread = log.start().has_value();
  std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  has_thread ? log.write(std::move(text)) : (void)put(text);
}

std::optional<std::uint64_t> RefusalLines::admit(std::chrono::steady_clock::time_point now) {
  if (now - begin_ >= kWindow) {
    begin_ = now;
    lines_ = 0;
  }
  if (lines_ == kMaxLines) {
    ++untold_;
    return std::nullopt;
  }
  ++lines_;
  return std::exchange(untold_, 0);
}

}  // namespace framewire::app
