// The inputs of framewire tensor: numbered, read, and with the crop of each.
#pragma once

#include <batch/permissions.hpp>
#include <commands/tensor/options.hpp>
#include <framewire/batch/files.hpp>
#include <optional>
#include <string>
#include <vector>

namespace framewire::app {

struct Sample {
  std::string path;
  std::uint64_t number = 0;
  std::vector<std::uint8_t> bytes;
  std::optional<batch::Permissions> permissions;
  std::optional<Status> error;      ///< it could not be read; bytes are then empty
  std::optional<PictureSize> size;  ///< where a crop depends on it and the header could be read
};

/// Reads up to `count` further inputs. @return fewer at the end; the listing's error
[[nodiscard]] Result<std::vector<Sample>> read_samples(batch::Source& source,
                                                       const TensorPlan& plan, std::size_t count,
                                                       std::uint64_t first_number);

/// What is made of each sample in an epoch. The items point into the samples.
[[nodiscard]] std::vector<TensorItem> make_items(const std::vector<Sample>& samples,
                                                 const TensorPlan& plan, std::uint32_t epoch);

}  // namespace framewire::app
