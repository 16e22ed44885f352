#include <fmt/format.h>
#include <algorithm>
#include <base/clock.hpp>
#include <chrono>
#include <cmath>
#include <command_line/misuse.hpp>
#include <command_line/numbers.hpp>
#include <commands/bench/measure.hpp>
#include <commands/bench/open_loop.hpp>
#include <jpeg/parser.hpp>
#include <thread>
#include <utility>
#include <vector>

namespace framewire::app {
namespace {

using Clock = base::Clock;
constexpr double kMaxRate = 1e6;
/// Bound on the requests of one run: their times are kept.
constexpr double kMaxRequests = 1e8;

/// When each request is due, in seconds from the start.
std::vector<double> arrivals(const OpenLoopPlan& plan) {
  SeededNumbers numbers(plan.seed, 0);
  std::vector<double> due;
  for (double at = 0;;) {
    at -= std::log(1 - numbers.uniform(0, 1)) / plan.rate;
    if (at >= plan.seconds) return due;
    due.push_back(at);
  }
}

bool is_progressive(std::span<const std::uint8_t> bytes) {
  const auto file = jpeg::parse(bytes, {}, jpeg::ParseDepth::kThroughFirst);
  return file && file->frame.process == jpeg::Process::kProgressive;
}

/// Which inputs are not progressive; nothing where all are of one kind.
std::vector<bool> find_sequential(Workload::Inputs inputs) {
  std::vector<bool> sequential;
  for (const auto& input : inputs) sequential.push_back(!is_progressive(input));
  const auto found = std::count(sequential.begin(), sequential.end(), true);
  if (found == 0 || static_cast<std::size_t>(found) == inputs.size()) return {};
  return sequential;
}

/// @param counts  of which inputs, by turns; empty: of all
Json latencies(const std::vector<double>& due, const std::vector<float>& took_ms, double from,
               double until, const std::vector<bool>& counts = {}) {
  std::vector<double> sorted;
  for (std::size_t i = 0; i < due.size(); ++i) {
    if (due[i] < from || due[i] >= until || took_ms[i] < 0) continue;
    if (counts.empty() || counts[i % counts.size()]) sorted.push_back(took_ms[i]);
  }
  std::sort(sorted.begin(), sorted.end());
  return {{"seconds", until - from},
          {"answers", sorted.size()},
          {"p50", percentile(sorted, 0.5)},
          {"p90", percentile(sorted, 0.9)},
          {"p99", percentile(sorted, 0.99)},
          {"p99.9", percentile(sorted, 0.999)},
          {"max", sorted.empty() ? 0.0 : sorted.back()}};
}

}  // namespace

Result<OpenLoopPlan> parse_open_loop(const Arguments& arguments, double seconds,
                                     std::uint64_t seed) {
  OpenLoopPlan plan{0, seconds, seed};
  if (!arguments.has("rate")) return plan;
  const std::string& text = arguments.get("rate");
  if (!parse_number(text, 0.1, kMaxRate, plan.rate)) {
    return misuse(fmt::format("--rate: found '{}'; accepted: 0.1 to 1000000 a second", text));
  }
  if (plan.rate * seconds > kMaxRequests) {
    return misuse("--rate: more than 100 million requests; a shorter time would do");
  }
  return plan;
}

Json measure_open_loop(Engine& engine, const Workload& workload, const OpenLoopPlan& plan) {
  const std::vector<double> due = arrivals(plan);
  std::vector<float> took_ms(due.size(), -1);  // each written by one callback
  double sent_late_ms = 0;
  const auto start = Clock::now();
  const auto time_of = [&](std::size_t i) {
    return start +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(due[i]));
  };
  for (std::size_t i = 0; i < due.size(); ++i) {
    const auto when = time_of(i);
    std::this_thread::sleep_until(when);
    engine.submit(workload.input(i), workload.options(i),
                  [to = &took_ms[i], when](const Result<Resized>& made) {
                    if (made) *to = static_cast<float>(base::elapsed_us(when) / 1000);
                  });
    sent_late_ms = std::max(sent_late_ms, base::elapsed_us(when) / 1000);
  }
  engine.drain();
  const double first = std::min(2.0, plan.seconds / 2);
  Json measured = {{"rate", plan.rate},
                   {"seed", plan.seed},
                   {"due", due.size()},
                   {"sent_late_ms", sent_late_ms},
                   {"first", latencies(due, took_ms, 0, first)},
                   {"later", latencies(due, took_ms, first, plan.seconds)}};
  if (const auto sequential = find_sequential(workload.inputs()); !sequential.empty()) {
    measured["later_sequential"] = latencies(due, took_ms, first, plan.seconds, sequential);
  }
  measured["failures"] = due.size() - measured["first"]["answers"].get<std::size_t>() -
                         measured["later"]["answers"].get<std::size_t>();
  return measured;
}

std::string open_loop_lines(std::string_view codec, const Json& measured) {
  if (measured.is_null()) return {};
  std::string lines;
  for (const auto& [part, name] : {std::pair{"first", "first"}, std::pair{"later", "later"},
                                   std::pair{"later_sequential", "not progressive, later"}}) {
    if (!measured.contains(part)) continue;
    const Json& of = measured[part];
    lines += fmt::format(
        "{:<10} at {:.0f}/s, {} {:g} s: p50 {:.2f}, p90 {:.2f}, p99 {:.2f}, p99.9 {:.2f}, max "
        "{:.2f} ms\n",
        codec, measured["rate"].get<double>(), name, of["seconds"].get<double>(),
        of["p50"].get<double>(), of["p90"].get<double>(), of["p99"].get<double>(),
        of["p99.9"].get<double>(), of["max"].get<double>());
  }
  return lines + fmt::format("{:<10} {} requests, {} failed; sent at most {:.2f} ms late\n", codec,
                             measured["due"].get<std::size_t>(),
                             measured["failures"].get<std::size_t>(),
                             measured["sent_late_ms"].get<double>());
}

}  // namespace framewire::app
