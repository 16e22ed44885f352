// framewire man: the manual page, in roff, from the same tables as the parser.
#include <fmt/format.h>
#include <command_line/command.hpp>
#include <framewire/version.hpp>
#include <report/console.hpp>
#include <string>

namespace framewire::app {
namespace {

// Hyphens that users type must stay ASCII; a line must not begin with a request.
std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  if (!out.empty() && (out.front() == '.' || out.front() == '\'')) out.insert(0, "\\&");
  return out;
}

// groff's default input encoding is not UTF-8 everywhere.
std::string ascii(std::string text) {
  for (auto at = text.find("…"); at != std::string::npos; at = text.find("…")) {
    text.replace(at, std::string_view("…").size(), "\\&...");
  }
  return text;
}

std::string option_entry(const OptionSpec& spec) {
  std::string text = fmt::format(".TP\n\\fB\\-\\-{}\\fR", escape(spec.name));
  if (!spec.metavar.empty()) text += fmt::format(" \\fI{}\\fR", escape(spec.metavar));
  text += fmt::format("\n{}", escape(spec.help));
  if (!spec.choices.empty()) text += fmt::format("; one of {}", escape(spec.choices));
  if (!spec.default_value.empty()) text += fmt::format(". Default: {}", escape(spec.default_value));
  return text + ".\n";
}

std::string option_entries(std::span<const OptionSpec> specs) {
  std::string text;
  std::string_view group;
  for (const OptionSpec& spec : specs) {
    if (spec.group != group) text += fmt::format(".SS {}\n", escape(group = spec.group));
    text += option_entry(spec);
  }
  return text;
}

std::string paragraphs(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto end = text.find('\n');
    out += ".PP\n" + escape(text.substr(0, end)) + "\n";
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
  }
  return out;
}

std::string synopsis() {
  std::string text = ".SH SYNOPSIS\n";
  for (const Command& command : commands()) {
    text += fmt::format("\\fBframewire {}\\fR {}{}\n.br\n", command.name, escape(command.arguments),
                        command.takes_resize_options ? " [\\fIoptions\\fR]" : "");
  }
  return text;
}

std::string command_sections() {
  std::string text = ".SH COMMANDS\n";
  for (const Command& command : commands()) {
    text += fmt::format(".SS framewire {} {}\n{}.\n", command.name, escape(command.arguments),
                        escape(command.help));
    text += paragraphs(command.details);
    for (const OptionSpec& spec : command.own) text += option_entry(spec);
  }
  return text;
}

constexpr std::string_view kEnd = R"(.SH EXIT STATUS
.TP
.B 0
All done.
.TP
.B 1
Some inputs failed; each is named on standard error and in the manifest.
.TP
.B 2
The command line makes no sense.
.TP
.B 3
The environment refused: a folder cannot be made, no space is left, memory ran out.
.TP
.B 130
Interrupted; the images in work were finished.
.SH EXAMPLES
.TP
One photograph, 480 pixels wide:
framewire resize photo.jpg small.jpg \-\-size 480
.TP
A folder, to be continued after any interruption:
framewire batch photos thumbs \-\-size 320x320 \-\-manifest thumbs.jsonl \-\-resume
.TP
From a pipe to a pipe:
framewire resize \- \- \-\-size 1024x \-\-quality 90 <photo.jpg >small.jpg
)";

}  // namespace

int run_man(const Arguments&) {
  std::string page = fmt::format(
      ".TH FRAMEWIRE 1 \"\" \"framewire {}\" \"User Commands\"\n"
      ".SH NAME\nframewire \\- resize JPEG files\n",
      kVersion);
  page += synopsis();
  page += ".SH DESCRIPTION\nTurns JPEG files into smaller JPEG files.\n";
  page += command_sections();
  page += ".SH RESIZE OPTIONS\nThese are shared by resize, batch, inspect and bench.\n";
  page += option_entries(option_specs());
  page += kEnd;
  return print(ascii(std::move(page))) ? kAllDone : kEnvironment;
}

}  // namespace framewire::app
