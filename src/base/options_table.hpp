// The table behind the option grammar: everything that is known of an option stands in its row.
#pragma once

#include <framewire/options.hpp>
#include <span>
#include <string>
#include <string_view>

namespace framewire::options {

/// Whether an option can change the bytes of an output, and so its hash.
enum class Affects : bool { kNothing, kOutput };

struct OptionRow {
  std::string_view name;
  std::string_view metavar;
  std::span<const std::string_view> words;  ///< the choices; empty where the value is free
  std::string_view accepted;                ///< for errors; empty: the words say it
  std::string_view group;
  std::string_view help;
  Affects affects;
  /// Sets the option; false where the text is not accepted (the options may then be half set).
  bool (*parse)(ResizeOptions&, std::string_view);
  /// The text that parse() reads back; "" where the option is unset.
  std::string (*print)(const ResizeOptions&);
  /// Whether all values are equal that parse() sets. Then print() says the same of both, but not
  /// the other way round: an unset background prints nothing, whatever its colour.
  bool (*same)(const ResizeOptions&, const ResizeOptions&);
};

/// Every row, in the order in which to show them. Static storage.
[[nodiscard]] std::span<const OptionRow> table() noexcept;

/// What the row accepts, for an error message.
[[nodiscard]] std::string accepted_text(const OptionRow& row);

}  // namespace framewire::options
