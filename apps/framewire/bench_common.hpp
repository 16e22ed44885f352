// What the benches share: inputs, the machine, numbers from the command line.
#pragma once

#include <charconv>
#include <framewire/resizer.hpp>
#include <string>
#include <string_view>
#include <vector>
#include "bench_measure.hpp"
#include "command.hpp"
#include "json.hpp"

namespace framewire::app {

template <typename Number>
[[nodiscard]] bool parse_number(std::string_view text, Number low, Number high, Number& out) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out);
  return !text.empty() && error == std::errc{} && stop == end && out >= low && out <= high;
}

[[nodiscard]] std::vector<std::string> split(std::string_view text);

/// Reads every IN behind the bench's name; a folder stands for the JPEGs in it.
[[nodiscard]] Result<std::vector<BenchInput>> load_all(const Arguments& arguments);

/// An output counts only if it parses whole and has the size that its report claims.
[[nodiscard]] Result<void> verify_output(const Resized& resized);

[[nodiscard]] double median(std::vector<double> values);
[[nodiscard]] Json machine_json();
[[nodiscard]] Json inputs_json(const std::vector<BenchInput>& inputs);

[[nodiscard]] int run_bench_resize(const Arguments& arguments);
[[nodiscard]] int run_bench_jpeg2jpeg(const Arguments& arguments);

}  // namespace framewire::app
