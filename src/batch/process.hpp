// Inputs of a batch, read in groups while earlier groups are made.
#pragma once

#include <batch/one_input.hpp>
#include <batch/runner.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace framewire::batch {

/// A worker's own way for its inputs: reads some, hands them over to be resized, and where that
/// goes on without it writes what came of those before. What meets one of them, memory that runs
/// out included, is its row.
class Pipeline {
 public:
  using Done = std::function<void(const Processed&)>;
  /// @param done  called for every input, by add() and flush()
  Pipeline(const ProcessContext& context, const Hooks& hooks, Done done);
  /// Waits for what is being made, and drops it.
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// Reads the inputs and hands them over; writes all that came before them.
  void add(std::vector<Input> inputs);
  /// Waits for what is being made, and writes it.
  void flush();
  /// Whether something is being made.
  [[nodiscard]] bool busy() const noexcept { return group_ != nullptr; }

 private:
  class Group;
  std::vector<std::uint8_t> take_buffer();
  void keep_buffer(std::vector<std::uint8_t> buffer);

  const ProcessContext& context_;
  const Hooks& hooks_;
  const Done done_;
  std::vector<std::vector<std::uint8_t>> buffers_;  ///< that hold no input now
  std::unique_ptr<Group> group_;
};

}  // namespace framewire::batch
