// The file of settings.
#define TOML_EXCEPTIONS 0
#include <fmt/format.h>
#include <toml++/toml.h>
#include <algorithm>
#include <cstdint>
#include <service/http/configuration.hpp>

namespace framewire::service::http {
namespace {

constexpr std::size_t kMaxFileBytes = 1u << 20;

tl::unexpected<Status> refuse(std::string_view name, std::size_t line, std::string message) {
  return fail(Status(StatusCode::kInvalidInput, std::move(message))
                  .about(fmt::format("{}:{}", name, line)));
}

bool is_octal(std::string_view key) {
  return std::ranges::any_of(setting_rows(), [&](const SettingRow& row) {
    return row.option.name == key && row.is_octal;
  });
}

// Where a setting's digits are octal, 660 and 0o660 say the same: those of the first are taken as
// they are, and a number with a prefix (0o, 0x, 0b) by its value.
std::string integer_text(std::string_view key, const toml::value<std::int64_t>& number) {
  const bool has_prefix = number.flags() != toml::value_flags::none;
  return has_prefix && is_octal(key) ? fmt::format("{:o}", number.get())
                                     : fmt::format("{}", number.get());
}

// 75.0 stays a number with a point, which no whole number has.
std::string float_text(double number) {
  std::string text = fmt::format("{}", number);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

std::optional<std::string> scalar_text(std::string_view key, const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (is_secret(key)) return std::nullopt;  // what looks like a number would be another text
  if (const auto* number = node.as_integer()) return integer_text(key, *number);
  if (const auto* number = node.as_floating_point()) return float_text(number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return std::nullopt;
}

// The parser's message, with a hint where the mistake may be a text without quotes. The message
// begins with what the parser took the value for: a digit begins a number or a time, and 't' a
// flag.
std::string describe(std::string_view problem) {
  std::string text(problem);
  const std::string_view taken_for = problem.substr(0, problem.find(':'));
  for (const char* kind : {"value", "integer", "floating-point", "boolean", "date", "time"}) {
    if (!taken_for.ends_with(kind)) continue;
    return text + "; accepted: a number, true or false, or a text in quotes, such as \"10G\"";
  }
  return text;
}

// Members of the settings in C++ and keys of other programs have underscores.
std::string describe_unknown(std::string_view key) {
  std::string dashed(key);
  std::ranges::replace(dashed, '_', '-');
  const bool named = dashed != key && is_setting(dashed);
  return fmt::format("there is no setting {}{}", key,
                     named ? fmt::format("; accepted: {}", dashed) : std::string());
}

// Arrays of texts are lists, which flags write with commas.
std::optional<std::string> value_text(std::string_view key, const toml::node& node) {
  const auto* array = node.as_array();
  if (array == nullptr) return scalar_text(key, node);
  std::string joined;
  for (std::size_t i = 0; i < array->size(); ++i) {
    const auto* text = (*array)[i].as_string();
    if (text == nullptr || text->get().find(',') != std::string::npos) return std::nullopt;
    if (i != 0) joined += ',';
    joined += text->get();
  }
  return joined;
}

}  // namespace

Result<GivenSettings> read_toml(std::string_view text, std::string_view name) {
  if (text.size() > kMaxFileBytes) {
    return fail(Status(StatusCode::kTooLarge, "accepted: at most 1 MiB").about(std::string(name)));
  }
  const toml::parse_result parsed = toml::parse(text, name);
  if (!parsed) {
    return refuse(name, parsed.error().source().begin.line, describe(parsed.error().description()));
  }
  GivenSettings given;
  for (const auto& [key, node] : parsed.table()) {
    const std::size_t line = key.source().begin.line;
    if (!is_setting(key.str())) {
      return refuse(name, line, describe_unknown(key.str()));
    }
    auto value = value_text(key.str(), node);
    if (!value) {
      return refuse(name, line,
                    fmt::format("{}: accepted: {}", key.str(),
                                is_secret(key.str())
                                    ? "a text in quotes, or an array of them without commas"
                                    : "a number, a text, true or false, or an array of texts "
                                      "without commas"));
    }
    given[std::string(key.str())] = {std::move(*value), fmt::format("file, {}:{}", name, line)};
  }
  return given;
}

}  // namespace framewire::service::http
