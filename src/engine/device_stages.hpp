// The stages of a resize one by one on a GPU, from planes to planes in its memory.
#pragma once

#include <codec/coefficients.hpp>
#include <codec/device_plane.hpp>
#include <cstddef>
#include <cstdint>
#include <engine/request.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <span>
#include <vector>

namespace framewire::engine {

/// A stream, finished by the GPU.
struct DeviceStream {
  std::span<const std::uint8_t> bytes;  ///< host, pinned; valid until the next call
  int quality = 0;                      ///< as written; lower than asked under max_bytes
};

/// Stages of the CUDA codec, each behind the one before: together they give the very bytes that the
/// codec gives in one go (tests/gpu/split_test.cpp).
///
/// Each call waits for the GPU. What it leaves is in planes(), and stays until the next call. Not
/// thread-safe; each object belongs to one thread at a time, several objects overlap. Every call
/// may return unsupported for what the CUDA codec leaves to the CPU, saying why, or where the GPU
/// gave a damaged file up; busy where memory ran out; device_lost.
class DeviceStages {
 public:
  /// @param device  CUDA ordinal
  /// @return unsupported without CUDA in this build or without that device; busy; device_lost
  [[nodiscard]] static Result<DeviceStages> make(int device);
  ~DeviceStages();
  DeviceStages(DeviceStages&&) noexcept;
  DeviceStages& operator=(DeviceStages&&) noexcept;

  /// @param coefficients  of the whole file, where somebody else has read them; else null
  /// Leaves one plane a component of the file, at `scales`.
  [[nodiscard]] Result<void> decode(const jpeg::JpegFile& file,
                                    const codec::Coefficients* coefficients,
                                    const plan::Scales& scales);
  /// Leaves the planes that a planned request would encode.
  [[nodiscard]] Result<void> make_planes(const Request& request,
                                         const codec::Coefficients* coefficients);
  /// A stripe of one of the plan's planes: some rows to make, and the rows that they are made of.
  struct Stripe {
    int plane = 0;  ///< of the plan
    std::int32_t out_first = 0;
    std::int32_t out_count = 0;  ///< 1 or more
    std::int32_t in_first = 0;
    codec::DevicePlane in;  ///< of this device: all rows that the filter reaches
  };
  /// Leaves one resampled plane for each stripe.
  /// @param stripes  1 to 4, of planes of one plan
  [[nodiscard]] Result<void> resample(const plan::Plan& plan, std::span<const Stripe> stripes);
  /// Converts colour, sharpens, orients and pads as planned. Leaves what would be encoded.
  /// @param planes  of this device: all of the plan's, resampled
  [[nodiscard]] Result<void> finish(const Request& request,
                                    std::span<const codec::DevicePlane> planes);
  /// finish(), and encodes.
  /// @param head  of the output: SOI and the APPn segments
  [[nodiscard]] Result<DeviceStream> encode(const Request& request,
                                            std::span<const codec::DevicePlane> planes,
                                            std::span<const std::uint8_t> head);

  [[nodiscard]] std::span<const codec::DevicePlane> planes() const noexcept;
  /// Where a plane of planes() goes.
  struct Target {
    std::byte* samples = nullptr;   ///< of this device, [height_px][pitch_bytes]; null: nowhere
    std::uint32_t pitch_bytes = 0;  ///< the plane's width or more; the rest of a row becomes zero
  };
  /// Copies planes() within the device, one for each target.
  [[nodiscard]] Result<void> copy_planes(std::span<const Target> targets);
  /// Copies planes of this device to host memory without padding.
  [[nodiscard]] Result<std::vector<std::uint8_t>> read_plane(const codec::DevicePlane& plane);

 private:
  class Impl;
  explicit DeviceStages(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Leaves the file's own planes, or, of a planned request that is to be resized, those that would
/// be encoded. What the GPU does not read is entropy-decoded on the calling thread; the rest of the
/// work stays on the GPU.
[[nodiscard]] Result<void> read_planes(DeviceStages& stages, const Request& request, bool resize);

}  // namespace framewire::engine
