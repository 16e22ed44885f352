// The stages of a resize one by one on a GPU, from planes to planes in its memory.
#pragma once

#include <codec/coefficients.hpp>
#include <cstddef>
#include <cstdint>
#include <engine/request.hpp>
#include <framewire/device_plane.hpp>
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
/// Each call takes a batch of pictures and waits for the GPU once: one picture at a time, a GPU
/// does some thousands a second of the tens of thousands that it can. The outcome of a call for its
/// i-th picture is in result(i) and planes(i), and stays until the next call. Not thread-safe: an
/// object belongs to one thread at a time; several objects overlap. Every call may return busy
/// where memory ran out, and device_lost. result() is unsupported, and says why, for pictures that
/// the CUDA codec leaves to the CPU and for damaged files that the GPU gave up.
class DeviceStages {
 public:
  /// @param device  CUDA ordinal
  /// @return unsupported without CUDA in this build or without that device; busy; device_lost
  [[nodiscard]] static Result<DeviceStages> make(int device);
  ~DeviceStages();
  DeviceStages(DeviceStages&&) noexcept;
  DeviceStages& operator=(DeviceStages&&) noexcept;

  /// A file to be decoded. Pointers are borrowed during the call, here and below.
  struct Source {
    const jpeg::JpegFile* file = nullptr;
    const codec::Coefficients* coefficients = nullptr;  ///< of the whole file, where somebody else
                                                        ///< has read them; else null
    plan::Scales scales = plan::kFullScale;
  };
  /// Leaves one plane a component of the file, at `scales`.
  [[nodiscard]] Result<void> decode(std::span<const Source> sources);
  struct Planned {
    const Request* request = nullptr;
    const codec::Coefficients* coefficients = nullptr;  ///< as Source::coefficients
  };
  /// Leaves the planes that a planned request would encode.
  [[nodiscard]] Result<void> make_planes(std::span<const Planned> pictures);

  /// A stripe of one of a plan's planes: some rows to make, and the rows that they are made of.
  struct Stripe {
    int plane = 0;  ///< of the plan
    std::int32_t out_first = 0;
    std::int32_t out_count = 0;  ///< 1 or more
    std::int32_t in_first = 0;
    DevicePlane in;  ///< of this device: all rows that the filter reaches
  };
  struct Striped {
    const plan::Plan* plan = nullptr;
    std::vector<Stripe> stripes;  ///< 1 to 4
  };
  /// Leaves one resampled plane for each stripe.
  [[nodiscard]] Result<void> resample(std::span<const Striped> pictures);

  struct Resampled {
    const Request* request = nullptr;
    std::vector<DevicePlane> planes;  ///< of this device: all of the plan's, resampled
    std::vector<std::uint8_t> head;   ///< of the stream: SOI and the APPn segments
  };
  /// Converts colour, sharpens, orients and pads as planned. Leaves what would be encoded.
  [[nodiscard]] Result<void> post_process(std::span<const Resampled> pictures);
  /// post_process(), and encodes.
  [[nodiscard]] Result<void> encode(std::span<const Resampled> pictures);

  [[nodiscard]] const Result<void>& result(std::size_t picture) const noexcept;
  /// Where result() is good.
  [[nodiscard]] std::span<const DevicePlane> planes(std::size_t picture) const noexcept;
  /// After encode(), where result() is good.
  [[nodiscard]] DeviceStream stream(std::size_t picture) const;

  /// Rows of a plane, and where they go; all of this device.
  struct Copy {
    DevicePlane from;
    std::uint8_t* to = nullptr;     ///< [height_px][pitch_bytes], 16-byte aligned
    std::uint32_t pitch_bytes = 0;  ///< a multiple of 16, the plane's width or more; what is more
                                    ///< becomes zero
  };
  /// Copies within the device. Leaves what the call before it left.
  [[nodiscard]] Result<void> copy(std::span<const Copy> copies);
  /// Copies planes of this device to host memory without padding, one behind the other. Leaves
  /// what the call before it left. @return pinned; valid until the next read()
  [[nodiscard]] Result<std::span<const std::uint8_t>> read(std::span<const DevicePlane> planes);

 private:
  class Impl;
  explicit DeviceStages(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Reads, on the calling thread, the coefficients of a parsed file that the GPU does not read or
/// has given up. @param outcome  gets warnings @return as Codec::decode(); busy
[[nodiscard]] Result<codec::Coefficients> read_on_host(const Request& request,
                                                       codec::CodecOutcome& outcome);

}  // namespace framewire::engine
