// From input files to the frames of framewire stream.
#pragma once

#include <atomic>
#include <batch/source.hpp>
#include <engine/codec_router.hpp>
#include <framewire/frames.hpp>
#include <mutex>
#include <string>
#include <vector>
#include "backend.hpp"

namespace framewire::app {

/// Regions that are used again: fresh pages for every frame cost as much as filling them.
class FrameMemory {
 public:
  /// A region of at least that many bytes. @return busy
  [[nodiscard]] Result<transport::Region> take(std::uint64_t bytes);
  void give_back(transport::Region region);

 private:
  std::mutex mutex_;
  std::vector<transport::Region> spare_;
};

enum class FrameKind : std::uint8_t {
  kFile,     ///< the file's own bytes
  kResized,  ///< a JPEG made by the options
  kPlanes,   ///< the file's planes, at their own sampling
};

/// Makes frames of files. Thread safety: make() may run on any number of threads at once.
class FrameMaker {
 public:
  FrameMaker(FrameKind kind, const ResizeOptions& options, const Backend& backend,
             FrameMemory& memory)
      : kind_(kind), options_(options), backend_(backend), memory_(memory) {}

  /// @return what reading and resizing gives; unsupported for planes that are neither gray nor
  /// YCbCr
  [[nodiscard]] Result<frames::OutgoingFrame> make(const std::string& path) const;

 private:
  [[nodiscard]] Result<frames::OutgoingFrame> file(std::span<const std::uint8_t> jpeg) const;
  [[nodiscard]] Result<frames::OutgoingFrame> resized(std::span<const std::uint8_t> jpeg) const;
  [[nodiscard]] Result<frames::OutgoingFrame> planes(std::span<const std::uint8_t> jpeg) const;
  [[nodiscard]] Result<void> fill(frames::OutgoingFrame& frame,
                                  std::span<const std::uint8_t> jpeg) const;

  FrameKind kind_;
  const ResizeOptions& options_;
  const Backend& backend_;
  FrameMemory& memory_;
  engine::CodecRouter router_;
};

}  // namespace framewire::app
