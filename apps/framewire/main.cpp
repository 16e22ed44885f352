// framewire: resizes JPEGs from the command line.
#include <csignal>
#include <exception>
#include <new>
#include "command.hpp"
#include "console.hpp"
#include "parse.hpp"

int main(int count, char** words) {
  namespace app = framewire::app;
  // A closed pipe is an error of the write that meets it.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    const app::Parsed parsed = app::parse_command_line(count, words);
    if (parsed.exit) return *parsed.exit;
    return parsed.command->run(parsed.arguments);
  } catch (const std::bad_alloc&) {
    app::say("busy: memory ran out");
  } catch (const std::exception& error) {
    app::say(app::printable(std::string("internal: ") + error.what()));
  }
  return app::kEnvironment;
}
