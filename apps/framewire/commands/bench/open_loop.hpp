// An engine under a rate of requests that does not wait for it, as the world sends them.
#pragma once

#include <commands/bench/workload.hpp>
#include <framewire/engine.hpp>
#include <report/json.hpp>
#include <string>
#include <string_view>

namespace framewire::app {

struct OpenLoopPlan {
  double rate = 0;     ///< requests a second, on average; 0: not measured
  double seconds = 0;  ///< in which requests are due
  std::uint64_t seed = 1;
};

/// Reads --rate. @return misuse()
[[nodiscard]] Result<OpenLoopPlan> parse_open_loop(const Arguments& arguments, double seconds,
                                                   std::uint64_t seed);

/// Sends requests at moments that a Poisson process of the seed decides, whether earlier ones have
/// been answered or not. A latency counts from the moment at which its request was due: a request
/// that the engine could not take yet has waited all the same.
/// @param engine  new, so that "first" shows what an engine's start costs
/// @return milliseconds of requests due in the first two seconds, or the first half of a shorter
///         run ("first"), and of the others ("later"), failures among neither; of the latter those
///         whose input is not progressive ("later_sequential"), where there are inputs of both
///         kinds; how late the sender itself was at most ("sent_late_ms"), waiting for the engine
///         to take requests included
[[nodiscard]] Json measure_open_loop(Engine& engine, const Workload& workload,
                                     const OpenLoopPlan& plan);
/// A line each. @param measured  as measured
[[nodiscard]] std::string open_loop_lines(std::string_view codec, const Json& measured);

}  // namespace framewire::app
