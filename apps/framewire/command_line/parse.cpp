#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <command_line/parse.hpp>
#include <command_line/suggest.hpp>
#include <deque>
#include <framewire/version.hpp>
#include <report/console.hpp>

namespace framewire::app {
namespace {

constexpr std::string_view kFooter =
    "Exit codes: 0 all done, 1 some inputs failed, 2 usage, 3 environment, 130 interrupted.";

// Options of one command as CLI11 leaves them; addresses must not move while it parses.
struct CommandValues {
  const Command* command = nullptr;
  CLI::App* app = nullptr;
  std::vector<OptionSpec> specs;
  std::deque<std::string> texts;  // one a spec
  std::vector<CLI::Option*> options;
  std::vector<std::string> paths;
};

class Formatter : public CLI::Formatter {
 public:
  explicit Formatter(std::string usage) : usage_(std::move(usage)) { column_width(34); }
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: " + usage_ + "\n";
  }

 private:
  std::string usage_;
};

std::vector<std::string_view> split_at_spaces(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::string describe(const OptionSpec& spec) {
  std::string text(spec.help);
  if (!spec.choices.empty()) text += fmt::format(": {}", spec.choices);
  if (!spec.default_value.empty()) text += fmt::format(" [{}]", spec.default_value);
  return text;
}

void add_options(CommandValues& values) {
  values.specs = options_of(*values.command);
  for (const OptionSpec& spec : values.specs) {
    std::string& text = values.texts.emplace_back();
    const std::string name = fmt::format("--{}", spec.name);
    CLI::Option* option = nullptr;
    if (spec.metavar.empty()) {
      option = values.app->add_flag(name, text, describe(spec));
    } else {
      option = values.app->add_option(name, text, describe(spec));
      option->type_name(std::string(spec.metavar));
    }
    // As with most programs, an option given again replaces what came before.
    option->group(std::string(spec.group))->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    values.options.push_back(option);
  }
}

void add_command(CLI::App& program, CommandValues& values) {
  const Command& command = *values.command;
  values.app = program.add_subcommand(std::string(command.name), std::string(command.help));
  CLI::App& app = *values.app;
  const std::string arguments =
      command.arguments.empty() ? "" : fmt::format(" {}", command.arguments);
  const std::string usage = fmt::format("framewire {}{}{}", command.name, arguments,
                                        options_of(command).empty() ? "" : " [options]");
  app.formatter(std::make_shared<Formatter>(usage));
  app.footer(fmt::format("{}{}{}", command.details, command.details.empty() ? "" : "\n", kFooter));
  if (!command.arguments.empty()) {
    // In no group, so that help does not repeat what the usage line says better.
    app.add_option("arguments", values.paths)->expected(0, -1)->group("");
  }
  add_options(values);
}

std::string usage_of(const Command& command) {
  return fmt::format("framewire {}{}{}", command.name, command.arguments.empty() ? "" : " ",
                     command.arguments);
}

int refuse_number_of_arguments(const CommandValues& values) {
  const Command& command = *values.command;
  const std::size_t count = values.paths.size();
  const std::string one = count == 1 ? fmt::format(", '{}'", values.paths[0]) : "";
  return report_usage(command.name, fmt::format("found {} argument{}{}; accepted: {}", count,
                                                count == 1 ? "" : "s", one, usage_of(command)));
}

// What the command calls an argument: of "IN… OUT_DIR" OUT_DIR is the last one.
std::string name_of_argument(const Command& command, std::size_t index, std::size_t count) {
  const auto names = split_at_spaces(command.arguments);
  const bool is_last = index + 1 == count;
  std::string name(is_last ? names.back() : names[std::min(index, names.size() - 1)]);
  std::erase_if(name, [](char c) { return c == '[' || c == ']'; });
  return name;
}

// An empty argument is a script's variable that is not set.
int refuse_empty_argument(const CommandValues& values, std::size_t index) {
  const Command& command = *values.command;
  return report_usage(
      command.name,
      fmt::format("{}: found an empty name; accepted: {}",
                  name_of_argument(command, index, values.paths.size()), usage_of(command)));
}

bool accepts_count(const Command& command, std::size_t count) {
  if (command.arguments.empty()) return count == 0;
  if (count < command.min_arguments) return false;
  return command.max_arguments == 0 || count <= command.max_arguments;
}

bool is_choice(const OptionSpec& spec, std::string_view value) {
  if (spec.choices.empty()) return true;
  return fmt::format("|{}|", spec.choices).find(fmt::format("|{}|", value)) != std::string::npos;
}

tl::unexpected<Status> wrong_value(const OptionSpec& spec, std::string message) {
  return fail(Status(StatusCode::kInvalidInput, std::move(message)).about(std::string(spec.name)));
}

// Says which value an option lacks.
std::string say_no_value(const OptionSpec& spec, bool own) {
  ResizeOptions scratch;
  if (spec.metavar.empty()) return "found nothing after '='; accepted: true or false";
  if (!own) {
    const auto refused = set_option(scratch, spec.name, "");
    if (!refused) return refused.error().message();
  }
  return fmt::format("found no value; accepted: {}{}", spec.choices.empty() ? "" : "one of ",
                     spec.choices.empty() ? spec.metavar : spec.choices);
}

// Puts one option where it belongs: the resize options, or the command's own.
// @param may_be_empty  an empty text says something, and is not a variable that a script lacks
Result<void> take(const OptionSpec& spec, bool own, bool may_be_empty, const std::string& value,
                  Arguments& out) {
  if (!own) return set_option(out.options, spec.name, value);
  if (value.empty() && !may_be_empty) return wrong_value(spec, say_no_value(spec, own));
  if (!is_choice(spec, value)) {
    return wrong_value(spec, fmt::format("found '{}'; accepted: one of {}", value, spec.choices));
  }
  const bool flag = spec.metavar.empty();
  if (flag && value != "true" && value != "false") {
    return wrong_value(spec, fmt::format("found '{}'; accepted: true or false", value));
  }
  if (!flag || value == "true") out.own[std::string(spec.name)] = value;
  return {};
}

bool is_own(const CommandValues& values, const OptionSpec& spec) {
  const auto index = static_cast<std::size_t>(&spec - values.specs.data());
  return index >= values.specs.size() - values.command->own.size();
}

// CLI11 passes over an empty value after '=': a flag counts as given, and an option takes the next
// word. @return the option that a word names so; null where there is none
const OptionSpec* find_empty_value(const CommandValues& values, std::span<const char* const> line) {
  for (const std::string_view word : line) {
    if (!word.starts_with("--") || word.find('=') != word.size() - 1) continue;
    const std::string_view name = word.substr(2, word.size() - 3);
    const auto found = std::ranges::find(values.specs, name, &OptionSpec::name);
    if (found != values.specs.end()) return &*found;
  }
  return nullptr;
}

ParsedCommand collect(CommandValues& values, std::span<const char* const> line) {
  ParsedCommand parsed{values.command, {}, std::nullopt};
  const Command& command = *values.command;
  if (const OptionSpec* empty = find_empty_value(values, line)) {
    const std::string message = say_no_value(*empty, is_own(values, *empty));
    parsed.exit = report_usage(command.name, fmt::format("--{}: {}", empty->name, message));
    return parsed;
  }
  if (!accepts_count(command, values.paths.size())) {
    parsed.exit = refuse_number_of_arguments(values);
    return parsed;
  }
  const auto empty = std::ranges::find(values.paths, std::string_view());
  if (empty != values.paths.end()) {
    parsed.exit =
        refuse_empty_argument(values, static_cast<std::size_t>(empty - values.paths.begin()));
    return parsed;
  }
  parsed.arguments.paths = std::move(values.paths);
  for (std::size_t i = 0; i < values.specs.size(); ++i) {
    const OptionSpec& spec = values.specs[i];
    const bool given = values.options[i]->count() > 0;
    const bool own = is_own(values, spec);
    if (!given && !(own && !spec.default_value.empty())) continue;
    const std::string value = given ? values.texts[i] : std::string(spec.default_value);
    const bool off = own && spec.metavar.empty() && value == "false";
    if (given && (!off || command.overrides_settings)) {
      parsed.arguments.given.insert_or_assign(std::string(spec.name), value);
    }
    const bool may_be_empty = !given || command.overrides_settings;
    if (auto taken = take(spec, own, may_be_empty, value, parsed.arguments); !taken) {
      const Status& error = taken.error();
      parsed.exit =
          report_usage(command.name, fmt::format("--{}: {}", error.subject(), error.message()));
      return parsed;
    }
  }
  if (auto valid = validate(parsed.arguments.options); !valid) {
    parsed.exit = report_usage(
        command.name, fmt::format("--{}: {}", valid.error().subject(), valid.error().message()));
  }
  return parsed;
}

// What an option without a value should have had. @return empty for any other error
std::string explain_missing_value(const CLI::ParseError& error, const CommandValues& values) {
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr) return {};
  const std::string_view what = error.what();
  for (const OptionSpec& spec : values.specs) {
    if (!what.starts_with(fmt::format("--{}:", spec.name))) continue;
    if (spec.metavar.empty()) return {};
    return fmt::format("--{}: {}", spec.name, say_no_value(spec, is_own(values, spec)));
  }
  return {};
}

// An error names the words of the command line that CLI11 could not place.
std::string explain(const CLI::ParseError& error, std::span<const CommandValues> all, int count,
                    const char* const* words, const Command* chosen) {
  std::vector<std::string_view> known;
  for (const CommandValues& values : all) {
    if (chosen == nullptr) known.push_back(values.command->name);
    if (values.command != chosen) continue;
    for (const OptionSpec& spec : values.specs) known.push_back(spec.name);
  }
  for (int i = 1; i < count; ++i) {
    std::string_view word = words[i];
    if (word == "--") break;
    if (chosen != nullptr && word.size() > 1 && word[0] == '-' && word[1] != '-') {
      return fmt::format("unknown option {}; names that begin with a dash come after --", word);
    }
    const bool dashed = word.starts_with("--");
    if (dashed != (chosen != nullptr)) continue;
    if (dashed) word = word.substr(2, word.find('=') - 2);
    if (word == "help" || std::find(known.begin(), known.end(), word) != known.end()) continue;
#ifndef FRAMEWIRE_SERVICE
    if (!dashed && (word == "serve" || word == "sign")) {
      return fmt::format("this build has no {}: it was configured with FRAMEWIRE_SERVICE=OFF",
                         word);
    }
#endif
    const std::string_view dashes = dashed ? "--" : "";
    const std::string_view meant = nearest(word, known);
    const std::string what = chosen == nullptr ? "command" : "option";
    if (meant.empty()) return fmt::format("unknown {} {}{}", what, dashes, word);
    return fmt::format("unknown {} {}{}; did you mean {}{}?", what, dashes, word, dashes, meant);
  }
  return error.what();
}

}  // namespace

ParsedCommand parse_command_line(int count, const char* const* words) {
  CLI::App program("JPEG in, smaller JPEG out", "framewire");
  program.formatter(std::make_shared<Formatter>("framewire COMMAND [arguments] [options]"));
  program.set_version_flag("--version", fmt::format("framewire {}", kVersion));
  program.require_subcommand(1);
  program.footer(fmt::format("framewire COMMAND --help shows a command's options.\n{}", kFooter));
  // "help COMMAND" is what many type first.
  std::vector<const char*> line(words, words + count);
  if (count >= 2 && std::string_view(line[1]) == "help") {
    line.erase(line.begin() + 1);
    line.push_back("--help");
  }
  // What comes after "--" are names, whatever they begin with.
  std::vector<std::string> names;
  if (const auto end = std::find(line.begin(), line.end(), std::string_view("--"));
      end != line.end()) {
    names.assign(end + 1, line.end());
    line.erase(end, line.end());
  }
  std::vector<CommandValues> all(commands().size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].command = &commands()[i];
    add_command(program, all[i]);
  }
  const auto chosen = [&]() -> CommandValues* {
    for (CommandValues& values : all) {
      if (values.app->parsed() || program.got_subcommand(values.app)) return &values;
    }
    return nullptr;
  };
  try {
    program.parse(static_cast<int>(line.size()), line.data());
  } catch (const CLI::Success& help) {
    return {nullptr, {}, program.exit(help)};
  } catch (const CLI::ParseError& error) {
    if (count <= 1) {
      (void)print(program.help());
      return {nullptr, {}, kUsage};
    }
    CommandValues* values = chosen();
    const Command* command = values == nullptr ? nullptr : values->command;
    std::string message = values == nullptr ? "" : explain_missing_value(error, *values);
    if (message.empty()) message = explain(error, all, count, words, command);
    return {nullptr, {}, report_usage(command == nullptr ? "" : command->name, message)};
  }
  CommandValues& values = *chosen();
  values.paths.insert(values.paths.end(), names.begin(), names.end());
  return collect(values, line);
}

bool asks_for_json(int count, const char* const* words) {
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--") return false;
    if (word == "--json" || word == "--json=true") return true;
  }
  return false;
}

}  // namespace framewire::app
