#include <fmt/format.h>
#include <charconv>
#include <files/file_mode.hpp>

namespace framewire::app {

std::string take_mode(const Arguments& arguments, std::optional<mode_t>& mode) {
  if (!arguments.has("mode")) return {};
  const std::string text = arguments.get("mode");
  mode_t bits = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, bits, 8);
  if (error != std::errc{} || stop != end || bits > 0777) {
    return fmt::format("--mode: found '{}'; accepted: an octal number from 0 to 777, such as 644",
                       text);
  }
  mode = bits;
  return {};
}

}  // namespace framewire::app
