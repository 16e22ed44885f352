// JPEGs to planes in device memory and back, ordered by the caller's CUDA streams.
#pragma once

#include <array>
#include <cstdint>
#include <framewire/cuda_stream.hpp>
#include <framewire/device_plane.hpp>
#include <framewire/export.hpp>
#include <framewire/image.hpp>
#include <framewire/options.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace framewire {

/// What the components of a picture mean, in their order; docs/color.md says how a file tells.
enum class DeviceColorModel : std::uint8_t { kGray, kYcbcr, kRgb, kCmyk, kYcck };

/// A picture in device memory, every component at its own sampling, as JPEG stores it: no colour
/// conversion, EXIF orientation not applied.
///
/// Keeps the memory of its planes, unless that is the caller's: copies share it, so that a copy
/// costs no more than its warnings; it goes back to the decoder's pool with the last of them, and
/// may outlive the decoder. In a pool's memory planes begin, and their rows follow, at multiples of
/// 16 bytes, and the bytes behind width_px are readable, as DeviceEncoder wants them.
///
/// What the GPU does with the planes is the caller's to announce: whoever has enqueued work that
/// reads or writes them calls record() before the last copy is dropped. Dropping it does not wait,
/// save where the decoder has gone: for that work. Thread safety: const members may be called from
/// any number of threads at once.
struct FRAMEWIRE_API DeviceImage {
  int device = 0;           ///< CUDA ordinal of where the planes lie
  int component_count = 0;  ///< 1 gray, 3 YCbCr or RGB, 4 CMYK or YCCK
  DeviceColorModel color_model = DeviceColorModel::kGray;
  /// Of CMYK, and of YCCK once it is CMYK: 0 is full ink, as Adobe's programs write it.
  bool inverted_inks = false;
  std::array<DevicePlane, 4> planes;  ///< in component order
  std::string sampling;               ///< of the file: "420", "444", …
  int orientation = 1;                ///< EXIF, 1 to 8
  std::vector<Warning> warnings;      ///< where the file is damaged

  /// Keeps the memory from being used again before what `stream` holds now is done, also if every
  /// copy of the image is dropped at once; the stream may be destroyed then, too. Does not block.
  /// Without effect on memory of the caller's.
  /// @param stream  of the image's device
  /// @return invalid_input for a null stream; device_lost for one of another device, and else
  [[nodiscard]] Result<void> record(CudaStream stream) const;
  /// Whether the memory is the decoder's, not the caller's.
  [[nodiscard]] bool owns_memory() const noexcept { return memory_ != nullptr; }

  struct FRAMEWIRE_LOCAL Memory;
  /// For this library itself: decoders make images.
  void keep(std::shared_ptr<Memory> memory) noexcept { memory_ = std::move(memory); }

 private:
  std::shared_ptr<Memory> memory_;
};

/// What a decode makes of one component.
struct DevicePlaneShape {
  std::int32_t width_px = 0;
  std::int32_t height_px = 0;
  /// The size with whole blocks, in which decoding writes: memory for as much of it is written
  /// directly.
  std::int32_t whole_width_px = 0;
  std::int32_t whole_height_px = 0;
};
struct DeviceImageShape {
  int component_count = 0;
  DeviceColorModel color_model = DeviceColorModel::kGray;  ///< as DeviceImage::color_model
  bool inverted_inks = false;                              ///< as DeviceImage::inverted_inks
  std::array<DevicePlaneShape, 4> planes;
};

/// Memory of the caller's for one plane.
///
/// `bytes` is at least (height_px − 1) × pitch_bytes + width_px, and the pitch at least width_px.
/// Where `samples` and the pitch are multiples of 16, the pitch is at least whole_width_px and
/// there are pitch_bytes × whole_height_px bytes, decoding writes there directly, also behind the
/// picture's edges; elsewhere the plane is copied once in the device, and nothing else is written.
struct DevicePlaneTarget {
  std::uint8_t* samples = nullptr;  ///< memory of the decoder's device
  std::int32_t pitch_bytes = 0;
  std::uint64_t bytes = 0;  ///< from `samples` on
};

/// One JPEG to decode.
struct DeviceDecodeItem {
  std::span<const std::uint8_t> jpeg;  ///< host; read during decode() and wait()
  /// One a component: the caller's, until its planes have been written. Empty: the decoder's pool.
  std::span<const DevicePlaneTarget> planes{};
};

/// What a decoder is made of.
struct DeviceDecoderOptions {
  /// Bound on the memory of pictures, of those that somebody keeps and those that wait to be used
  /// again; 0: half of what is free when the decoder is made. What decoding itself needs is apart.
  std::uint64_t picture_bytes = 0;
};

/// Decodes batches of JPEGs into device memory.
///
/// Everything that the CPU codec decodes: what the GPU's entropy decoder does not take
/// (progressive, arithmetic, damaged) is entropy-decoded on the calling thread, the rest of the
/// work stays on the GPU. Not thread-safe; one batch at a time, several objects overlap.
class FRAMEWIRE_API DeviceDecoder {
 public:
  /// @param device  CUDA ordinal
  /// @return unsupported without CUDA in this build or without that device; busy; device_lost
  [[nodiscard]] static Result<DeviceDecoder> make(int device = 0,
                                                  const DeviceDecoderOptions& options = {});
  /// Waits for a batch under way, and for work on dropped images that was recorded. Others stay.
  ~DeviceDecoder();
  DeviceDecoder(DeviceDecoder&&) noexcept;
  DeviceDecoder& operator=(DeviceDecoder&&) noexcept;

  /// What decode() would make of a file, without a GPU: for memory of the caller's.
  /// @return invalid_input, unsupported, too_large as decode() says of single images; invalid_input
  ///         for a scale
  [[nodiscard]] static Result<DeviceImageShape> shape(std::span<const std::uint8_t> jpeg, int scale,
                                                      const Limits& limits = {});

  /// Enqueues a batch behind what `stream` holds now, and lets what is enqueued on `stream` later
  /// wait for it. Returns before the GPU is done. Images of the batch before are dropped, unless
  /// somebody keeps copies.
  /// @param jpegs  host; read during this call and wait()
  /// @param scale  numerator over 8 of the scaled decode: 8, 6, 5, 4, 2 or 1
  /// @param stream  of the decoder's device
  /// @param limits  max_input_pixels and the like, of each image
  /// @return device_lost, busy, invalid_input for a scale or a null stream; faults of single images
  ///         are for image() to tell
  [[nodiscard]] Result<void> decode(std::span<const std::span<const std::uint8_t>> jpegs, int scale,
                                    CudaStream stream, const Limits& limits = {});
  /// The same, each image into memory of the caller's or of the pool.
  [[nodiscard]] Result<void> decode(std::span<const DeviceDecodeItem> items, int scale,
                                    CudaStream stream, const Limits& limits = {});

  /// Waits for the batch, and decodes again, to the same place, what the GPU has found damaged.
  /// Until then planes of damaged images are undefined.
  /// @return device_lost, busy
  [[nodiscard]] Result<void> wait();

  /// Until the next decode(): an image to copy, or what is wrong with it. After decode() where its
  /// planes will be, for work on the stream that was given there; after wait() in full, warnings
  /// and faults that the GPU has found included. Besides faults of the file: busy where the pool's
  /// bound or the device's memory is reached; too_large for memory of the caller's that is too
  /// small, saying how much is needed; invalid_input for such that is not of the decoder's device.
  /// Other images of the batch are not concerned.
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
  /// The chroma planes' sizes tell the sampling: 4:4:4, 4:2:2, 4:2:0 or 4:4:0. Planes begin at, and
  /// their rows follow at, multiples of 16 bytes, and the bytes up to there are readable.
  std::span<const DevicePlane> planes;
  DeviceEncodeOptions options;
  /// Of three planes, as DeviceImage::color_model tells. One plane is gray, whatever stands here.
  DeviceColorModel color_model = DeviceColorModel::kYcbcr;
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
  /// wait until the planes have been read: of a DeviceImage that is dropped before wait(),
  /// record(stream) after this call.
  /// @param stream  of the encoder's device
  /// @return invalid_input for planes that make no picture or options out of range, and unsupported
  ///         for three planes that are not YCbCr, naming which item; invalid_input for a null
  ///         stream; device_lost, busy. Then nothing was enqueued
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
