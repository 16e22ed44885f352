// Settings from a file, the environment and flags, and which of them counts.
#pragma once

#include <framewire/status.hpp>
#include <map>
#include <optional>
#include <service/http/settings.hpp>
#include <string>
#include <string_view>

namespace framewire::service::http {

/// One setting as somebody gave it.
struct GivenSetting {
  std::string value;
  std::string origin;  ///< for people: "flag", "environment", "file serve.toml:12"
};
using GivenSettings = std::map<std::string, GivenSetting, std::less<>>;

/// Reads a TOML file: keys are names of settings, on the first level; numbers, texts, true and
/// false, and arrays of texts are values.
/// @param text  at most 1 MiB
/// @param name  of the file, for messages
/// @return invalid_input with name and line: no TOML, an unknown key, a value of another kind
[[nodiscard]] Result<GivenSettings> read_toml(std::string_view text, std::string_view name);

/// Picks FRAMEWIRE_NAME of every setting out of an environment. Empty values are as unset,
/// but those of secrets, which configure() refuses.
/// @param environment  as `environ`, ends with a null pointer
[[nodiscard]] GivenSettings read_environment(const char* const* environment);

struct Configuration {
  ServiceSettings settings;
  GivenSettings given;  ///< of each setting that somebody gave, what counts

  /// A line "name = value  # origin" for every setting, in the order of the table.
  [[nodiscard]] std::string to_string() const;
};

/// Flags before environment before file before defaults.
/// @return invalid_input about a setting, with its origin in the message
[[nodiscard]] Result<Configuration> configure(const GivenSettings& file,
                                              const GivenSettings& environment,
                                              const GivenSettings& flags);

/// An error about a setting, or about a file or folder that one names, with where that was given:
/// "… (file, serve.toml:3)". Where the setting itself is a default, the one that the message speaks
/// of. Unchanged where nobody gave any of them.
[[nodiscard]] Status with_origin(const Status& error, const GivenSettings& given);

/// Whether a setting has that name.
[[nodiscard]] bool is_setting(std::string_view name);
/// Whether its value is never shown.
[[nodiscard]] bool is_secret(std::string_view name);

}  // namespace framewire::service::http
