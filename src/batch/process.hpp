// Inputs of a batch, from their paths to their rows.
#pragma once

#include <batch/row.hpp>
#include <batch/runner.hpp>
#include <batch/source.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace framewire::batch {

/// Made once a batch; read by all workers.
struct ProcessContext {
  const Settings* settings = nullptr;
  const Hooks* hooks = nullptr;
  const DoneIndex* done = nullptr;  ///< may be null
  std::string options_hash;
};

struct Processed {
  std::optional<Row> row;    ///< nothing where an earlier run did this input
  bool environment = false;  ///< the row's error would meet every other input
};

/// Reads inputs, resizes them together and writes what came of each. What meets one of them, memory
/// that runs out included, is its row.
/// @param buffers  the calling worker's own, for the inputs' bytes; kept from one call to the next
[[nodiscard]] std::vector<Processed> process(std::span<const Input> inputs,
                                             const ProcessContext& context,
                                             std::vector<std::vector<std::uint8_t>>& buffers);

}  // namespace framewire::batch
