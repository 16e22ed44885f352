#include <fmt/format.h>
#include <command_line/lists.hpp>
#include <command_line/misuse.hpp>
#include <command_line/numbers.hpp>
#include <connection/connection.hpp>

namespace framewire::app {

transport::SessionOptions session_of(const Arguments& arguments) {
  transport::SessionOptions options;
  options.capacity = 1024;  // a window of puts and one of offers, twice
  options.security.insecure = arguments.has("insecure");
  options.security.psk_file = arguments.get("psk");
  options.security.psk_name = arguments.get("psk-name");
  options.security.certificate = arguments.get("cert");
  options.security.key = arguments.get("key");
  options.security.authority = arguments.get("ca");
  if (const std::string allowed = arguments.get("allow"); !allowed.empty()) {
    options.security.allowed = split_at_commas(allowed);
  }
  if (arguments.get("link") != "auto") options.links = {arguments.get("link")};
  options.ucx_device = arguments.get("interface");
  return options;
}

Result<void> check_place(const Arguments& arguments, std::string_view option) {
  const std::string place = arguments.get(option);
  int device = 0;
  if (place == "host") return {};
  if (place.starts_with("cuda:") &&
      parse_number(std::string_view(place).substr(5), 0, 1023, device)) {
    return {};
  }
  return misuse(fmt::format("--{}: found '{}'; accepted: host, cuda:N", option, place));
}

Result<void> check_path(const Arguments& arguments, const transport::Channel& channel) {
  const auto required = transport::parse_requirement(arguments.get("require"));
  if (!required) return fail(required.error());
  return transport::check_path(channel.path(), *required);
}

}  // namespace framewire::app
