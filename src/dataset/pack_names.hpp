// Names of packed shards and of their members.
#pragma once

#include <cstdint>
#include <framewire/status.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace framewire::dataset {

/// Names of numbered shards, as in "shards/train-%06d.tar".
class ShardPattern {
 public:
  /// Reads a path whose last part has one number, %d or %06d, and ends in ".tar".
  /// @return invalid_input for any other
  [[nodiscard]] static Result<ShardPattern> parse(const std::string& text);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  /// "." where the pattern names none.
  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
  /// The last part, with its number still a pattern.
  [[nodiscard]] std::string last_part() const;
  /// The same for patterns that differ in how long their numbers are: they have names in common.
  [[nodiscard]] std::string claim_label() const { return before_ + "%d" + after_; }
  /// The name in the folder of the shard with a number.
  [[nodiscard]] std::string name(std::uint64_t number) const;
  /// The number of a name in the folder; nothing for names that name() does not give.
  [[nodiscard]] std::optional<std::uint64_t> number_of(std::string_view name) const;

 private:
  std::string text_;
  std::string folder_;
  std::string before_;  ///< the number
  std::string conversion_;
  std::string after_;
  int digits_ = 0;  ///< at least as many, with zeros in front
};

/// What becomes of dots in a member's last part, at the first of which WebDataset ends the key.
enum class KeyDots : std::uint8_t {
  kKeep,        ///< "a.b.jpg" has the key "a" and the extension "b.jpg"
  kUnderscore,  ///< it becomes "a_b.jpg"; only the last dot stays
};

/// The name under which an input is packed.
/// @param name  of the input, as batch::Input::name
/// @return invalid_input for one without a key, which WebDataset would pass over
[[nodiscard]] Result<std::string> member_name(const std::string& name, KeyDots dots);

}  // namespace framewire::dataset
