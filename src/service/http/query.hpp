// What stands behind the path of a request target, and form fields: names and values.
#pragma once

#include <framewire/options.hpp>
#include <framewire/status.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace framewire::service::http {

/// A request target in its two parts; views into it.
struct Target {
  std::string_view path;   ///< from "/" on, as it was sent
  std::string_view query;  ///< behind the first "?"; empty where there is none
};
[[nodiscard]] Target split_target(std::string_view target) noexcept;

using Parameters = std::vector<std::pair<std::string, std::string>>;

/// Reads "name=value&name&…": percent escapes are undone once, "+" is a space.
/// @return invalid_input for more than 64 parameters, a broken escape, an escape of a control
///         character, an empty name, and a name that is given twice
[[nodiscard]] Result<Parameters> parse_query(std::string_view query);

/// Which of two values counts is a matter on which clients, caches and servers differ.
/// @return invalid_input about a field that the query names, too; errors of parse_query()
[[nodiscard]] Result<void> check_given_once(std::string_view query, const Parameters& fields);

/// Sets options by their own words, on top of what `options` holds; then checks them together.
/// The codec and limits are the server's, no client's.
/// @return invalid_input about the option, with what was found and what would be accepted
[[nodiscard]] Result<void> set_options(ResizeOptions& options, const Parameters& parameters);

/// The options that set_options() takes.
[[nodiscard]] std::vector<OptionSpec> client_options();

}  // namespace framewire::service::http
