// Measures resizing in memory.
#pragma once

#include <cstdint>
#include <framewire/resizer.hpp>
#include <string>
#include <vector>

namespace framewire::app {

struct BenchInput {
  std::string path;
  std::vector<std::uint8_t> bytes;
};

/// One timed run: whole rounds over the inputs until the time is up.
struct BenchRun {
  double seconds = 0;
  std::uint64_t images = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t failures = 0;      ///< of inputs that worked when they were verified
  std::vector<double> latency_ms;  ///< of every image
};

/// Resizes the inputs on `jobs` threads that take them in turn, for at least `seconds` and one
/// round. Inside the timing: parsing, decoding, resampling, encoding, memory for the output;
/// outside: reading files, starting threads.
[[nodiscard]] BenchRun measure(const Resizer& resizer, const std::vector<const BenchInput*>& inputs,
                               const ResizeOptions& options, unsigned jobs, double seconds);

/// The value below which a part of the sorted values lies (nearest rank); 0 for none.
[[nodiscard]] double percentile(const std::vector<double>& sorted, double part);

}  // namespace framewire::app
