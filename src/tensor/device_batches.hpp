// Batches that a GPU makes.
#pragma once

#include <framewire/tensor.hpp>
#include <memory>
#include <span>
#include <tensor/image_maker.hpp>
#include <vector>

namespace framewire::tensor {

/// A batch that a device makes. It waits when it ends: until then the device writes to the batch's
/// memory.
class DeviceBatch {
 public:
  virtual ~DeviceBatch() = default;

  /// Waits until the batch is there, and makes on the host what the device left.
  /// @return device_lost, busy; then images() say nothing
  [[nodiscard]] virtual Result<void> wait() = 0;
  /// One for each item, behind wait().
  [[nodiscard]] virtual std::vector<Result<TensorImage>>& images() noexcept = 0;
};

class DeviceBatches {
 public:
  virtual ~DeviceBatches() = default;

  /// Begins a batch: returns when all of it is under way. Several may be, begun and awaited by one
  /// thread at a time.
  /// @param items  with their bytes, stay until wait() has returned
  /// @param out    checked
  /// @return device_lost, busy; nothing is under way then. The batch may outlive this object.
  [[nodiscard]] virtual Result<std::unique_ptr<DeviceBatch>> begin(
      std::span<const TensorItem> items, const DeviceTensorView& out) = 0;
  /// @return invalid_input for memory that is not this device's
  [[nodiscard]] virtual Result<void> check_memory(const void* data) const = 0;
};

/// @param options  checked; a device that is no CPU
/// @param maker    for images that the device does not take
/// @return unsupported where this build has no CUDA, or for a device that is not there; device_lost
[[nodiscard]] Result<std::shared_ptr<DeviceBatches>> make_device_batches(
    const TensorOptions& options, std::shared_ptr<const ImageMaker> maker);

}  // namespace framewire::tensor
