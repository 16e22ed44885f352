// Rows of framewire perf as text and JSON.
#pragma once

#include <commands/perf/flow.hpp>
#include <cstdint>
#include <report/json.hpp>
#include <string>
#include <vector>

namespace framewire::app {

/// One row's figures: microseconds one way for latency, MB/s of 10⁶ bytes for the others.
struct PerfFigures {
  std::uint64_t size_bytes = 0;
  double average = 0;  ///< what OSU prints: over all timed rounds together
  double p50 = 0;      ///< of single rounds; the slow end for 99 and 99.9
  double p99 = 0;
  double p999 = 0;
};

[[nodiscard]] PerfFigures figures_of(const PerfRow& row, std::vector<double> times_us);

/// OSU's title lines; with `percentiles`, columns that OSU does not have.
[[nodiscard]] std::string perf_title(PerfTest test, bool percentiles);
/// One line, its first two columns as OSU prints them.
[[nodiscard]] std::string perf_line(const PerfFigures& figures, bool percentiles);
[[nodiscard]] Json to_json(const PerfFigures& figures);

}  // namespace framewire::app
