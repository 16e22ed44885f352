#include <fmt/format.h>
#include <command_line/command.hpp>
#include <commands/batch/summary.hpp>
#include <report/console.hpp>

namespace framewire::app {

std::string summary_text(const batch::Summary& summary) {
  std::string text = fmt::format("{} resized", summary.ok);
  if (summary.failed > 0) text += fmt::format(", {} failed", summary.failed);
  if (summary.skipped > 0) text += fmt::format(", {} skipped", summary.skipped);
  if (summary.unchanged > 0) text += fmt::format(", {} done before", summary.unchanged);
  if (summary.with_warnings > 0) text += fmt::format(", {} with warnings", summary.with_warnings);
  text += fmt::format("; {} -> {} in {:.1f} s", human_bytes(summary.bytes_in),
                      human_bytes(summary.bytes_out), summary.seconds);
  if (summary.seconds > 0 && summary.ok > 0) {
    text += fmt::format(", {:.1f} images/s", static_cast<double>(summary.ok) / summary.seconds);
  }
  return text;
}

int exit_code(const batch::Summary& summary) {
  // A server that was interrupted at the same terminal stops a batch, too.
  const bool by_server =
      summary.stopped_by && (summary.stopped_by->code() == StatusCode::kPeerLost ||
                             summary.stopped_by->code() == StatusCode::kCancelled);
  if (summary.interrupted && (!summary.stopped_by || by_server)) return kInterrupted;
  if (summary.stopped_by) return kEnvironment;
  return summary.failed > 0 ? kSomeFailed : kAllDone;
}

}  // namespace framewire::app
