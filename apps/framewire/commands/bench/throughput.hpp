// How fast an engine answers those that hand in images without waiting.
#pragma once

#include <commands/bench/workload.hpp>
#include <cstdint>
#include <framewire/engine.hpp>
#include <report/json.hpp>
#include <vector>

namespace framewire::app {

/// What a run of unhindered submitting came to.
struct Throughput {
  double images_per_second = 0;
  double gigabytes_in_per_second = 0;
  double megapixels_out_per_second = 0;
  double bytes_out = 0;  ///< mean of an image
  double parse_us = 0;   ///< mean of an image
  std::uint64_t failures = 0;
};

/// Threads that hand in images: two for each GPU, so that they do not bound an engine of several.
[[nodiscard]] unsigned submitters_of(const Engine& engine);

/// Hands in images for `seconds` without waiting for answers, from submitters_of() threads; counts
/// the answers that come between the first and the last moment.
[[nodiscard]] Throughput measure_throughput(Engine& engine, const Workload& workload,
                                            double seconds);

/// Medians, the least and the most images a second, and each run by itself ("runs").
/// @param runs  at least one
[[nodiscard]] Json rates_json(const std::vector<Throughput>& runs);

}  // namespace framewire::app
