// Many JPEGs from anywhere to anywhere: a source of inputs, a sink for outputs, a row for each.
#pragma once

#include <atomic>
#include <cstdint>
#include <framewire/batch/files.hpp>
#include <framewire/batch/manifest.hpp>
#include <framewire/batch/sink.hpp>
#include <framewire/batch/source.hpp>
#include <framewire/client.hpp>
#include <framewire/engine.hpp>
#include <framewire/export.hpp>
#include <framewire/options.hpp>
#include <framewire/status.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace framewire::batch {

/// One of `count` equal parts of a batch: the inputs whose XXH64 of the name, modulo `count`, is
/// `index`. The same on every machine.
struct Shard {
  std::uint32_t index = 0;  ///< from 0
  std::uint32_t count = 1;
};

/// What a batch does with its inputs.
struct Settings {
  ResizeOptions options;
  unsigned jobs = 0;   ///< threads that read and commit, up to 1024; 0: one a core, half of them
                       ///< where the engine has GPUs, whose own threads need the others
  unsigned group = 0;  ///< images that such a thread hands over at once, at most; 0: chosen
  Shard shard;         ///< inputs of other shards are passed over, unmentioned
  bool stop_on_error = false;  ///< no new inputs after the first failure
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
  std::map<std::string, std::uint64_t, std::less<>> errors;  ///< those that failed, by class
  double seconds = 0;
  unsigned jobs = 0;         ///< threads that were used
  bool interrupted = false;  ///< RunOptions::stop was set
  /// Why not all was done, where it is no fault of a single input: the listing ended, an error of
  /// the environment would have met every output, no row could be added.
  std::optional<Status> stopped_by;
};

/// What a run takes along; nothing of it is owned, all of it may be missing.
struct RunOptions {
  Manifest* manifest = nullptr;  ///< takes the rows; what it says is done is not done again
  /// A second copy of the source, to learn the total from early. It is left once `source` has
  /// ended.
  Source* count_ahead = nullptr;
  /// For each input but those that an earlier run did, in the order in which they finish.
  std::function<void(const Row&)> on_row{};
  /// When the run begins and ends, and as inputs finish, at most ten times a second: not while a
  /// single input takes long.
  std::function<void(const Progress&)> on_progress{};
  /// Once it is true no input is begun, and those in work are finished; a Client looks for a lost
  /// server no longer, also after the run: ClientOptions::retries counts for it no more. May be set
  /// by a handler of signals.
  const std::atomic<bool>* stop = nullptr;
};

/// Resizes every input of a source into a sink, under its own name.
///
/// What `framewire batch` does. An output depends on its input and on the options alone; the set of
/// rows does not depend on `jobs` either, their order does. Blocks until all is done: this thread
/// lists, `jobs` others read, hand over and commit. on_row and on_progress are called by any of
/// them, one at a time: be quick; what they throw stops the batch, and costs no output its row.
///
/// Memory: `jobs` × `group` images at a time (fewer of more than 512 KB), with GPUs twice as many,
/// of which 24 MB a job lie in the engine's memory; a queue of twice as many inputs; and what the
/// source and the manifest hold. Outputs are those of Engine::resize(). An engine without GPUs does
/// best with EngineOptions::callers_thread.
///
/// Thread safety: several runs may share an engine; a source, a sink and a manifest serve one.
/// @return invalid_input for a shard or jobs that are out of range; busy where memory ran out or
///         threads cannot be started; what Sink::begin() says. Failures of single inputs are in the
///         summary
/// @cost an input: two to three reads, one commit, one row; nothing in proportion to the batch
///       besides what the source holds
[[nodiscard]] FRAMEWIRE_API Result<Summary> run(Source& source, Sink& sink, Engine& engine,
                                                const Settings& settings,
                                                const RunOptions& with = {});
/// The same through another process' engine. `jobs` are as many as cores unless they are chosen;
/// inputs are read into the memory that the client shares with its server, while there is room.
/// Where the server is lost, the batch ends: Summary::stopped_by says why, what had been handed
/// over fails with it, and what is left has no row. A run that RunOptions::stop has stopped ends
/// the client's retries for good: make another client where they are wanted again.
[[nodiscard]] FRAMEWIRE_API Result<Summary> run(Source& source, Sink& sink, Client& client,
                                                const Settings& settings,
                                                const RunOptions& with = {});

}  // namespace framewire::batch
