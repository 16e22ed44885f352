// Presets: options that an operator has given a name.
#pragma once

#include <cstddef>
#include <framewire/status.hpp>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::service::url {

class Presets {
 public:
  /// Presets may name others, in circles too, but at most this many deep: the stack is bounded.
  static constexpr int kMaxDepth = 32;

  /// @param definitions  "name=option/option", as UrlSettings::presets
  /// @return invalid_input for one without name or options, and for a name that comes twice. What
  ///         the options say is checked by Grammar::make()
  [[nodiscard]] static Result<Presets> make(std::span<const std::string> definitions,
                                            std::string_view arguments_separator);

  [[nodiscard]] std::size_t size() const noexcept { return options_.size(); }
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;
  [[nodiscard]] const std::string& name(std::size_t index) const { return names_[index]; }
  /// The segments of one preset.
  [[nodiscard]] std::span<const std::string> options(std::size_t index) const {
    return options_[index];
  }

 private:
  std::map<std::string, std::size_t, std::less<>> index_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::string>> options_;
};

}  // namespace framewire::service::url
