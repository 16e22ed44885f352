#include <algorithm>
#include <commands/serve/clients.hpp>
#include <thread>

namespace framewire::app {

std::size_t client_requests_under_way(bool has_devices) {
  constexpr std::size_t kEachCore = 4;
  if (has_devices) return kClientQueue;
  return std::min(kClientQueue, kEachCore * std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace framewire::app
