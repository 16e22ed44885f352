#include <fmt/format.h>
#include <algorithm>
#include <base/ascii.hpp>
#include <command_line/suggest.hpp>
#include <commands/serve/environment.hpp>
#include <framewire/options.hpp>
#include <service/http/configuration.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::app {
namespace {

using Text = std::string_view;

constexpr Text kPrefix = "FRAMEWIRE_";
// A second wrong letter in a short name is most often another name.
constexpr std::size_t kShortBytes = 5;
// Longer ones are no setting's, and comparing takes time in their length.
constexpr std::size_t kLongestBytes = 40;

std::string setting_of(Text variable) {
  std::string name(variable);
  for (char& c : name) c = c == '_' ? '-' : base::to_lower(c);
  return name;
}

std::string variable_of(Text setting) {
  std::string name(kPrefix);
  for (const char c : setting) {
    name += c == '-' ? '_' : base::to_upper(c);
  }
  return name;
}

// As Kubernetes and Docker name what they tell of a service called framewire, or framewire-cache.
bool is_a_clusters(Text variable) {
  return variable.starts_with("SERVICE") || variable.find("_SERVICE_") != Text::npos ||
         variable == "PORT" || variable.starts_with("PORT_") || variable.ends_with("_PORT") ||
         variable.find("_PORT_") != Text::npos;
}

// @return the setting that may have been meant; empty where there is none
Text meant_by(Text name) {
  if (name.size() > kLongestBytes) return {};
  std::vector<Text> settings;
  for (const auto& row : service::http::setting_rows()) settings.push_back(row.option.name);
  for (const OptionSpec& spec : option_specs()) settings.push_back(spec.name);
  Text best;
  std::size_t best_edits = 3;
  for (const Text setting : settings) {
    const std::size_t edits = edit_distance(name, setting);
    const std::size_t most = setting.size() < kShortBytes ? 1 : 2;
    if (edits > most || edits >= best_edits) continue;
    best = setting;
    best_edits = edits;
  }
  return best;
}

}  // namespace

Result<void> check_variables(const char* const* environment) {
  for (; *environment != nullptr; ++environment) {
    const Text entry(*environment);
    if (!entry.starts_with(kPrefix)) continue;
    const Text full = entry.substr(0, entry.find('='));
    const Text variable = full.substr(kPrefix.size());
    const std::string name = setting_of(variable);
    if (service::http::is_setting(name) || is_a_clusters(variable)) continue;
    const auto refused = [&](std::string message) {
      return fail(Status(StatusCode::kInvalidInput, std::move(message)).about(std::string(full)));
    };
    if (variable == "CONFIG") return refused("is read by nobody; accepted: --config FILE");
    if (const Text meant = meant_by(name); !meant.empty()) {
      return refused(fmt::format("there is no such setting; did you mean {}?", variable_of(meant)));
    }
  }
  return {};
}

}  // namespace framewire::app
