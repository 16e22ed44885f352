// What the benches share: the command line, inputs, the machine, the frame of the result.
#pragma once

#include <command_line/command.hpp>
#include <command_line/numbers.hpp>
#include <commands/bench/measure.hpp>
#include <framewire/resizer.hpp>
#include <functional>
#include <report/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::app {

struct BenchPlan {
  std::vector<std::string> codecs;  ///< every one a value that --codec takes
  double seconds = 0;               ///< of one run
  unsigned repeat = 0;              ///< runs
};

/// @return misuse()
[[nodiscard]] Result<BenchPlan> make_bench_plan(const Arguments& arguments);

/// Reads every IN behind the bench's name; a folder stands for the JPEGs in it.
[[nodiscard]] Result<std::vector<BenchInput>> load_all(const Arguments& arguments);

/// What every result says of itself, with "rows" and "failed" still empty.
/// @param timed  what is inside the timing
[[nodiscard]] Json begin_result(const Arguments& arguments, const std::vector<BenchInput>& inputs,
                                const BenchPlan& plan, std::string_view timed);
/// The lines above a table of results. @param devices  as to be printed behind the CPU
[[nodiscard]] std::string heading(const Json& result, std::string_view devices = {});

/// Inputs that a codec can do, each tried once: an output counts if it parses whole and has the
/// size that its report claims. The others are told of, and recorded in result["failed"].
[[nodiscard]] std::vector<const BenchInput*> usable_inputs(
    const std::string& codec, const std::vector<BenchInput>& inputs,
    const std::function<Result<Resized>(const BenchInput&)>& resize, Json& result);

[[nodiscard]] double median(std::vector<double> values);
/// p50, p90, p99 and max of sorted values.
[[nodiscard]] Json percentiles(const std::vector<double>& sorted);

[[nodiscard]] int run_bench_resize(const Arguments& arguments);
[[nodiscard]] int run_bench_jpeg2jpeg(const Arguments& arguments);

}  // namespace framewire::app
