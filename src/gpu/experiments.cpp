#include <cstdlib>
#include <gpu/experiments.hpp>
#include <string_view>

namespace framewire::gpu {
namespace {

bool names(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const auto one = list.substr(0, list.find(','));
    if (one == word) return true;
    list.remove_prefix(one.size() == list.size() ? list.size() : one.size() + 1);
  }
  return false;
}

Experiments read_experiments() noexcept {
  const char* text = std::getenv("FRAMEWIRE_GPU_EXPERIMENT");
  const std::string_view list = text == nullptr ? std::string_view() : text;
  return {names(list, "no-graphs"), names(list, "spin"), names(list, "single-copies")};
}

}  // namespace

const Experiments& experiments() noexcept {
  static const Experiments read = read_experiments();
  return read;
}

}  // namespace framewire::gpu
