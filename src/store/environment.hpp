// Where settings come from that nobody gave: the environment, and the AWS tools' shared files.
#pragma once

#include <framewire/status.hpp>
#include <functional>
#include <map>
#include <optional>
#include <store/signature.hpp>
#include <string>
#include <string_view>

namespace framewire::store {

/// The value of a variable of the environment; nothing where it is unset or empty.
using EnvironmentLookup = std::function<std::optional<std::string>(const char* name)>;
[[nodiscard]] std::optional<std::string> process_environment(const char* name);

/// The sections of an INI file as the AWS tools write it: names in brackets, then "name = value"
/// lines. Lines that are indented belong to the value above them and are left out.
using IniSections = std::map<std::string, std::map<std::string, std::string>, std::less<>>;
/// @return invalid_input with the number of the first line that is neither; too_large for more than
/// 1,024 sections, or for more than 10,000 lines
[[nodiscard]] Result<IniSections> parse_ini(std::string_view text);

/// A file's text. @return io_error; too_large above `max_bytes`; nothing where there is no such
/// file
[[nodiscard]] Result<std::optional<std::string>> read_small_file(const std::string& path,
                                                                 std::size_t max_bytes);

/// One profile of the shared configuration and credentials files, the latter's values first.
class SharedProfile {
 public:
  /// Reads both files: those that AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE name, or
  /// ~/.aws/credentials and ~/.aws/config, which need not exist.
  /// @param name  empty: AWS_PROFILE, or "default"
  /// @return invalid_input for what cannot be parsed, and for a profile that was named and is in
  /// neither file
  [[nodiscard]] static Result<SharedProfile> load(const std::string& name,
                                                  const EnvironmentLookup& environment);

  [[nodiscard]] std::optional<std::string> value(std::string_view name) const;
  /// The keys that stand in the files. @return nothing where there are none; unsupported for a
  /// profile that says how to get some by a way that is not known here, by its name
  [[nodiscard]] Result<std::optional<S3Credentials>> credentials() const;

 private:
  std::string name_;
  std::map<std::string, std::string, std::less<>> values_;
};

/// The keys that stand in the environment. @return denied for one half of a pair
[[nodiscard]] Result<std::optional<S3Credentials>> environment_credentials(
    const EnvironmentLookup& environment);

}  // namespace framewire::store
