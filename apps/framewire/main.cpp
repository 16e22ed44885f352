// framewire: resizes JPEGs from the command line.
#include <fcntl.h>
#include <unistd.h>
#include <cerrno>
#include <command_line/command.hpp>
#include <command_line/interruption.hpp>
#include <command_line/parse.hpp>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <report/console.hpp>
#include <string>
#include <string_view>

namespace app = framewire::app;

namespace {

// Takes the numbers of standard streams that the caller has closed. The next file or socket would
// get them otherwise, and messages would be written into a manifest or to a client. Reading and
// writing fail as they do with a closed stream, since /dev/null is opened the other way round.
void hold_closed_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest number that is free is this one.
    (void)::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

// Ends the program after an exception that no handler takes: one on another thread, during another
// exception, or in a function that must not throw.
[[noreturn]] void end_with_a_word() {
  try {
    if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
    app::say("internal: the program ended itself");
  } catch (const std::exception& error) {
    app::say(std::string("internal: ") + error.what());
  } catch (...) {
    app::say("internal: something unknown was thrown");
  }
  std::_Exit(app::kEnvironment);
}

}  // namespace

int main(int count, char** words) {
  hold_closed_streams();
  std::set_terminate(end_with_a_word);
  // A closed pipe is an error of the write that meets it.
  std::signal(SIGPIPE, SIG_IGN);
  // So is a file that grows beyond what the user's limits allow.
  std::signal(SIGXFSZ, SIG_IGN);
#ifdef FRAMEWIRE_SERVICE
  if (count == 2 && std::string_view(words[1]) == "serve-worker") return app::run_serve_worker();
#endif
  app::delete_unfinished_on_signals();
  const bool json = app::asks_for_json(count, words);
  try {
    const app::ParsedCommand parsed = app::parse_command_line(count, words);
    if (parsed.exit) return app::close_json(json, *parsed.exit);
    return app::close_json(json, parsed.command->run(parsed.arguments));
  } catch (const std::bad_alloc&) {
    app::report(framewire::Status(framewire::StatusCode::kBusy, "memory ran out"));
  } catch (const std::exception& error) {
    app::report(framewire::Status(framewire::StatusCode::kInternal, error.what()));
  } catch (...) {
    app::report(
        framewire::Status(framewire::StatusCode::kInternal, "something unknown was thrown"));
  }
  return app::close_json(json, app::kEnvironment);
}
