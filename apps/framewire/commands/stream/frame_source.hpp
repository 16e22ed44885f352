// From input files to the frames of framewire stream.
#pragma once

#include <batch/input_file.hpp>
#include <commands/stream/device_frames.hpp>
#include <commands/stream/frame_memory.hpp>
#include <commands/stream/frames_ahead.hpp>
#include <engine/codec_router.hpp>
#include <framewire/engine.hpp>
#include <framewire/frames.hpp>
#include <functional>
#include <memory>
#include <string>

namespace framewire::app {

enum class FrameKind : std::uint8_t {
  kFile,           ///< the file's own bytes
  kResized,        ///< a JPEG made by the options
  kPlanes,         ///< the file's planes, at their own sampling
  kResizedPlanes,  ///< what a JPEG made by the options would be made of; by a GPU only
};

/// Makes frames of files: on the calling thread, or, where a GPU makes them, later and many at a
/// time. Thread safety: make() may run on any number of threads at once.
class FrameMaker {
 public:
  /// @param device  makes planes; null: the CPU does
  FrameMaker(FrameKind kind, const ResizeOptions& options, Engine& engine, FrameMemory& memory,
             DeviceFrames* device = nullptr);

  /// @param done  called once: what reading and resizing gives; unsupported for planes that are
  ///              neither gray nor YCbCr
  void make(const std::string& path, FramesAhead::Done done) const;

 private:
  using Made = std::function<void(Result<frames::OutgoingFrame>)>;
  void made_of(const batch::InputFile& input, Made done) const;
  [[nodiscard]] Result<InputSlice> read(const batch::InputFile& input) const;
  [[nodiscard]] Result<frames::OutgoingFrame> file(const batch::InputFile& input) const;
  [[nodiscard]] Result<frames::OutgoingFrame> packed(const Result<Resized>& made) const;
  [[nodiscard]] Result<frames::OutgoingFrame> planes(std::span<const std::uint8_t> jpeg) const;

  FrameKind kind_;
  const ResizeOptions& options_;
  Engine& engine_;
  FrameMemory& memory_;
  DeviceFrames* device_;
  bool into_slices_ = false;  ///< what a GPU resizes is read into memory of the engine's
  engine::CodecRouter router_;
};

}  // namespace framewire::app
