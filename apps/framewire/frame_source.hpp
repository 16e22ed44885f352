// From input files to the frames of framewire stream.
#pragma once

#include <batch/input_file.hpp>
#include <engine/codec_router.hpp>
#include <framewire/frames.hpp>
#include <string>
#include "backend.hpp"
#include "device_frames.hpp"
#include "frame_memory.hpp"

namespace framewire::app {

enum class FrameKind : std::uint8_t {
  kFile,           ///< the file's own bytes
  kResized,        ///< a JPEG made by the options
  kPlanes,         ///< the file's planes, at their own sampling
  kResizedPlanes,  ///< what a JPEG made by the options would be made of; by a GPU only
};

/// Makes frames of files. Thread safety: make() may run on any number of threads at once.
class FrameMaker {
 public:
  /// @param device  makes planes; null: the CPU does
  FrameMaker(FrameKind kind, const ResizeOptions& options, const Backend& backend,
             FrameMemory& memory, DeviceFrames* device = nullptr)
      : kind_(kind), options_(options), backend_(backend), memory_(memory), device_(device) {}

  /// @return what reading and resizing gives; unsupported for planes that are neither gray nor
  /// YCbCr
  [[nodiscard]] Result<frames::OutgoingFrame> make(const std::string& path) const;

 private:
  [[nodiscard]] Result<frames::OutgoingFrame> made_of(const batch::InputFile& input) const;
  [[nodiscard]] Result<frames::OutgoingFrame> file(const batch::InputFile& input) const;
  [[nodiscard]] Result<frames::OutgoingFrame> resized(std::span<const std::uint8_t> jpeg) const;
  [[nodiscard]] Result<frames::OutgoingFrame> planes(std::span<const std::uint8_t> jpeg) const;

  FrameKind kind_;
  const ResizeOptions& options_;
  const Backend& backend_;
  FrameMemory& memory_;
  DeviceFrames* device_;
  engine::CodecRouter router_;
};

}  // namespace framewire::app
