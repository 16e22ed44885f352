// Where a batch's inputs come from, one at a time.
#pragma once

#include <batch/posix_file.hpp>
#include <cstdint>
#include <framewire/status.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace framewire::batch {

struct Input {
  std::string path;  ///< to open
  std::string name;  ///< relative path below the output folder; unique in a batch
  /// Whether a user expects this to be processed: it was named, or its name says JPEG. Otherwise it
  /// was merely met on the way, and being no JPEG is no failure.
  bool expected = true;
  std::optional<Status> error;  ///< it cannot even be tried
  /// Lies below the folder that was given, by folders alone: no link and no mount led to it.
  bool direct = false;
};

/// A stream of inputs, in an order that depends on names alone. One thread.
class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;
  /// @return the next input, or nothing at the end
  [[nodiscard]] virtual std::optional<Input> next() = 0;
};

/// Every file below a folder, each folder's entries in byte order of their names.
///
/// Links to files and folders are followed; a link to a folder that contains it is reported, not
/// entered. Temporary files of write_atomically() are left out. Memory: at most about 65,000 names
/// plus 256 a level of depth, however many files there are: larger folders are read again for each
/// further part.
/// @param excluded  files and folders to pass over, such as an output folder inside the input
/// @return io_error where the folder cannot be read
[[nodiscard]] Result<std::unique_ptr<Source>> open_folder(const std::string& folder,
                                                          std::vector<FileId> excluded);

/// The files named in a list, one a line, or ended by NUL. Lines may end with CR LF, and the list
/// begin with a byte order mark; a line that holds NUL is reported.
///
/// A relative name is kept below the output folder, an absolute one without its leading slash;
/// names that lead out of the current folder and names met before are reported. Memory: about 50
/// bytes a name, to recognise repetitions.
/// @param list  path of the list, or "-" for standard input
/// @return io_error where the list cannot be read
[[nodiscard]] Result<std::unique_ptr<Source>> open_list(const std::string& list, char separator);

/// Files named one by one; their paths below the deepest folder that holds them all are kept.
[[nodiscard]] std::unique_ptr<Source> open_files(std::span<const std::string> paths);

/// One of `count` equal parts of a batch.
struct Shard {
  std::uint32_t index = 0;  ///< from 0
  std::uint32_t count = 1;
};

/// Whether an input belongs to a shard; depends on its name alone, on every machine alike.
[[nodiscard]] bool in_shard(const Shard& shard, const Input& input) noexcept;

}  // namespace framewire::batch
