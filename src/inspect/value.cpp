#include <algorithm>
#include <inspect/json.hpp>
#include <inspect/value.hpp>

namespace framewire::inspect {
namespace {

class JsonWriter {
 public:
  void write(const Value& value) { value.visit(*this); }
  [[nodiscard]] std::string take() { return std::move(text_); }

  void operator()(std::nullptr_t) { text_ += "null"; }
  void operator()(bool value) { text_ += value ? "true" : "false"; }
  void operator()(std::int64_t value) { text_ += std::to_string(value); }
  void operator()(std::uint64_t value) { text_ += std::to_string(value); }
  // A string of nlohmann's is no tree: destroying it does not allocate.
  void operator()(const std::string& value) { text_ += text_of(Json(value)); }
  void operator()(const Value::Array& items) {
    list('[', ']', items, [this](const Value& item) { write(item); });
  }
  void operator()(const Value::Object& members) {
    list('{', '}', members, [this](const Value::Member& member) {
      (*this)(member.key);
      text_ += ": ";
      write(member.value);
    });
  }

 private:
  template <typename List, typename WriteOne>
  void list(char open, char close, const List& items, WriteOne write_one) {
    text_ += open;
    indent_ += kStep;
    bool first = true;
    for (const auto& item : items) {
      if (!first) text_ += ',';
      first = false;
      new_line();
      write_one(item);
    }
    indent_ -= kStep;
    if (!items.empty()) new_line();
    text_ += close;
  }
  void new_line() { text_.append(1, '\n').append(indent_, ' '); }

  static constexpr std::size_t kStep = 2;
  std::size_t indent_ = 0;
  std::string text_;
};

}  // namespace

Value::Value(std::nullptr_t) noexcept {}
Value::Value(bool value) noexcept : data_(value) {}
Value::Value(std::string value) noexcept : data_(std::move(value)) {}
Value::Value(std::string_view value) : data_(std::string(value)) {}
Value::Value(const char* value) : data_(std::string(value)) {}
Value::~Value() = default;
Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) = default;
Value& Value::operator=(Value&& other) noexcept = default;

Value Value::empty_object() {
  Value value;
  value.data_ = Object();
  return value;
}

Value Value::array() {
  Value value;
  value.data_ = Array();
  return value;
}

const std::string* Value::string() const noexcept { return std::get_if<std::string>(&data_); }

void Value::push_back(Value value) {
  if (std::holds_alternative<std::nullptr_t>(data_)) data_ = Array();
  std::get<Array>(data_).push_back(std::move(value));
}

Value& Value::operator[](std::string_view key) {
  auto& members = std::get<Object>(data_);
  auto found = std::ranges::find(members, key, &Member::key);
  if (found == members.end()) {
    members.emplace_back(key, nullptr);
    found = std::prev(members.end());
  }
  return found->value;
}

const Value* Value::find(std::string_view key) const noexcept {
  const auto* const members = std::get_if<Object>(&data_);
  if (members == nullptr) return nullptr;
  const auto found = std::ranges::find(*members, key, &Member::key);
  return found == members->end() ? nullptr : &found->value;
}

std::string pretty(const Value& value) {
  JsonWriter writer;
  writer.write(value);
  return writer.take() + "\n";
}

}  // namespace framewire::inspect
