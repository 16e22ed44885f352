#include <fmt/format.h>
#include <algorithm>
#include <base/ascii.hpp>
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
    variable.push_back(c == '-' ? '_' : base::to_upper(c));
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

// Whether an error about `subject` is about the file at `path`, or a line of it: "presets.txt:7",
// "origin-ca: ca.pem".
bool names_file(Text subject, Text path) {
  if (path.empty()) return false;
  if (subject.ends_with(path)) {
    const Text before = subject.substr(0, subject.size() - path.size());
    return before.empty() || before.ends_with(": ");
  }
  return subject.starts_with(path) && subject[path.size()] == ':';
}

// Whether a message has a setting's name in it, and not only as a part of another's.
bool has_word(Text message, Text name) {
  const auto is_part = [](char c) { return c == '-' || base::is_lower(c); };
  for (auto at = message.find(name); at != Text::npos; at = message.find(name, at + 1)) {
    const auto end = at + name.size();
    const bool begins = at == 0 || !is_part(message[at - 1]);
    if (begins && (end == message.size() || !is_part(message[end]))) return true;
  }
  return false;
}

}  // namespace

bool is_secret(Text name) {
  const auto rows = setting_rows();
  return std::any_of(rows.begin(), rows.end(), [&](const SettingRow& row) {
    return row.option.name == name && row.is_secret;
  });
}

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

Status with_origin(const Status& error, const GivenSettings& given) {
  const Text subject = error.subject();
  const Text message = error.message();
  const auto told = [&](std::string origin) {
    if (message.ends_with(fmt::format("({})", origin))) return error;
    return Status(error.code(), fmt::format("{} ({})", message, origin))
        .about(std::string(subject));
  };
  if (const auto named = given.find(subject); named != given.end()) {
    return told(named->second.origin);
  }
  for (const auto& [name, one] : given) {
    if (!is_secret(name) && names_file(subject, one.value)) {
      return told(fmt::format("{}: {}", name, one.origin));
    }
  }
  if (!is_setting(subject)) return error;
  for (const auto& [name, one] : given) {
    if (has_word(message, name)) return told(fmt::format("{}: {}", name, one.origin));
  }
  return error;
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
  if (auto valid = validate(made.settings); !valid) {
    return fail(with_origin(valid.error(), made.given));
  }
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
