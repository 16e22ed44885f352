// Whole batches of JPEGs to planes in device memory through nvJPEG.
//
// Source: NVIDIA's nvJPEG documentation, batched decoding API.
#pragma once

#include <cuda_runtime_api.h>
#include <array>
#include <codec/nvjpeg/handles.hpp>
#include <cstdint>
#include <framewire/device_plane.hpp>
#include <framewire/status.hpp>
#include <gpu/arena.hpp>
#include <gpu/buffer.hpp>
#include <jpeg/types.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace framewire::codec::nvjpeg {

enum class Backend : std::uint8_t {
  kHardware,  ///< the chip's JPEG engines (A100, H100, …): baseline, one scan, usual samplings
  kCuda,      ///< Huffman on CUDA cores in batches above 50, on the calling thread below
  kHybrid,    ///< Huffman on the calling thread, the rest on CUDA cores
};
[[nodiscard]] std::string_view to_string(Backend backend) noexcept;

/// One batch in flight at a time. Not thread-safe; each object belongs to one thread, but all
/// objects of a device share its JPEG engines. Memory grows to the largest batch seen and is kept.
class NvjpegDecoder {
 public:
  NvjpegDecoder(NvjpegDecoder&&) noexcept = default;
  /// Deleted: it would destroy the old library handle before the objects made with it.
  NvjpegDecoder& operator=(NvjpegDecoder&&) = delete;

  /// On the calling thread's current device. Costs tens of milliseconds.
  /// @return unsupported where the device has no such backend; busy; device_lost
  [[nodiscard]] static Result<NvjpegDecoder> make(Backend backend);

  /// Whether nvJPEG takes the file: by its own answer, and by which files it is known to decode
  /// wrongly. Reads headers on the host only.
  /// @return unsupported, with what was found
  [[nodiscard]] Result<void> check(const jpeg::JpegFile& file);

  /// Decodes every component at full size and its own sampling, without colour conversion.
  ///
  /// Samples that nvJPEG leaves unwritten are mid-grey. An image that fails does not fail the
  /// others: its batch is halved until it stands alone, so that one bad image among n costs about 2
  /// log₂ n further calls. kHardware first waits for `stream`, since the engines do not wait for
  /// work enqueued there; kCuda and kHybrid do part of the work on the calling thread.
  /// @accuracy kHardware gives libjpeg's accurate integer transform bit for bit, the others are
  ///           within 1 of it; tests/gpu/nvjpeg_decode_test.cpp
  /// @param files   each accepted by check(); borrowed until the stream has passed
  /// @param stream  planes and status() are valid when it has passed this point
  /// @return busy where memory ran out, device_lost, internal for an empty batch
  [[nodiscard]] Result<void> enqueue(std::span<const jpeg::JpegFile* const> files,
                                     cudaStream_t stream);

  /// What became of one image of the last batch. invalid_input and unsupported mean that the CPU
  /// must take it.
  [[nodiscard]] const Result<void>& status(std::size_t image) const { return statuses_[image]; }
  /// Valid until the next enqueue(). Rows are padded to whole MCUs.
  [[nodiscard]] DevicePlane plane(std::size_t image, std::size_t component) const;

  [[nodiscard]] Backend backend() const noexcept { return backend_; }
  /// JPEG engines of the device; 0 for the other backends.
  [[nodiscard]] unsigned engines() const noexcept { return engines_; }
  /// Bytes of the planes; nvJPEG's own memory comes on top.
  [[nodiscard]] std::size_t device_bytes() const noexcept { return memory_.bytes(); }

 private:
  NvjpegDecoder() = default;
  [[nodiscard]] Result<void> check_by_nvjpeg(const jpeg::JpegFile& file);
  void lay_out(std::span<const jpeg::JpegFile* const> files);
  [[nodiscard]] Result<void> prepare_memory(cudaStream_t stream);
  [[nodiscard]] Result<void> decode_range(std::size_t first, std::size_t count,
                                          cudaStream_t stream);
  [[nodiscard]] nvjpegStatus_t decode_once(std::size_t first, std::size_t count,
                                           cudaStream_t stream);

  LibraryHandle handle_;
  NvjpegState state_;
  ParsedStream parsed_;
  Backend backend_ = Backend::kHybrid;
  unsigned engines_ = 0;
  std::size_t initialised_for_ = 0;  ///< batch size that state_ is ready for; 0: none
  gpu::Buffer memory_;
  gpu::Arena arena_;                                                   ///< of memory_
  std::vector<std::array<DevicePlane, jpeg::kMaxComponents>> planes_;  ///< samples: see slices_
  std::vector<std::array<gpu::Slice<std::uint8_t>, jpeg::kMaxComponents>> slices_;
  std::vector<nvjpegImage_t> images_;
  std::vector<const unsigned char*> data_;
  std::vector<std::size_t> lengths_;
  std::vector<Result<void>> statuses_;
};

}  // namespace framewire::codec::nvjpeg
