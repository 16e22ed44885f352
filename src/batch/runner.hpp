// Runs a batch: one producer, several workers, a row for every input.
#pragma once

#include <atomic>
#include <batch/manifest.hpp>
#include <batch/output_folder.hpp>
#include <batch/row.hpp>
#include <batch/source.hpp>
#include <cstdint>
#include <framewire/engine.hpp>
#include <framewire/options.hpp>
#include <framewire/resizer.hpp>
#include <framewire/status.hpp>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace framewire::batch {

struct Settings {
  ResizeOptions options;
  std::string output_folder;
  unsigned jobs = 1;            ///< worker threads, from 1
  unsigned group = 1;           ///< images that a worker hands over at once, at most; from 1
  Shard shard;                  ///< inputs of other shards are passed over, unmentioned
  bool stop_on_error = false;   ///< no new inputs after the first failure
  bool allow_in_place = false;  ///< an output may replace its own input
};

/// How far a batch has come.
struct Progress {
  std::uint64_t handled = 0;           ///< inputs done with, in any way
  std::optional<std::uint64_t> total;  ///< known once the count ahead has finished
  std::uint64_t failed = 0;
  double seconds = 0;
  double images_per_second = 0;             ///< of those handled in this run, so far
  std::optional<double> remaining_seconds;  ///< unset until the total and a rate are known
};

/// What a batch did.
struct Summary {
  std::uint64_t inputs = 0;  ///< ok + failed + skipped + unchanged
  std::uint64_t ok = 0;
  std::uint64_t failed = 0;
  std::uint64_t skipped = 0;    ///< no JPEGs, met on the way
  std::uint64_t unchanged = 0;  ///< done by an earlier run (--resume)
  std::uint64_t with_warnings = 0;
  std::uint64_t bytes_in = 0;  ///< of those ok
  std::uint64_t bytes_out = 0;
  std::map<std::string, std::uint64_t, std::less<>> errors;  ///< by class, failed and skipped alike
  double seconds = 0;
  bool interrupted = false;
  std::optional<Status> stopped_by;  ///< an error of the environment that would meet every input
};

/// Results that are being made, one for each file handed over. Called once: waits for them. The
/// files' bytes are needed until then.
using PendingResults = std::function<std::vector<Result<Resized>>()>;

/// What a batch calls; tests put faults in here. All may be called from several threads at once,
/// save on_row and on_progress, which are called one at a time.
struct Hooks {
  std::function<Result<Resized>(std::span<const std::uint8_t>, const ResizeOptions&)> resize;
  /// Begins the same for several files; may be empty.
  std::function<PendingResults(std::span<const std::span<const std::uint8_t>>,
                               const ResizeOptions&)>
      begin_all;
  /// Memory that files are read into where it can be had, to be handed over together; may be empty.
  std::function<Result<InputMemory>(std::size_t bytes)> input_memory;
  /// Whether an input may be read, which is no output of its own; may be empty.
  std::function<Result<void>(const InputFile&)> admit;
  std::function<WriteResult(const Output&, std::span<const std::uint8_t>)> write;
  std::function<void(const Row&)> on_row;            ///< may be empty
  std::function<void(const Progress&)> on_progress;  ///< may be empty; about ten times a second
};

/// Where a run's rows go and what it may rely on; all optional, not owned.
struct Records {
  ManifestWriter* manifest = nullptr;
  const DoneIndex* done = nullptr;  ///< inputs found here are not done again
  Source* count_ahead = nullptr;    ///< a second copy of the source, to learn the total from
};

/// Resizes every input of `source` into settings.output_folder, under its own name.
///
/// Rows and on_row come in the order in which inputs finish, which depends on `jobs`; the output
/// files and the set of rows do not. Memory: at most `jobs` × `group` images at a time (fewer of
/// more than 512 KB), with begin_all twice as many, 24 MB of input_memory a job, a queue of twice
/// as many names, and what the source and the index hold. Blocks until all is done; when
/// `interrupt` turns true, the images in work are finished first.
/// @return busy where threads cannot be started; failures of single inputs are in the summary
[[nodiscard]] Result<Summary> run(Source& source, const Settings& settings, const Hooks& hooks,
                                  const Records& records, const std::atomic<bool>& interrupt);

}  // namespace framewire::batch
