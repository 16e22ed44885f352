// Where the planes of a decoded image go.
#pragma once

#include <array>
#include <engine/cuda/image_pool.hpp>
#include <framewire/device.hpp>
#include <framewire/device_plane.hpp>
#include <gpu/stream.hpp>
#include <span>

namespace framewire::engine {

/// Memory of the pool's or of the caller's for one image.
struct ImagePlace {
  int component_count = 0;
  std::array<DevicePlane, 4> planes{};  ///< where they are in the end
  std::array<DevicePlane, 4> direct{};  ///< where they are decoded; null: in the batch, and
                                        ///< copied then
  ImagePool::Block block;               ///< null with the caller's memory
};

/// @param stream  which will write there
/// @return as ImagePool::take()
[[nodiscard]] Result<ImagePlace> place_in_pool(const DeviceImageShape& shape, ImagePool& pool,
                                               const gpu::Stream& stream);

/// @param targets  one a component, on `device`
/// @return invalid_input for another number of planes, or memory that is not of that device;
///         too_large for memory that is too small, saying how much is needed
[[nodiscard]] Result<ImagePlace> place_at(const DeviceImageShape& shape,
                                          std::span<const DevicePlaneTarget> targets, int device);

}  // namespace framewire::engine
