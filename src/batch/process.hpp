// One input of a batch, from its path to its row.
#pragma once

#include <batch/row.hpp>
#include <batch/runner.hpp>
#include <batch/source.hpp>
#include <optional>
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

/// Reads, resizes and writes one input. Never throws: memory that runs out is a row with `busy`.
/// @param buffer  the calling worker's own, for the input's bytes; kept from one input to the next
[[nodiscard]] Processed process(const Input& input, const ProcessContext& context,
                                std::vector<std::uint8_t>& buffer);

}  // namespace framewire::batch
