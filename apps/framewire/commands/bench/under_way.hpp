// How fast an engine answers one thread that keeps so many requests under way.
#pragma once

#include <commands/bench/workload.hpp>
#include <cstddef>
#include <framewire/engine.hpp>
#include <report/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::app {

/// Numbers of requests joined by commas. @return none for no text; misuse()
[[nodiscard]] Result<std::vector<std::size_t>> parse_under_way(const std::string& text);

/// For each number of requests under way images a second, over `seconds` each: handed in one by
/// one, answered by callbacks ("one_by_one"; "pixels_out" is what one of these has on average), and
/// handed in as they were taken out of a CompletionQueue ("in_groups").
[[nodiscard]] Json measure_under_way(Engine& engine, const Workload& workload,
                                     const std::vector<std::size_t>& under_way, double seconds);
/// A line for each number. @param rows  as measured
[[nodiscard]] std::string under_way_lines(std::string_view codec, const Json& rows);

}  // namespace framewire::app
