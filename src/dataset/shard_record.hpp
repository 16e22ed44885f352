// The last line of a shard's manifest: what was made of it, by which it is found done.
#pragma once

#include <cstdint>
#include <framewire/status.hpp>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace framewire::dataset {

/// What becomes of a sample of which a picture failed.
enum class FailedSamples : std::uint8_t {
  kDrop,  ///< it is left out whole
  kKeep,  ///< it travels along, with the picture as it came
};
[[nodiscard]] std::string_view to_string(FailedSamples what) noexcept;

/// What a shard was, how it was made, and what came out.
struct ShardRecord {
  std::string shard;  ///< its name below the output folder
  std::string input;  ///< path as opened
  std::uint64_t bytes_in = 0;
  std::int64_t mtime_ns = 0;
  std::string version;  ///< of the input: its ETag; empty for files
  std::string options_hash;
  FailedSamples failed_samples = FailedSamples::kDrop;

  std::uint64_t bytes_out = 0;
  std::uint64_t hash_out = 0;  ///< XXH3-64 of the output
  std::string version_out;     ///< its ETag; empty for files
  std::string path;            ///< where it lies, as its manifest has it; of packed shards alone
  std::uint64_t samples = 0;   ///< of the output; members without a key not counted
  std::uint64_t dropped = 0;   ///< samples that were left out
  std::uint64_t ok = 0;        ///< pictures
  std::uint64_t failed = 0;    ///< rows that are not ok
  std::uint64_t copied = 0;    ///< members that travelled along unchanged
  /// Where the readable part of the input ended, if that was not its end.
  std::optional<std::uint64_t> damaged_at;
  double seconds = 0;
};

/// What came of the rows of one shard in one run.
struct ShardRows {
  std::uint64_t ok = 0;
  std::uint64_t failed = 0;
  std::uint64_t bytes_in = 0;   ///< of rows that are ok
  std::uint64_t bytes_out = 0;  ///< of these
  std::uint64_t copy_errors = 0;
  std::map<std::string, std::uint64_t> errors{};  ///< failed rows by class
};

/// One line of JSON with its newline; all keys of docs/datasets.md.
[[nodiscard]] std::string to_json_line(const ShardRecord& record);
/// Reads a line that to_json_line() has written. @return nothing for any other line
[[nodiscard]] std::optional<ShardRecord> parse_record(std::string_view line);

/// Whether both tell of the same input, made in the same way: by version, or by time where there is
/// none.
[[nodiscard]] bool is_same_work(const ShardRecord& one, const ShardRecord& other) noexcept;

/// The record at the end of a manifest, of which `tail` is the last kRecordTailBytes, or all.
/// @return nothing where it does not end in a record
[[nodiscard]] std::optional<ShardRecord> record_at_end(std::string_view tail);
/// A record has a few hundred bytes, and two names of at most 4,096.
inline constexpr std::size_t kRecordTailBytes = 64 * 1024;

/// Whether a file that does not end in a record is a manifest of ours all the same, which was
/// damaged: its first line is a row, or a record, or all of it is the beginning of one.
/// @param head  its first kManifestHeadBytes, or all. @param whole  that is all
[[nodiscard]] bool begins_like_manifest(std::string_view head, bool whole);
/// Rows with the longest names that file systems have take some 100 KB.
inline constexpr std::size_t kManifestHeadBytes = 1u << 20;

/// About a file in the place of a manifest that neither ends in a record, which none that was
/// written lacks, nor begins like a manifest.
[[nodiscard]] Status is_no_manifest(const std::string& label);

/// The name of a shard's manifest: the shard's, and ".jsonl".
[[nodiscard]] std::string manifest_name(const std::string& shard);

/// Reads the record at the end of a manifest. Reads no more than its last 64 KB.
/// @param folder  open folder that `name` is looked for in; links are not followed
/// @return nothing where there is no such file, or none that ends in a record
[[nodiscard]] std::optional<ShardRecord> read_record(int folder, const std::string& name);

/// Whether a file of that name may be replaced by a manifest: one that is a manifest, damaged or
/// not, or empty, or not there. @return errno where that cannot be told
[[nodiscard]] tl::expected<bool, int> may_replace_manifest(int folder, const std::string& name);

}  // namespace framewire::dataset
