// Inputs of a batch, from their paths to their rows.
#pragma once

#include <batch/row.hpp>
#include <batch/runner.hpp>
#include <batch/source.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace framewire::batch {

/// Made once a batch; read by all workers.
struct ProcessContext {
  const Settings* settings = nullptr;
  const Hooks* hooks = nullptr;
  const DoneIndex* done = nullptr;  ///< may be null
  bool hashed = false;              ///< rows need their inputs' hash
  std::string options_hash;
};

struct Processed {
  std::optional<Row> row;    ///< nothing where an earlier run did this input
  bool environment = false;  ///< the row's error would meet every other input
};

/// A worker's own way for its inputs: reads some, hands them over to be resized, and where that
/// goes on without it writes what came of those before. What meets one of them, memory that runs
/// out included, is its row.
class Pipeline {
 public:
  using Done = std::function<void(const Processed&)>;
  /// @param done  called for every input, by add() and finish()
  Pipeline(const ProcessContext& context, Done done);
  /// Waits for what is being made, and drops it.
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// Reads the inputs and hands them over; finishes all that came before them.
  void add(std::vector<Input> inputs);
  /// Waits for what is being made, and writes it.
  void finish();
  /// Whether something is being made.
  [[nodiscard]] bool busy() const noexcept { return group_ != nullptr; }

 private:
  class Group;
  std::vector<std::uint8_t> take_buffer();
  void keep_buffer(std::vector<std::uint8_t> buffer);

  const ProcessContext& context_;
  const Done done_;
  std::vector<std::vector<std::uint8_t>> buffers_;  ///< that hold no input now
  std::unique_ptr<Group> group_;
};

}  // namespace framewire::batch
