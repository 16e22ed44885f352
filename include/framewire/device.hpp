// JPEGs to planes in device memory and back, ordered by the caller's CUDA streams.
#pragma once

#include <array>
#include <cstdint>
#include <framewire/cuda_stream.hpp>
#include <framewire/export.hpp>
#include <framewire/image.hpp>
#include <framewire/options.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace framewire {

/// One 8-bit plane in device memory; a view.
struct DevicePlaneView {
  std::uint8_t* samples = nullptr;  ///< device, [height_px][pitch_bytes], 16-byte aligned
  std::int32_t width_px = 0;
  std::int32_t height_px = 0;
  std::int32_t pitch_bytes = 0;  ///< a multiple of 16; bytes behind width_px are readable
};

/// A picture in device memory, every component at its own sampling, as JPEG stores it: no colour
/// conversion, EXIF orientation not applied.
struct DeviceImage {
  int component_count = 0;                ///< 1 gray, 3 YCbCr or RGB, 4 CMYK or YCCK
  std::array<DevicePlaneView, 4> planes;  ///< in component order
  std::string sampling;                   ///< of the file: "420", "444", …
  int orientation = 1;                    ///< EXIF, 1 to 8
  std::vector<Warning> warnings;          ///< where the file is damaged
};

/// Decodes batches of JPEGs into device memory that it owns.
///
/// Everything that the CPU codec decodes: what the GPU's entropy decoder does not take
/// (progressive, arithmetic, damaged) is entropy-decoded on the calling thread, the rest of the
/// work stays on the GPU. Not thread-safe; one batch at a time, several objects overlap.
class FRAMEWIRE_API DeviceDecoder {
 public:
  /// @param device  CUDA ordinal
  /// @return unsupported without CUDA in this build or without that device; busy; device_lost
  [[nodiscard]] static Result<DeviceDecoder> make(int device = 0);
  ~DeviceDecoder();
  DeviceDecoder(DeviceDecoder&&) noexcept;
  DeviceDecoder& operator=(DeviceDecoder&&) noexcept;

  /// Enqueues a batch behind what `stream` holds now, and lets what is enqueued on `stream` later
  /// wait for it. Returns before the GPU is done. Invalidates the planes of the batch before.
  /// @param jpegs  host; read during this call and wait()
  /// @param scale  numerator over 8 of the scaled decode: 8, 4, 2 or 1
  /// @param limits  max_input_pixels and the like, of each image
  /// @return device_lost, busy, invalid_input for a scale; faults of single images: see image()
  [[nodiscard]] Result<void> decode(std::span<const std::span<const std::uint8_t>> jpegs, int scale,
                                    CudaStream stream, const Limits& limits = {});

  /// Waits for the batch, and decodes again what the GPU has found damaged. Until then planes of
  /// damaged images are undefined.
  /// @return device_lost, busy
  [[nodiscard]] Result<void> wait();

  /// After wait(): planes that stay until the next decode(), or what is wrong with the image.
  [[nodiscard]] const Result<DeviceImage>& image(std::size_t index) const;

 private:
  class FRAMEWIRE_LOCAL Impl;
  explicit DeviceDecoder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// How DeviceEncoder writes; names as in ResizeOptions.
struct DeviceEncodeOptions {
  int quality = 80;
  bool optimize_huffman = false;
  std::int32_t restart_interval_mcus = 0;
};

/// One picture to encode: gray (one plane) or YCbCr (three).
struct DeviceEncodeItem {
  /// The chroma planes' sizes tell the sampling: 4:4:4, 4:2:2, 4:2:0 or 4:4:0.
  std::span<const DevicePlaneView> planes;
  DeviceEncodeOptions options;
};

/// Encodes batches of pictures in device memory. Not thread-safe; one batch at a time.
class FRAMEWIRE_API DeviceEncoder {
 public:
  /// As DeviceDecoder::make().
  [[nodiscard]] static Result<DeviceEncoder> make(int device = 0);
  ~DeviceEncoder();
  DeviceEncoder(DeviceEncoder&&) noexcept;
  DeviceEncoder& operator=(DeviceEncoder&&) noexcept;

  /// Enqueues a batch behind what `stream` holds now, and lets what is enqueued on `stream` later
  /// wait until the planes have been read.
  /// @return invalid_input for planes that make no picture or options out of range, naming which
  ///         item; device_lost, busy. Then nothing was enqueued
  [[nodiscard]] Result<void> encode(std::span<const DeviceEncodeItem> items, CudaStream stream);

  /// Waits for the batch. @return device_lost
  [[nodiscard]] Result<void> wait();

  /// After wait(): a complete JFIF stream in host memory, which stays until the next encode().
  /// @return too_large where noise at top quality outgrew the buffer
  [[nodiscard]] Result<std::span<const std::uint8_t>> stream(std::size_t index) const;

 private:
  class FRAMEWIRE_LOCAL Impl;
  explicit DeviceEncoder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace framewire
