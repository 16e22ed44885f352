#include <fmt/format.h>
#include <algorithm>
#include <base/ascii.hpp>
#include <optional>
#include <service/http/bad_value.hpp>
#include <service/http/query.hpp>

namespace framewire::service::http {
namespace {

using Text = std::string_view;

constexpr std::size_t kMaxParameters = 64;
// What a message repeats of a client's text.
constexpr std::size_t kMaxShownBytes = 64;

std::string_view shown(Text text) { return text.substr(0, kMaxShownBytes); }

Result<std::string> decode_percent(Text text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i] == '+' ? ' ' : text[i];
    if (c == '%') {
      const bool is_long = i + 2 < text.size();
      const int high = is_long ? base::hex_value(text[i + 1]) : -1;
      const int low = is_long ? base::hex_value(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        return bad_value("query", "found a % that is followed by no two hexadecimal digits");
      }
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) return bad_value("query", "found a control character");
    out.push_back(c);
  }
  return out;
}

bool is_servers(Text name) {
  if (name == "codec") return true;
  const auto specs = option_specs();
  return std::any_of(specs.begin(), specs.end(), [&](const OptionSpec& spec) {
    return spec.name == name && spec.group == "Limits";
  });
}

std::string accepted_names() {
  std::string names;
  for (const OptionSpec& spec : client_options()) {
    if (!names.empty()) names += ", ";
    names += spec.name;
  }
  return names;
}

}  // namespace

std::vector<OptionSpec> client_options() {
  std::vector<OptionSpec> all;
  for (const OptionSpec& spec : option_specs()) {
    if (!is_servers(spec.name)) all.push_back(spec);
  }
  return all;
}

Target split_target(Text target) noexcept {
  const auto mark = target.find('?');
  if (mark == Text::npos) return {target, {}};
  return {target.substr(0, mark), target.substr(mark + 1)};
}

Result<Parameters> parse_query(Text query) {
  Parameters parameters;
  while (!query.empty()) {
    const auto end = query.find('&');
    const Text entry = query.substr(0, end);
    query = end == Text::npos ? Text{} : query.substr(end + 1);
    if (entry.empty()) continue;
    if (parameters.size() == kMaxParameters) {
      return bad_value("query", fmt::format("found more than {} parameters", kMaxParameters));
    }
    const auto equals = entry.find('=');
    auto name = decode_percent(entry.substr(0, equals));
    if (!name) return fail(name.error());
    auto value = decode_percent(equals == Text::npos ? Text{} : entry.substr(equals + 1));
    if (!value) return fail(value.error());
    if (name->empty()) return bad_value("query", "found a value without a name");
    const bool again = std::any_of(parameters.begin(), parameters.end(),
                                   [&](const auto& other) { return other.first == *name; });
    // Which of the two counts is a matter on which caches and servers differ.
    if (again) return bad_value(shown(*name), "found twice; accepted: once");
    parameters.emplace_back(std::move(*name), std::move(*value));
  }
  return parameters;
}

Result<void> check_given_once(Text query, const Parameters& fields) {
  const auto parameters = parse_query(query);
  if (!parameters) return fail(parameters.error());
  for (const auto& parameter : *parameters) {
    const bool again = std::any_of(fields.begin(), fields.end(), [&](const auto& field) {
      return field.first == parameter.first;
    });
    if (again) {
      return bad_value(shown(parameter.first),
                       "found in the query and in the form; accepted: once");
    }
  }
  return {};
}

Result<void> set_options(ResizeOptions& options, const Parameters& parameters) {
  for (const auto& parameter : parameters) {
    const std::string& name = parameter.first;
    const std::string& value = parameter.second;
    const auto specs = option_specs();
    const bool known = std::any_of(specs.begin(), specs.end(),
                                   [&](const OptionSpec& spec) { return spec.name == name; });
    if (!known) {
      return bad_value(shown(name),
                       fmt::format("there is no such option; accepted: {}", accepted_names()));
    }
    if (is_servers(name)) return bad_value(name, "is set by the server, not by requests");
    if (value.size() > kMaxShownBytes) {
      return bad_value(
          name, fmt::format("found {} bytes; accepted: at most {}", value.size(), kMaxShownBytes));
    }
    if (auto set = set_option(options, name, value); !set) return set;
  }
  return validate(options);
}

}  // namespace framewire::service::http
