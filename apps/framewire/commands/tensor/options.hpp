// What framewire tensor takes.
#pragma once

#include <command_line/command.hpp>
#include <files/inputs.hpp>
#include <framewire/random_crop.hpp>
#include <framewire/tensor.hpp>

namespace framewire::app {

/// The command's own options. Static storage.
[[nodiscard]] std::span<const OptionSpec> tensor_options() noexcept;
[[nodiscard]] std::string_view tensor_details() noexcept;

/// How the crop of each sample is chosen.
enum class CropChoice : std::uint8_t { kNone, kCenter, kRandom, kBox };
enum class FlipChoice : std::uint8_t { kNone, kRandom, kAlways };

struct TensorPlan {
  TensorOptions options;
  InputNames inputs;
  CropChoice crop = CropChoice::kNone;
  CropBox box;  ///< of kBox
  FlipChoice flip = FlipChoice::kNone;
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
  std::uint32_t batch = 0;
  double seconds = 0;           ///< of --bench; 0: once over the inputs
  std::uint32_t under_way = 1;  ///< of --bench on a device: batches
  std::string out;              ///< empty: nothing is written
};

/// @return misuse()
[[nodiscard]] Result<TensorPlan> make_tensor_plan(const Arguments& arguments);

}  // namespace framewire::app
