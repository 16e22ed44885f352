#include <curl/curl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <algorithm>
#include <base/errno_code.hpp>
#include <base/nanoseconds.hpp>
#include <cerrno>
#include <service/source/fetch_error.hpp>
#include <service/source/file_reader.hpp>
#include <system_error>

namespace framewire::service::source {
namespace {

constexpr std::size_t kReadBytes = 1'024 * 1'024;  // between two looks at the time
constexpr int kMaxReadings = 3;
// A change sooner after another than this may leave the same times behind.
constexpr std::int64_t kRacyNanoseconds = 100'000'000;

bool same(const struct stat& a, const struct stat& b) noexcept {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         base::to_nanoseconds(a.st_mtim) == base::to_nanoseconds(b.st_mtim) &&
         base::to_nanoseconds(a.st_ctim) == base::to_nanoseconds(b.st_ctim);
}

bool changed_just_now(const struct stat& status) noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return base::to_nanoseconds(status.st_ctim) > base::to_nanoseconds(now) - kRacyNanoseconds;
}

bool is_current(const FetchRequest& request, const Original& original,
                std::int64_t modified_s) noexcept {
  if (!request.if_none_match.empty()) return request.if_none_match == original.etag;
  if (request.if_modified_since.empty()) return false;
  const time_t since = ::curl_getdate(request.if_modified_since.c_str(), nullptr);
  return since >= 0 && modified_s <= since;
}

// Fills the body from the file. @return false: the file is shorter than it was
Fetched<bool> fill(int file, const ReadBounds& bounds, Body& body,
                   const std::function<void()>& between) {
  while (!body.unfilled().empty()) {
    if (bounds.stop.stop_requested()) return fail_fetch(FetchErrorKind::kCancelled);
    if (base::Clock::now() >= bounds.deadline) {
      return fail_fetch(FetchErrorKind::kTimeout, "reading the file took too long");
    }
    const auto part = body.unfilled().first(std::min(body.unfilled().size(), kReadBytes));
    const ssize_t count = ::pread(file, part.data(), part.size(), static_cast<off_t>(body.size()));
    if (count == 0) return false;
    if (count > 0) {
      body.advance(static_cast<std::size_t>(count));
    } else if (const int error = errno; error != EINTR) {
      return fail_fetch(base::is_shortage(error) ? FetchErrorKind::kBusy : FetchErrorKind::kIo,
                        std::generic_category().message(error));
    }
    if (between) between();
  }
  return true;
}

// Describes the file, without its bytes.
Original describe(std::string_view path, const struct stat& status) {
  Original original;
  if (!changed_just_now(status)) original.etag = file_etag(status);
  original.last_modified = http_date(status.st_mtim.tv_sec);
  original.url = "local://";
  original.url += path;
  return original;
}

}  // namespace

std::string file_etag(const struct stat& status) {
  return fmt::format("\"{:x}-{:x}-{:x}-{:x}\"", status.st_ino, status.st_size,
                     base::to_nanoseconds(status.st_mtim), base::to_nanoseconds(status.st_ctim));
}

std::string http_date(std::int64_t unix_seconds) {
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto seconds = static_cast<time_t>(unix_seconds);
  tm parts{};
  // Years of five digits have no HTTP date.
  if (::gmtime_r(&seconds, &parts) == nullptr || parts.tm_year > 8'099 || parts.tm_year < -1'900) {
    return {};
  }
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kDays[parts.tm_wday],
                     parts.tm_mday, kMonths[parts.tm_mon], parts.tm_year + 1'900, parts.tm_hour,
                     parts.tm_min, parts.tm_sec);
}

Fetched<Original> read_file(const FileRoot& root, std::string_view path,
                            const FetchRequest& request, const ReadBounds& bounds, Body& body,
                            const std::function<void()>& between) {
  for (int reading = 0; reading < kMaxReadings; ++reading) {
    if (bounds.stop.stop_requested()) return fail_fetch(FetchErrorKind::kCancelled);
    // Opened anew each time: a file that is replaced by a rename is read whole the second time.
    const auto file = root.open_file(path);
    if (!file) return tl::unexpected(file.error());
    struct stat before {};
    if (::fstat(file->get(), &before) != 0) return fail_fetch(FetchErrorKind::kIo, "fstat failed");
    Original original = describe(path, before);
    if (is_current(request, original, before.st_mtim.tv_sec)) {
      original.not_modified = true;
      return original;
    }
    if (request.suffices && request.suffices(original)) {
      original.not_read = true;
      return original;
    }
    body.reset();
    if (const auto fault = body.expect(static_cast<std::uint64_t>(before.st_size))) {
      return fail_fetch(*fault, fmt::format("{} bytes", before.st_size));
    }
    const auto filled = fill(file->get(), bounds, body, between);
    if (!filled) return tl::unexpected(filled.error());
    struct stat after {};
    if (!*filled || ::fstat(file->get(), &after) != 0 || !same(before, after)) continue;
    auto bytes = body.take();
    if (!bytes) return fail_fetch(bytes.error());
    original.bytes = bytes->bytes;
    original.keeper = std::move(bytes->keeper);
    const bool jpeg =
        original.bytes.size() >= 2 && original.bytes[0] == 0xff && original.bytes[1] == 0xd8;
    if (jpeg) original.content_type = "image/jpeg";
    return original;
  }
  return fail_fetch(FetchErrorKind::kIo, "the file changed each time it was read");
}

}  // namespace framewire::service::source
