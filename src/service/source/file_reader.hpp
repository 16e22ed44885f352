// One file as an original: all of it as it was at one time, or an error.
#pragma once

#include <base/clock.hpp>
#include <functional>
#include <service/source/body.hpp>
#include <service/source/file_root.hpp>
#include <service/source/sources.hpp>
#include <string_view>

struct stat;

namespace framewire::service::source {

/// The strong ETag of a file, with its quotes.
[[nodiscard]] std::string file_etag(const struct stat& status);
/// A moment as HTTP writes it (RFC 9110, 5.6.7): "Sun, 06 Nov 1994 08:49:37 GMT".
[[nodiscard]] std::string http_date(std::int64_t unix_seconds);

/// What bounds one reading.
struct ReadBounds {
  std::stop_token stop;
  base::Clock::time_point deadline = base::Clock::time_point::max();
};

/// Reads a file whole. Where it changes meanwhile it is read again, three times in all.
///
/// @param path        as SourceUrl::path
/// @param request     for its conditions
/// @param between     called between two reads of a file; tests change the file there. May be empty
/// @return kNotFound, kTooLarge, kBusy, kCancelled, kTimeout; kIo where reading fails or the file
///         changes each time. A file that is written in place within one tick of the file system's
///         clock (4 ms) can be read half old and half new: write beside it, and rename
[[nodiscard]] Fetched<Original> read_file(const FileRoot& root, std::string_view path,
                                          const FetchRequest& request, const ReadBounds& bounds,
                                          Body& body, const std::function<void()>& between = {});

}  // namespace framewire::service::source
