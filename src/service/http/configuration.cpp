#include <fmt/format.h>
#include <algorithm>
#include <service/http/configuration.hpp>
#include <vector>

namespace framewire::service::http {
namespace {

using Text = std::string_view;

constexpr Text kPrefix = "FRAMEWIRE_";

// All settings in the order of their tables: the service's, then those of pictures.
std::vector<Text> names() {
  std::vector<Text> all;
  for (const SettingRow& row : setting_rows()) all.push_back(row.option.name);
  for (const OptionSpec& spec : option_specs()) all.push_back(spec.name);
  return all;
}

std::string variable_of(Text name) {
  std::string variable(kPrefix);
  for (const char c : name) {
    variable.push_back(c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c);
  }
  return variable;
}

// The value of one setting that nobody gave.
std::string default_of(Text name) {
  for (const SettingRow& row : setting_rows()) {
    if (row.option.name == name) return row.default_text();
  }
  for (const OptionSpec& spec : option_specs()) {
    if (spec.name == name) return std::string(spec.default_value);
  }
  return {};
}

bool is_secret(Text name) {
  const auto rows = setting_rows();
  return std::any_of(rows.begin(), rows.end(), [&](const SettingRow& row) {
    return row.option.name == name && row.is_secret;
  });
}

}  // namespace

bool is_setting(Text name) {
  const auto all = names();
  return std::find(all.begin(), all.end(), name) != all.end();
}

GivenSettings read_environment(const char* const* environment) {
  GivenSettings given;
  for (const Text name : names()) {
    const std::string variable = variable_of(name) + "=";
    for (const char* const* entry = environment; *entry != nullptr; ++entry) {
      const Text text(*entry);
      if (!text.starts_with(variable)) continue;
      // An empty secret is refused, not taken for none.
      if (text.size() == variable.size() && !is_secret(name)) continue;
      given[std::string(name)] = {std::string(text.substr(variable.size())),
                                  fmt::format("environment, {}", variable_of(name))};
    }
  }
  return given;
}

Result<Configuration> configure(const GivenSettings& file, const GivenSettings& environment,
                                const GivenSettings& flags) {
  Configuration made;
  for (const GivenSettings* layer : {&flags, &environment, &file}) {
    for (const auto& [name, given] : *layer) made.given.emplace(name, given);
  }
  for (const auto& [name, given] : made.given) {
    if (auto set = set_setting(made.settings, name, given.value); !set) {
      return fail(Status(StatusCode::kInvalidInput,
                         fmt::format("{} ({})", set.error().message(), given.origin))
                      .about(name));
    }
  }
  if (auto valid = validate(made.settings); !valid) return fail(valid.error());
  return made;
}

std::string Configuration::to_string() const {
  std::string out;
  for (const Text name : names()) {
    const auto found = given.find(name);
    const bool is_default = found == given.end();
    const std::string value = is_default        ? default_of(name)
                              : is_secret(name) ? std::string("(secret)")
                                                : found->second.value;
    out +=
        fmt::format("{} = {}  # {}\n", name, value, is_default ? "default" : found->second.origin);
  }
  return out;
}

}  // namespace framewire::service::http
