// The part of a batch that follows decoding, before it is enqueued: what the kernels read, and
// where it lies.
#pragma once

#include <codec/cuda/transcoder.hpp>
#include <gpu/arena.hpp>
#include <tensor/cuda/descriptors.hpp>
#include <vector>

namespace framewire::tensor::cuda {

class TensorBatchPlan {
 public:
  /// @param options  checked; stays
  explicit TensorBatchPlan(const TensorOptions& options) : options_(options) {}

  void clear();
  /// Whether the kernels take an image of this geometry.
  [[nodiscard]] static bool takes(const ImageGeometry& geometry, const TensorOptions& options);
  /// Adds an image that takes() accepts. @param out  device
  void add(const jpeg::JpegFile& file, const ImageGeometry& geometry, bool flip, void* out);
  void lay_out();
  [[nodiscard]] const gpu::Arena& arena() const noexcept { return arena_; }
  /// Writes the part to be uploaded, and says what the kernels are given.
  /// @param staging  host  @param device  the memory that it is uploaded to
  /// @param decoded  the batch of the same images, in the same order, enqueued
  /// @param tables   device, TensorWriter::tables()
  [[nodiscard]] BatchDesc write(std::uint8_t* staging, std::uint8_t* device,
                                const codec::cuda::Transcoder& decoded, const void* tables);

 private:
  struct Axis {
    AxisWeights weights;
    gpu::Slice<uint2> quads;
    gpu::Slice<std::int32_t> first;
    gpu::Slice<std::int32_t> count;
  };
  struct Image {
    ImageDesc desc;
    gpu::Slice<MiddlePixel> middle_pixels;
    gpu::Slice<std::int16_t> middle[3];
    int component_count = 0;
  };

  /// @param alignment, lead  AxisWeights::alignment, lead
  std::uint32_t add_axis(const transform::AxisGeometry& geometry, std::int32_t alignment,
                         std::int32_t lead);
  /// @param left  column of the plane, or of the frame, in which `x` begins
  void add_channel(Image& image, std::size_t channel, const transform::AxisGeometry& x,
                   std::int32_t left, const transform::AxisGeometry& y);

  const TensorOptions& options_;
  gpu::Arena arena_;
  std::vector<Axis> axes_;
  std::vector<Image> images_;
  std::vector<std::uint32_t> first_tile_;
  std::int32_t max_axis_ = 0;
  gpu::Slice<ImageDesc> image_slice_;
  gpu::Slice<AxisWeights> axis_slice_;
  gpu::Slice<std::uint32_t> tile_slice_;
};

}  // namespace framewire::tensor::cuda
