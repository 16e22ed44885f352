// The requests of a measurement: which input, with which options.
#pragma once

#include <command_line/command.hpp>
#include <cstdint>
#include <framewire/options.hpp>
#include <framewire/status.hpp>
#include <span>
#include <string>
#include <vector>

namespace framewire::app {

/// What each request has of its own.
struct Variation {
  bool size = false;
  bool width = false;  ///< instead of size
  bool crop = false;
  bool quality = false;
  std::uint64_t seed = 1;

  [[nodiscard]] bool any() const noexcept { return size || width || crop || quality; }
};

/// Reads --vary and --seed. @return misuse()
[[nodiscard]] Result<Variation> parse_variation(const Arguments& arguments);

/// Numbers that a seed and an index alone decide: the same in every run, in any order, on any
/// thread. Source: splitmix64 (Steele, Lea and Flood 2014).
class SeededNumbers {
 public:
  SeededNumbers(std::uint64_t seed, std::uint64_t index);
  [[nodiscard]] std::uint64_t next() noexcept;
  /// Uniform from `low` on, below `high`.
  [[nodiscard]] double uniform(double low, double high) noexcept;

 private:
  std::uint64_t state_;
};

/// Requests by number; inputs take turns. Thread-safe.
///
/// Distributions, each independent of the others (docs/benchmarking.md states them):
///   size     both sides of the box times √u, u uniform in 0.25 to 1.75: the mean area is the box's
///   width    whole numbers, uniform from 100 to 1600; the height follows from the picture
///   crop     a part of c × c of the picture, c uniform in 0.6 to 1, its middle anywhere
///   quality  uniform from 20 below to 10 above the quality asked for, within 1 to 100
class Workload {
 public:
  using Inputs = std::span<const std::span<const std::uint8_t>>;

  /// @param inputs  borrowed, at least one
  Workload(Inputs inputs, const ResizeOptions& options, const Variation& variation = {})
      : inputs_(inputs), options_(options), variation_(variation) {}

  [[nodiscard]] std::span<const std::uint8_t> input(std::uint64_t index) const {
    return inputs_[index % inputs_.size()];
  }
  [[nodiscard]] Inputs inputs() const noexcept { return inputs_; }
  [[nodiscard]] ResizeOptions options(std::uint64_t index) const;

 private:
  Inputs inputs_;
  ResizeOptions options_;
  Variation variation_;
};

}  // namespace framewire::app
