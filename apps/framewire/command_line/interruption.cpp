#include <command_line/interruption.hpp>
#include <csignal>
#include <framewire/batch/files.hpp>

namespace framewire::app {
namespace {

// Lock-free, so safe in a handler.
std::atomic<std::atomic<bool>*> g_flag{nullptr};
static_assert(std::atomic<std::atomic<bool>*>::is_always_lock_free);
static_assert(std::atomic<bool>::is_always_lock_free);

void end(int number) {
  batch::remove_live_temporaries();
  std::signal(number, SIG_DFL);
  (void)std::raise(number);
}

void drain_or_end(int number) {
  if (g_flag.load()->exchange(true)) end(number);
}

// A signal that the caller has ignored, as nohup does, stays ignored.
void handle(int number, void (*handler)(int)) {
  struct sigaction old {};
  if (::sigaction(number, nullptr, &old) == 0 && old.sa_handler == SIG_IGN) return;
  struct sigaction action {};
  action.sa_handler = handler;
  // Raised again within the handler, the signal ends the program there and then.
  action.sa_flags = SA_NODEFER;
  ::sigaction(number, &action, nullptr);
}

}  // namespace

void delete_unfinished_on_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) handle(number, end);
}

void drain_on_signals(std::atomic<bool>& flag) {
  g_flag = &flag;
  for (const int number : {SIGINT, SIGTERM}) handle(number, drain_or_end);
  handle(SIGHUP, end);
}

}  // namespace framewire::app
