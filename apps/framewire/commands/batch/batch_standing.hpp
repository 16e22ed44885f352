// How far a batch has come, in all that its progress is told by.
#pragma once

#include <cstdint>
#include <framewire/batch.hpp>
#include <map>
#include <optional>
#include <string>

namespace framewire::app {

/// Shards of a batch that are done with, in any way.
struct ShardsDone {
  std::uint64_t done = 0;
  std::optional<std::uint64_t> total;             ///< unset where it is not known before the end
  std::uint64_t failed = 0;                       ///< of those done: could not be read or written
  std::map<std::string, std::uint64_t> errors{};  ///< of shards and their other members, by class
  std::uint64_t inputs_before = 0;  ///< inputs that were passed over: earlier shards have them
};

/// Sums over the rows so far, beside what batch::run() tells.
struct BatchStanding {
  batch::Progress progress;
  std::uint64_t ok = 0;
  std::uint64_t skipped = 0;
  std::uint64_t bytes_in = 0;  ///< of those ok
  std::uint64_t bytes_out = 0;
  std::map<std::string, std::uint64_t> errors{};  ///< rows that have failed, by class
  std::optional<ShardsDone> shards{};             ///< unset in a batch over files
};

/// The standing as metrics in Prometheus' text format, with the time of their making.
/// @param now_s  since 1970
[[nodiscard]] std::string metrics_text(const BatchStanding& standing, bool finished, double now_s);

/// The same as one line of JSON, without its end. @param event  "progress", or "end"
[[nodiscard]] std::string standing_json(const BatchStanding& standing, std::string_view event);

}  // namespace framewire::app
