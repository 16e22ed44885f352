#include <fmt/format.h>
#include <charconv>
#include <command_line/misuse.hpp>
#include <files/file_mode.hpp>

namespace framewire::app {

Result<std::optional<mode_t>> parse_mode(const Arguments& arguments) {
  if (!arguments.has("mode")) return std::nullopt;
  const std::string text = arguments.get("mode");
  mode_t bits = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, bits, 8);
  if (error != std::errc{} || stop != end || bits > 0777) {
    return misuse(fmt::format(
        "--mode: found '{}'; accepted: an octal number from 0 to 777, such as 644", text));
  }
  return bits;
}

}  // namespace framewire::app
