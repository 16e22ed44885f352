// What is said of a file, as a tree that can be dropped when memory has run out.
#pragma once

#include <concepts>
#include <cstdint>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace framewire::inspect {

/// A value of JSON. The service builds one for each file that a stranger sends, so unlike
/// nlohmann's, whose destructor allocates a stack for its children and ends the process where that
/// fails, destroying this neither allocates nor throws. It recurses instead: for trees of known
/// depth, not for what somebody else has nested. Everything else may throw std::bad_alloc.
class Value {
 public:
  struct Member;
  using Array = std::vector<Value>;
  using Object = std::vector<Member>;  ///< in the order of insertion

  // NOLINTBEGIN(google-explicit-constructor): so that trees read like JSON
  // Nothing here is defined before Member is: clang would need the whole of it.
  Value(std::nullptr_t = nullptr) noexcept;
  Value(bool value) noexcept;
  template <std::unsigned_integral Number>
  Value(Number value) noexcept;
  template <std::signed_integral Number>
  Value(Number value) noexcept;
  Value(std::string value) noexcept;
  Value(std::string_view value);
  Value(const char* value);
  // NOLINTEND(google-explicit-constructor)
  // Not inline: GCC 12 would warn of members that the variant does not hold.
  ~Value();
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;

  /// @param members  keys and values in turn
  template <typename... Members>
  [[nodiscard]] static Value object(Members&&... members) {
    Value value = empty_object();
    value.add(std::forward<Members>(members)...);
    return value;
  }
  [[nodiscard]] static Value array();
  /// An array of numbers.
  template <std::ranges::input_range Numbers>
  [[nodiscard]] static Value array_of(const Numbers& numbers) {
    Value value = array();
    for (const auto number : numbers) value.push_back(number);
    return value;
  }

  /// For an array alone, or a null, which becomes one.
  void push_back(Value value);
  /// For an object alone. Adds a null under a key that is not there.
  Value& operator[](std::string_view key);
  /// Null where the key is not there, or this is no object.
  [[nodiscard]] const Value* find(std::string_view key) const noexcept;
  /// Null where this is no string.
  [[nodiscard]] const std::string* string() const noexcept;

  /// Calls `see` with a std::nullptr_t, bool, std::int64_t, std::uint64_t, std::string, Array or
  /// Object.
  template <typename See>
  decltype(auto) visit(See&& see) const {
    return std::visit(std::forward<See>(see), data_);
  }

 private:
  [[nodiscard]] static Value empty_object();
  void add() noexcept {}
  template <typename One, typename... Others>
  void add(std::string_view key, One&& one, Others&&... others) {
    (*this)[key] = Value(std::forward<One>(one));
    add(std::forward<Others>(others)...);
  }

  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, std::string, Array, Object> data_;
};

struct Value::Member {
  Member(std::string_view name, Value held) : key(name), value(std::move(held)) {}

  std::string key;
  Value value;
};

template <std::unsigned_integral Number>
Value::Value(Number value) noexcept : data_(std::uint64_t{value}) {}

template <std::signed_integral Number>
Value::Value(Number value) noexcept : data_(std::int64_t{value}) {}

/// As pretty() of the same in Json, byte for byte: indented, with a line's end, and U+FFFD for
/// bytes that are not UTF-8. Memory that runs out meanwhile throws, and no more.
[[nodiscard]] std::string pretty(const Value& value);

}  // namespace framewire::inspect
