// framewire completion SHELL: scripts for bash, zsh and fish, from the same tables as the parser.
#include <fmt/format.h>
#include <command_line/command.hpp>
#include <report/console.hpp>
#include <string>

namespace framewire::app {
namespace {

std::string spaced(std::string_view choices) {
  std::string text(choices);
  for (char& c : text) {
    if (c == '|') c = ' ';
  }
  return text;
}

bool names_a_file(const OptionSpec& spec) {
  return spec.metavar == "FILE" || spec.metavar == "DIR" ||
         (spec.metavar == "LIST" && spec.name == "files-from");
}

std::string bash_value_case(const OptionSpec& spec, std::string_view command) {
  const std::string pattern = fmt::format("      {}:--{})", command, spec.name);
  if (!spec.choices.empty()) {
    return fmt::format("{} COMPREPLY=($(compgen -W {} -- \"$cur\")); return ;;\n", pattern,
                       shell_quoted(spaced(spec.choices)));
  }
  if (names_a_file(spec)) return fmt::format("{} _filedir_or_compgen; return ;;\n", pattern);
  return fmt::format("{} return ;;\n", pattern);
}

std::string bash_script() {
  std::string names;
  std::string options;
  std::string values;
  std::string words;
  for (const Command& command : commands()) {
    names += fmt::format("{} ", command.name);
    std::string list = "--help";
    for (const OptionSpec& spec : options_of(command)) {
      list += fmt::format(" --{}", spec.name);
      if (!spec.metavar.empty()) values += bash_value_case(spec, command.name);
    }
    options += fmt::format("      {}) options={} ;;\n", command.name, shell_quoted(list));
    if (!command.words.empty()) {
      words +=
          fmt::format("      {}) words={} ;;\n", command.name, shell_quoted(spaced(command.words)));
    }
  }
  return fmt::format(R"(# bash completion for framewire
_filedir_or_compgen() {{
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -f -- "$cur"))
}}
_framewire() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}
  local command=${{COMP_WORDS[1]}} options='' words=''
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '{}--help --version' -- "$cur"))
    return
  fi
  case "$command:$prev" in
{}  esac
  case "$command" in
{}  esac
  case "$command" in
{}      *) ;;
  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
  elif [ -n "$words" ] && [ "$COMP_CWORD" -eq 2 ]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  else
    _filedir_or_compgen
  fi
}}
complete -F _framewire framewire
)",
                     names, values, options, words);
}

std::string zsh_quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_option(const OptionSpec& spec) {
  std::string text =
      fmt::format("--{}{}[{}]", spec.name, spec.metavar.empty() ? "" : "=", zsh_quoted(spec.help));
  if (!spec.choices.empty()) {
    text += fmt::format(":{}:({})", spec.metavar, zsh_quoted(spaced(spec.choices)));
  } else if (names_a_file(spec)) {
    text += fmt::format(":{}:_files", spec.metavar);
  } else if (!spec.metavar.empty()) {
    text += fmt::format(":{}: ", spec.metavar);
  }
  return "        " + shell_quoted(text) + " \\\n";
}

std::string zsh_script() {
  std::string names;
  std::string cases;
  for (const Command& command : commands()) {
    names += fmt::format(
        "    {}\n", shell_quoted(fmt::format("{}:{}", command.name, zsh_quoted(command.help))));
    cases +=
        fmt::format("    {})\n      _arguments \\\n        '--help[show help]' \\\n", command.name);
    for (const OptionSpec& spec : options_of(command)) cases += zsh_option(spec);
    if (!command.words.empty()) {
      cases += fmt::format("        '1:word:({})' \\\n", spaced(command.words));
    }
    cases += "        '*:file:_files' ;;\n";
  }
  return fmt::format(R"(#compdef framewire
_framewire() {{
  local -a names
  names=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command names
    return
  fi
  local command=${{words[2]}}
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
compdef _framewire framewire
)",
                     names, cases);
}

std::string fish_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string fish_script() {
  std::string text = "# fish completion for framewire\n";
  for (const Command& command : commands()) {
    text += fmt::format("complete -c framewire -n __fish_use_subcommand -f -a {} -d {}\n",
                        command.name, fish_quoted(command.help));
    const std::string here =
        fmt::format("complete -c framewire -n '__fish_seen_subcommand_from {}'", command.name);
    if (!command.words.empty()) {
      text += fmt::format("{} -f -a {}\n", here, fish_quoted(spaced(command.words)));
    }
    for (const OptionSpec& spec : options_of(command)) {
      text += fmt::format("{} -l {} -d {}", here, spec.name, fish_quoted(spec.help));
      if (!spec.metavar.empty()) text += names_a_file(spec) ? " -r" : " -x";
      if (!spec.choices.empty()) text += " -a " + fish_quoted(spaced(spec.choices));
      text += '\n';
    }
  }
  return text;
}

}  // namespace

int run_completion(const Arguments& arguments) {
  const std::string& shell = arguments.paths[0];
  std::string script;
  if (shell == "bash") {
    script = bash_script();
  } else if (shell == "zsh") {
    script = zsh_script();
  } else if (shell == "fish") {
    script = fish_script();
  } else {
    return report_usage("completion",
                        fmt::format("found '{}'; accepted: bash, zsh or fish", shell));
  }
  return print(script) ? kAllDone : kEnvironment;
}

}  // namespace framewire::app
