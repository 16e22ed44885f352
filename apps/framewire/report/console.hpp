// What the program says, and where.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <framewire/status.hpp>
#include <span>
#include <string>
#include <string_view>

namespace framewire::app {

/// The text with control characters, what turns the direction of text, and bytes that are not UTF-8
/// as \xNN: names of files and of peers may hold what moves cursors. Harmless text stays as it is.
[[nodiscard]] std::string printable(std::string_view text);

/// The text in quotes, as one word of a shell; printable() leaves the quotes as they are.
[[nodiscard]] std::string shell_quoted(std::string_view text);

/// The text on standard error, as it is, as one write; any thread. Where that fails nothing can be
/// done. @return how much of it was written
std::size_t put(std::string_view text);

/// From now on put(), and all that says something, waits so long at most for a reader of standard
/// error, other threads' texts included: what has not been written by then is dropped. A service
/// must not stop, nor fail to end, since nobody reads what it says. Before other threads say
/// anything.
void bound_wait_for_reader(std::chrono::milliseconds time);

/// "framewire: …" on standard error, made printable(), as one write; any thread.
void say(std::string_view message);

/// An error, and the exit code that it means: kEnvironment for the file system and for memory,
/// otherwise kSomeFailed.
int report(const Status& status);

/// An error found before any image was touched. @return kUsage for what the caller should have said
/// otherwise, else kEnvironment
int refuse(const Status& status);

/// "framewire: …; see framewire COMMAND --help". @return kUsage
int report_usage(std::string_view command, std::string_view message);
/// As above, of a misuse().
int report_usage(std::string_view command, const Status& problem);

/// Ends a command that was asked for JSON: where it failed and has printed nothing, prints what was
/// reported first, as {"error": {"class", "message", "subject"}}. @return `code`
int close_json(bool json, int code);

/// Writes to standard output.
/// @return false where that fails; a reader that has gone (EPIPE) is no failure of a listing
[[nodiscard]] bool print(std::string_view text);

/// Writes an image to standard output. @return io_error
[[nodiscard]] Result<void> write_to_stdout(std::span<const std::uint8_t> bytes);

/// "1.4 MB", "900 B".
[[nodiscard]] std::string human_bytes(std::uint64_t bytes);

}  // namespace framewire::app
