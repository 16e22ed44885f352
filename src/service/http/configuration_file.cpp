// The file of settings.
#define TOML_EXCEPTIONS 0
#include <fmt/format.h>
#include <toml++/toml.h>
#include <service/http/configuration.hpp>

namespace framewire::service::http {
namespace {

constexpr std::size_t kMaxFileBytes = 1u << 20;

tl::unexpected<Status> refuse(std::string_view name, std::size_t line, std::string message) {
  return fail(Status(StatusCode::kInvalidInput, std::move(message))
                  .about(fmt::format("{}:{}", name, line)));
}

std::optional<std::string> scalar_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return std::nullopt;
}

// Arrays of texts are lists, which flags write with commas.
std::optional<std::string> value_text(const toml::node& node) {
  const auto* array = node.as_array();
  if (array == nullptr) return scalar_text(node);
  std::string joined;
  for (const toml::node& element : *array) {
    const auto* text = element.as_string();
    if (text == nullptr || text->get().find(',') != std::string::npos) return std::nullopt;
    if (!joined.empty()) joined += ',';
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
    return refuse(name, parsed.error().source().begin.line,
                  std::string(parsed.error().description()));
  }
  GivenSettings given;
  for (const auto& [key, node] : parsed.table()) {
    const std::size_t line = key.source().begin.line;
    if (!is_setting(key.str())) {
      return refuse(name, line, fmt::format("there is no setting {}", key.str()));
    }
    auto value = value_text(node);
    if (!value) {
      return refuse(name, line,
                    fmt::format("{}: accepted: a number, a text, true or false, or an "
                                "array of texts without commas",
                                key.str()));
    }
    given[std::string(key.str())] = {std::move(*value), fmt::format("file, {}:{}", name, line)};
  }
  return given;
}

}  // namespace framewire::service::http
