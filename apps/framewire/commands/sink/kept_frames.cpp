#include <fmt/format.h>
#include <algorithm>
#include <batch/posix_file.hpp>
#include <chrono>
#include <command_line/numbers.hpp>
#include <commands/sink/kept_frames.hpp>
#include <filesystem>
#include <string_view>

namespace framewire::app {
namespace {

namespace fs = std::filesystem;

// Some seconds of reading.
constexpr std::uint64_t kMaxEntries = 10'000'000;
// A sink counts connections, or seconds: it does not come to more, but a stranger's file may be
// called so.
constexpr std::uint64_t kMaxConnection = 1'000'000'000'000'000;

// A number that no earlier run has come to, for folders whose names may not be read.
std::uint64_t seconds_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(now).count());
}

// @return 0 for what is no frame
std::uint64_t connection_of(std::string_view name) {
  if (!name.ends_with(".jpg") && !name.ends_with(".y4m")) return 0;
  name.remove_suffix(4);
  const auto dash = name.find('-');
  if (dash == std::string_view::npos) return 0;
  std::uint64_t connection = 0;
  std::uint64_t sequence = 0;
  const bool good =
      parse_number(name.substr(0, dash), std::uint64_t{1}, kMaxConnection, connection) &&
      parse_number(name.substr(dash + 1), sequence);
  return good ? connection : 0;
}

}  // namespace

Result<std::uint64_t> last_connection_in(const std::string& folder) {
  std::error_code error;
  std::uint64_t last = 0;
  std::uint64_t entries = 0;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (++entries > kMaxEntries) {
      return fail(
          Status(StatusCode::kTooLarge,
                 fmt::format("holds more than {} files; accepted: another folder", kMaxEntries))
              .about(folder));
    }
    last = std::max(last, connection_of(entry->path().filename().native()));
  }
  if (error == std::errc::permission_denied) return seconds_now();
  if (last == kMaxConnection) {
    return fail(Status(StatusCode::kTooLarge,
                       fmt::format("holds a frame of connection {}, and none can have a higher "
                                   "number; accepted: another folder",
                                   last))
                    .about(folder));
  }
  // Somebody has taken the folder away meanwhile: the first frame makes it, or says what is wrong.
  const bool gone =
      error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
  if (error && !gone) return fail(batch::io_error(folder, "read the folder", error.value()));
  return last;
}

}  // namespace framewire::app
