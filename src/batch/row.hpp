// What became of one input: a row of the manifest.
#pragma once

#include <cstdint>
#include <framewire/image.hpp>
#include <framewire/status.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::batch {

enum class Outcome : std::uint8_t {
  kOk,
  kFailed,   ///< expected to work, and did not
  kSkipped,  ///< met on the way and no JPEG
};
[[nodiscard]] std::string_view to_string(Outcome outcome) noexcept;

struct Row {
  std::string input;   ///< path as opened
  std::string output;  ///< path as written; empty unless ok
  std::string name;    ///< path below the output folder; what --resume and --shard go by
  Outcome outcome = Outcome::kFailed;
  std::optional<Status> error;  ///< set unless ok
  std::uint64_t bytes_in = 0;
  std::int64_t mtime_ns = 0;  ///< of the input
  std::uint64_t bytes_out = 0;
  std::optional<std::uint64_t> hash;  ///< XXH3-64 of the input; unset where it was not read
  std::int32_t in_width_px = 0;
  std::int32_t in_height_px = 0;
  std::int32_t out_width_px = 0;
  std::int32_t out_height_px = 0;
  CodecKind codec = CodecKind::kAuto;
  bool original_kept = false;  ///< as Report::original_kept
  std::vector<Warning> warnings;
  double ms = 0;  ///< reading, resizing and writing
  std::string options_hash;
};

/// One line of JSON with its newline: keys as in docs/batch.md, always all of them, null where
/// there is nothing to say. Bytes of names that are not UTF-8 show as U+FFFD, and then "name_hex"
/// holds the name's own bytes.
[[nodiscard]] std::string to_json_line(const Row& row);

/// The part of a row that a resumed batch goes by.
struct DoneRow {
  std::string name;
  bool ok = false;
  std::uint64_t bytes_in = 0;
  std::int64_t mtime_ns = 0;
  std::uint64_t bytes_out = 0;
  std::optional<std::uint64_t> hash;
  std::string options_hash;
};

/// Whether a line is a row as to_json_line() writes it, and not some other JSON: it has the keys
/// that no row lacks, with values of their kinds.
[[nodiscard]] bool is_row(std::string_view line);

/// @return nothing for a line that is no such row: torn, or foreign
[[nodiscard]] std::optional<DoneRow> parse_row(std::string_view line);

}  // namespace framewire::batch
