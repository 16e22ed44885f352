// Manifests as one Parquet file, which Python's pyarrow writes.
#pragma once

#include <sys/types.h>
#include <base/file_descriptor.hpp>
#include <framewire/status.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace framewire::app {

/// The program in Python, with a NUL behind it. Static storage.
[[nodiscard]] const char* to_parquet_script() noexcept;

/// A Python process that is told names of manifests and reads them, or is handed their lines, and
/// writes their rows to a file: in batches of 10,000, and under the file's name only once it is
/// whole. It says itself what it lacks.
class ParquetWriter {
 public:
  /// Starts `python3`, or what FRAMEWIRE_PYTHON names. @return io_error where there is none
  [[nodiscard]] static Result<ParquetWriter> start(const std::string& file);
  ParquetWriter(ParquetWriter&& other) noexcept
      : names_(std::move(other.names_)),
        process_(std::exchange(other.process_, -1)),
        shard_(std::move(other.shard_)),
        text_(std::move(other.text_)) {}
  ParquetWriter& operator=(ParquetWriter&&) = delete;
  /// Ends the process, and leaves the file as it was.
  ~ParquetWriter();

  /// Hands over a manifest. Nothing is said of a process that has ended: finish() tells.
  void add(std::string_view shard, const std::string& manifest);
  /// Hands over a line of a manifest that the process cannot read; those of one shard together.
  void add_line(std::string_view shard, std::string_view line);
  /// Waits for the process. @return whether the file is whole
  [[nodiscard]] bool finish();

 private:
  ParquetWriter(base::FileDescriptor names, pid_t process)
      : names_(std::move(names)), process_(process) {}
  [[nodiscard]] int wait();
  void end_lines();
  void send();

  base::FileDescriptor names_;  ///< its standard input
  pid_t process_;
  std::optional<std::string> shard_;  ///< whose lines are being handed over
  std::string text_;                  ///< not handed over yet
};

}  // namespace framewire::app
