// What became of every input, and what of it need not be done again.
#pragma once

#include <cstdint>
#include <framewire/batch/source.hpp>
#include <framewire/export.hpp>
#include <framewire/image.hpp>
#include <framewire/status.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::batch {

/// How an input ended.
enum class Outcome : std::uint8_t {
  kOk,
  kFailed,   ///< expected to work, and did not
  kSkipped,  ///< met on the way and no JPEG
};
/// "ok", "failed", "skipped".
[[nodiscard]] FRAMEWIRE_API std::string_view to_string(Outcome outcome) noexcept;

/// What became of one input.
struct Row {
  std::string input;   ///< its label
  std::string output;  ///< the output's label
  std::string name;    ///< as Input::name; what --resume and shards go by
  Outcome outcome = Outcome::kFailed;
  std::optional<Status> error;  ///< set unless ok
  std::uint64_t bytes_in = 0;
  std::int64_t mtime_ns = 0;  ///< of the input; 0 where it has none
  std::string version{};      ///< as InputFacts::version
  std::uint64_t bytes_out = 0;
  std::optional<std::uint64_t> hash;  ///< XXH3-64 of the input; unset where it was not read
  std::int32_t in_width_px = 0;
  std::int32_t in_height_px = 0;
  std::int32_t out_width_px = 0;
  std::int32_t out_height_px = 0;
  CodecKind codec = CodecKind::kAuto;
  bool original_kept = false;  ///< as Report::original_kept
  std::vector<Warning> warnings;
  double ms = 0;  ///< reading, resizing and committing
  std::string options_hash;
  bool input_read = false;  ///< the input was read whole; no key of the JSON
};

/// One line of JSON with its newline: keys as in docs/batch.md, always all of them, null where
/// there is nothing to say. Bytes of names that are not UTF-8 show as U+FFFD, and then "name_hex"
/// holds the name's own bytes. Throws std::bad_alloc alone. Any thread.
[[nodiscard]] FRAMEWIRE_API std::string to_json_line(const Row& row);

/// The part of a row that a resumed batch goes by.
struct DoneRow {
  std::string name;
  bool ok = false;
  std::uint64_t bytes_in = 0;
  std::int64_t mtime_ns = 0;
  std::uint64_t bytes_out = 0;
  std::optional<std::uint64_t> hash;
  std::string options_hash;
  std::string version{};
};

/// Reads a line that to_json_line() has written. Any thread.
/// @return nothing for any other line: torn, or foreign
[[nodiscard]] FRAMEWIRE_API std::optional<DoneRow> parse_row(std::string_view line);

/// What rows say is done. For manifests: add() all rows, oldest first, seal(), then ask. Memory: 24
/// bytes a row, up to three times that until it is sealed. Const members: any number of threads at
/// once; a question takes a binary search.
class FRAMEWIRE_API DoneIndex {
 public:
  /// The latest row of a name counts. May throw std::bad_alloc.
  void add(const DoneRow& row);
  /// No rows come any more.
  void seal();

  /// Whether the latest row of `name` is an output, whatever of.
  [[nodiscard]] bool made(const std::string& name) const;
  /// Whether the latest row of wanted.name is an output of the same options and size, from an input
  /// of the same version; of the same size and time where wanted.version is empty.
  [[nodiscard]] bool done(const DoneRow& wanted) const;
  /// The same by the input's content, for inputs whose time or version changed.
  [[nodiscard]] bool done_by_content(const DoneRow& wanted) const;

 private:
  struct Entry {
    std::uint64_t name = 0;
    std::uint64_t by_time = 0;     ///< 0: not done
    std::uint64_t by_content = 0;  ///< 0: not done, or never read
  };
  [[nodiscard]] const Entry* find(const std::string& name) const;
  std::vector<Entry> entries_;  ///< sorted by name once sealed
};

/// Where rows go, and what those of earlier runs say. All members may be called by any number of
/// threads at once.
class FRAMEWIRE_API Manifest {
 public:
  Manifest() = default;
  Manifest(const Manifest&) = delete;
  Manifest& operator=(const Manifest&) = delete;
  virtual ~Manifest() = default;

  /// Takes a row; on return it outlives the death of this process. May wait.
  /// @return any error: the batch stops, as where this throws; rows of outputs that are in their
  ///         place by then are still handed over
  [[nodiscard]] virtual Result<void> append(const Row& row) = 0;

  /// The rows of earlier runs; null: there are none to go by, everything is done. Sealed; lives as
  /// long as this, and does not change.
  [[nodiscard]] virtual const DoneIndex* done() const noexcept { return nullptr; }

  /// Files of this machine that it consists of, which are no inputs and no outputs.
  [[nodiscard]] virtual std::vector<FileId> files() const { return {}; }
};

}  // namespace framewire::batch
