#include <algorithm>
#include <commands/serve/clients.hpp>
#include <service/http/log.hpp>
#include <thread>

namespace framewire::app {

std::size_t client_requests_under_way(bool has_devices) {
  constexpr std::size_t kEachCore = 4;
  if (has_devices) return kClientQueue;
  return std::min(kClientQueue, kEachCore * std::max(1u, std::thread::hardware_concurrency()));
}

Json event_line(std::string_view level, std::string_view what) {
  Json line;
  line["time"] = service::http::log_time();
  line["level"] = level;
  line["event"] = what;
  return line;
}

void log_event(const Json& line) {
  put(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace framewire::app
