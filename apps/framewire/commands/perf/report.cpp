#include <fmt/format.h>
#include <algorithm>
#include <commands/perf/report.hpp>
#include <numeric>

namespace framewire::app {
namespace {

double percentile(const std::vector<double>& sorted, double share) {
  const auto place = static_cast<std::size_t>(share * static_cast<double>(sorted.size()));
  return sorted[std::min(place, sorted.size() - 1)];
}

std::string_view name_of(PerfTest test) {
  switch (test) {
    case PerfTest::kLatency:
      return "Latency";
    case PerfTest::kBandwidth:
      return "Bandwidth";
    case PerfTest::kBothWays:
      return "Bi-Directional Bandwidth";
  }
  return "";
}

}  // namespace

PerfFigures figures_of(const PerfRow& row, std::vector<double> times_us) {
  PerfFigures figures;
  figures.size_bytes = row.size_bytes;
  if (times_us.empty()) return figures;
  std::sort(times_us.begin(), times_us.end());
  const double mean_us =
      std::accumulate(times_us.begin(), times_us.end(), 0.0) / static_cast<double>(times_us.size());
  // Half a round trip; or the bytes of a window, each way where there are two, by its time.
  const double bytes =
      static_cast<double>(row.size_bytes) * row.window * (row.test == PerfTest::kBothWays ? 2 : 1);
  const auto figure = [&](double us) {
    return row.test == PerfTest::kLatency ? us / 2 : bytes / us;
  };
  figures.average = figure(mean_us);
  figures.p50 = figure(percentile(times_us, 0.5));
  figures.p99 = figure(percentile(times_us, 0.99));
  figures.p999 = figure(percentile(times_us, 0.999));
  return figures;
}

std::string perf_title(PerfTest test, bool percentiles) {
  const bool latency = test == PerfTest::kLatency;
  std::string title = fmt::format("# Framewire {} Test\n", name_of(test));
  title += latency ? "# Size          Latency (us)" : "# Size      Bandwidth (MB/s)";
  if (percentiles) title += fmt::format("{:>14}{:>14}{:>14}", "p50", "p99", "p99.9");
  return title + "\n";
}

std::string perf_line(const PerfFigures& figures, bool percentiles) {
  std::string line = fmt::format("{:<10}{:>20.2f}", figures.size_bytes, figures.average);
  if (percentiles) {
    line += fmt::format("{:>14.2f}{:>14.2f}{:>14.2f}", figures.p50, figures.p99, figures.p999);
  }
  return line + "\n";
}

Json to_json(const PerfFigures& figures) {
  return {{"size_bytes", figures.size_bytes},
          {"average", figures.average},
          {"p50", figures.p50},
          {"p99", figures.p99},
          {"p99.9", figures.p999}};
}

}  // namespace framewire::app
