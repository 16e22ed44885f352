// Frames of planes that a GPU makes and keeps, to be sent from its memory.
#pragma once

#include <engine/converter_cache.hpp>
#include <engine/device_stages.hpp>
#include <framewire/frames.hpp>
#include <framewire/options.hpp>
#include <memory>
#include <mutex>
#include <span>
#include <vector>
#include "frame_memory.hpp"

namespace framewire::app {

/// Decodes JPEGs on a GPU, resizes them if the options say so, and leaves the planes there, rows at
/// multiples of 16 bytes as DeviceEncoder takes them. Any number of threads; each at work at the
/// same time has GPU memory of its own.
class DeviceFrames {
 public:
  /// @param memory  of the same device
  /// @return unsupported without CUDA in this build or without that device; busy; device_lost
  [[nodiscard]] static Result<std::unique_ptr<DeviceFrames>> make(int device, FrameMemory& memory);

  /// @param resize  false: the file's own planes, at their own size
  /// @return what reading and resizing gives; unsupported for planes that are neither gray nor
  ///         YCbCr; busy, device_lost
  [[nodiscard]] Result<frames::OutgoingFrame> planes(std::span<const std::uint8_t> jpeg,
                                                     const ResizeOptions& options, bool resize);

 private:
  DeviceFrames(int device, FrameMemory& memory) : device_(device), memory_(memory) {}
  [[nodiscard]] Result<engine::DeviceStages> take();
  void give_back(engine::DeviceStages stages);
  [[nodiscard]] Result<frames::OutgoingFrame> pack(engine::DeviceStages& stages);

  int device_;
  FrameMemory& memory_;
  engine::ConverterCache converters_;
  std::mutex mutex_;
  std::vector<engine::DeviceStages> spare_;
};

}  // namespace framewire::app
