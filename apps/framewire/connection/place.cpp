#include <fmt/format.h>
#include <algorithm>
#include <command_line/numbers.hpp>
#include <connection/place.hpp>
#include <limits>
#include <transport/device.hpp>

namespace framewire::app {

Result<MemoryPlace> find_place(const std::string& text) {
  MemoryPlace place;
  if (text.empty() || text == "host") return place;
  if (!text.starts_with("cuda:") || !parse_number(std::string_view(text).substr(5), 0,
                                                  std::numeric_limits<int>::max(), place.device)) {
    return fail(StatusCode::kInvalidInput, fmt::format("'{}' is neither host nor cuda:N", text));
  }
  const auto devices = transport::cuda_devices();
  if (!devices) return fail(devices.error());
  place.devices = *devices;
  if (place.device < place.devices->count()) return place;
  return fail(StatusCode::kInvalidInput, fmt::format("no {}; this machine has cuda:0 to cuda:{}",
                                                     text, place.devices->count() - 1));
}

void place_at(transport::SessionOptions& options, const MemoryPlace& place) {
  options.devices = place.devices;
  options.device = std::max(place.device, 0);
}

}  // namespace framewire::app
