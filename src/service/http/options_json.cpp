#include <algorithm>
#include <base/options_table.hpp>
#include <inspect/model.hpp>
#include <service/http/options_json.hpp>
#include <service/http/query.hpp>
#include <string_view>

namespace framewire::service::http {
namespace {

using Text = std::string_view;

// The value of an option that no request has set.
std::string value_text(const ResizeOptions& options, Text name) {
  const auto rows = options::table();
  const auto row = std::ranges::find(rows, name, &options::OptionRow::name);
  return row == rows.end() ? std::string() : row->print(options);
}

}  // namespace

std::string options_json(const ServiceSettings& settings) {
  const ResizeOptions& defaults = settings.defaults;
  inspect::Value list = inspect::Value::array();
  for (const OptionSpec& spec : client_options()) {
    inspect::Value option = inspect::Value::object("name", spec.name, "metavar", spec.metavar,
                                                   "default", value_text(defaults, spec.name),
                                                   "help", spec.help, "group", spec.group);
    Text choices = spec.choices;
    while (!choices.empty()) {
      const auto bar = choices.find('|');
      option["choices"].push_back(choices.substr(0, bar));
      choices = bar == Text::npos ? Text() : choices.substr(bar + 1);
    }
    list.push_back(std::move(option));
  }
  return inspect::pretty(
      inspect::Value::object("options", std::move(list), "uploads", takes_uploads(settings)));
}

}  // namespace framewire::service::http
