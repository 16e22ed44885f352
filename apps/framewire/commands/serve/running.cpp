#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <commands/serve/running.hpp>
#include <report/console.hpp>

namespace framewire::app {
namespace {

using std::chrono::milliseconds;

// How often what earlier settings left is looked at.
constexpr milliseconds kLook{1000};
// Threads look at their connections ten times a second. Below this a busy machine would be taken
// for a stuck thread.
constexpr milliseconds kMinPatience{500};

std::string describe(const service::http::SettingsChange& change) {
  std::string text = "reloaded";
  const bool unchanged = change.taken.empty() && change.waiting.empty() && change.contents.empty();
  if (unchanged) text += ": no setting has changed";
  if (!change.taken.empty()) {
    text += fmt::format(": {} changed", fmt::join(change.taken, ", "));
  }
  if (!change.contents.empty()) {
    text += fmt::format("{} new contents of {}", change.taken.empty() ? ":" : ";",
                        fmt::join(change.contents, ", "));
  }
  if (!change.waiting.empty()) {
    text += fmt::format("; a restart is needed for {}", fmt::join(change.waiting, ", "));
  }
  if (!change.settings.tls_cert.empty()) text += "; the certificate was read again";
  return text;
}

// Takes over what can be, and says what was and what was not. @return false where nothing changed
bool reload(service::http::Server& server, const service::systemd::Notifier& notifier,
            const ReadSettings& read) try {
  notifier.reloading();
  const auto configuration = read();
  const auto change = configuration
                          ? server.reload(configuration->settings)
                          : Result<service::http::SettingsChange>(fail(configuration.error()));
  std::string said;
  if (change) {
    said = describe(*change);
  } else {
    const Status error = configuration
                             ? service::http::with_origin(change.error(), configuration->given)
                             : change.error();
    said = fmt::format("not reloaded, nothing has changed: {}{}{}", error.subject(),
                       error.subject().empty() ? "" : ": ", error.message());
  }
  say(said);
  notifier.ready(said);
  return change.has_value();
} catch (const std::bad_alloc&) {
  notifier.ready("not reloaded: memory ran out");
  return false;
}

}  // namespace

void run_until_end(const ServeSignals& signals, service::http::Server& server,
                   const service::systemd::Notifier& notifier, const ReadSettings& read,
                   const std::function<void()>& renew_workers, const std::function<void()>& look) {
  const auto watchdog = std::chrono::duration_cast<milliseconds>(notifier.watchdog());
  const bool watched = notifier.enabled() && watchdog.count() > 0;
  const milliseconds beat = watched ? std::clamp(watchdog / 2, milliseconds(1), kLook) : kLook;
  const milliseconds patience = std::max(watchdog / 2, kMinPatience);
  while (true) {
    const auto number = signals.wait(beat);
    if (number && *number != SIGHUP) return;
    if (number && reload(server, notifier, read)) renew_workers();
    if (watched && server.slowest_thread() < patience) notifier.alive();
    (void)server.end_earlier_settings();
    look();
  }
}

}  // namespace framewire::app
