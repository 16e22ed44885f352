// Batches that a GPU makes.
#pragma once

#include <framewire/tensor.hpp>
#include <memory>
#include <span>
#include <tensor/image_maker.hpp>
#include <vector>

namespace framewire::tensor {

class DeviceBatches {
 public:
  virtual ~DeviceBatches() = default;

  /// Decodes a batch, which is there when this returns.
  /// @param out     checked
  /// @param images  [items.size()] filled
  /// @return device_lost, busy; then images say nothing
  [[nodiscard]] virtual Result<void> decode(std::span<const TensorItem> items,
                                            const DeviceTensorView& out,
                                            std::span<Result<TensorImage>> images) = 0;
  /// @return invalid_input for memory that is not this device's
  [[nodiscard]] virtual Result<void> check_memory(const void* data) const = 0;
};

/// @param options  checked; a device that is no CPU
/// @param maker    for images that the device does not take; outlives what is returned
/// @return unsupported where this build has no CUDA, or for a device that is not there; device_lost
[[nodiscard]] Result<std::unique_ptr<DeviceBatches>> make_device_batches(
    const TensorOptions& options, const ImageMaker& maker);

}  // namespace framewire::tensor
