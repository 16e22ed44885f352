// Planes in device memory to JPEG streams through nvJPEG, several before one synchronisation.
//
// Source: NVIDIA's nvJPEG documentation, encoding API.
#pragma once

#include <cuda_runtime_api.h>
#include <array>
#include <codec/nvjpeg/handles.hpp>
#include <cstdint>
#include <framewire/device_plane.hpp>
#include <framewire/status.hpp>
#include <gpu/buffer.hpp>
#include <plan/plan.hpp>
#include <span>
#include <vector>

namespace framewire::codec::nvjpeg {

/// One picture to encode. The plan is borrowed during enqueue(), the planes until wait().
struct EncodeItem {
  const plan::EncodePlan* plan = nullptr;
  std::array<DevicePlane, jpeg::kMaxComponents> planes{};  ///< at the plan's own sampling
};

/// One batch in flight at a time. Not thread-safe; each object belongs to one thread. Memory grows
/// to the largest batch seen and is then kept.
class NvjpegEncoder {
 public:
  NvjpegEncoder(NvjpegEncoder&&) noexcept = default;
  /// Deleted: it would destroy the old library handle before the objects made with it.
  NvjpegEncoder& operator=(NvjpegEncoder&&) = delete;

  /// On the calling thread's current device. @return unsupported; busy; device_lost
  [[nodiscard]] static Result<NvjpegEncoder> make();

  /// @return unsupported for CMYK, samplings besides 444, 422, 420, 440 and gray, restart
  ///         intervals, and max_bytes, which needs several encodes
  [[nodiscard]] static Result<void> check(const plan::EncodePlan& plan);

  /// Enqueues one encode an item. nvJPEG shares nothing between them, so n items take n times its
  /// launches.
  /// @param items   each accepted by check()
  /// @return busy where memory ran out, device_lost, internal for an empty batch
  [[nodiscard]] Result<void> enqueue(std::span<const EncodeItem> items, cudaStream_t stream);
  /// Waits for the batch and brings the streams to the host. @return busy, device_lost
  [[nodiscard]] Result<void> wait();

  /// A complete stream with nvJPEG's own JFIF head, in host memory, valid until the next enqueue();
  /// jpeg::append_body() takes what follows a head of ours.
  [[nodiscard]] std::span<const std::uint8_t> stream(std::size_t image) const;

 private:
  /// The part of a plan for which nvJPEG has an object of its own.
  struct Settings {
    int quality = 0;
    nvjpegChromaSubsampling_t sampling = NVJPEG_CSS_UNKNOWN;
    bool progressive = false;
    bool optimize_huffman = false;
    friend bool operator==(const Settings&, const Settings&) = default;
  };
  struct Prepared {
    Settings settings;
    EncodeParams params;
  };

  NvjpegEncoder() = default;
  [[nodiscard]] Result<nvjpegEncoderParams_t> params_for(const plan::EncodePlan& plan);
  [[nodiscard]] Result<nvjpegEncoderParams_t> make_params(const Settings& settings);
  [[nodiscard]] Result<void> grow_states(std::size_t count);
  [[nodiscard]] Result<void> encode(const EncodeItem& item, nvjpegEncoderState_t state);
  [[nodiscard]] Result<void> measure_streams();

  LibraryHandle handle_;
  std::vector<EncodeState> states_;  ///< one an image: each holds its stream until it is fetched
  std::vector<Prepared> prepared_;
  std::size_t images_ = 0;
  cudaStream_t stream_ = nullptr;
  gpu::Buffer output_;
  std::vector<std::size_t> offsets_;
  std::vector<std::size_t> lengths_;
};

}  // namespace framewire::codec::nvjpeg
