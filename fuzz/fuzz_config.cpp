// Files of settings from strangers: whatever they hold, a configuration that validates or one
// error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <service/http/configuration.hpp>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace http = framewire::service::http;
  const auto require = [](bool held) {
    if (!held) std::abort();
  };
  const auto file = http::read_toml({reinterpret_cast<const char*>(data), size}, "f");
  if (!file) {
    require(!file.error().message().empty());
    return 0;
  }
  const auto made = http::configure(*file, {}, {});
  if (!made) {
    require(!made.error().subject().empty());
    return 0;
  }
  require(http::validate(made->settings).has_value());
  // Each setting reads back what it prints.
  for (const http::SettingRow& row : http::setting_rows()) {
    http::ServiceSettings again;
    const std::string text = row.print(made->settings);
    if (text.empty()) continue;
    require(row.parse(again, text));
    require(row.print(again) == text);
  }
  return 0;
}
