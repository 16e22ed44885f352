// framewire: resizes JPEGs from the command line.
#include <csignal>
#include <exception>
#include <new>
#include "command.hpp"
#include "console.hpp"
#include "interruption.hpp"
#include "parse.hpp"

int main(int count, char** words) {
  namespace app = framewire::app;
  // A closed pipe is an error of the write that meets it.
  std::signal(SIGPIPE, SIG_IGN);
  // So is a file that grows beyond what the user's limits allow.
  std::signal(SIGXFSZ, SIG_IGN);
  app::delete_unfinished_on_signals();
  const bool json = app::asks_for_json(count, words);
  try {
    const app::Parsed parsed = app::parse_command_line(count, words);
    if (parsed.exit) return app::close_json(json, *parsed.exit);
    return app::close_json(json, parsed.command->run(parsed.arguments));
  } catch (const std::bad_alloc&) {
    app::report(framewire::Status(framewire::StatusCode::kBusy, "memory ran out"));
  } catch (const std::exception& error) {
    app::report(framewire::Status(framewire::StatusCode::kInternal, error.what()));
  }
  return app::close_json(json, app::kEnvironment);
}
