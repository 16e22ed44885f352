// The middle stage of a batch: from decoded planes to planes that are encoded or handed out.
// Resamples and, where asked for, converts, sharpens, turns and pads.
#pragma once

#include <array>
#include <codec/cuda/item.hpp>
#include <codec/cuda/picture/descriptors.hpp>
#include <codec/cuda/picture/filter_index.hpp>
#include <codec/cuda/samples.hpp>
#include <codec/cuda/stage_run.hpp>
#include <codec/cuda/staged_bytes.hpp>
#include <codec/cuda/tile_list.hpp>
#include <cstdint>
#include <gpu/arena.hpp>
#include <gpu/upload_list.hpp>
#include <map>
#include <span>
#include <vector>

namespace framewire::codec::cuda {

/// Planes of a picture, one a component.
using PictureSamples = std::array<Samples, jpeg::kMaxComponents>;

// Each is a descriptor without addresses, with slices for what it will point to.
struct AcrossPlan {
  AcrossDesc desc;
  gpu::Slice<std::uint32_t> first;
  gpu::Slice<uint2> weights;
  [[nodiscard]] AcrossDesc resolve(const gpu::Memory& device) const;
};
struct DownPlan {
  DownDesc desc;
  gpu::Slice<std::uint32_t> first;
  gpu::Slice<float4> weights;
  [[nodiscard]] DownDesc resolve(const gpu::Memory& device) const;
};
struct ResamplePlan {
  ResampleDesc desc;
  Samples source, target;
  gpu::Slice<float> rows;
  [[nodiscard]] ResampleDesc resolve(const gpu::Memory& device) const;
};
struct ConvertPlan {
  ConvertDesc desc;
  PictureSamples in, out;
  gpu::Slice<std::uint8_t> table;
  gpu::Slice<std::uint8_t> samples;
  [[nodiscard]] ConvertDesc resolve(const gpu::Memory& device) const;
};
struct SharpenPlan {
  SharpenDesc desc;
  Samples source, target;
  gpu::Slice<const float> weights;
  [[nodiscard]] SharpenDesc resolve(const gpu::Memory& device) const;
};
struct PlacePlan {
  PlaceDesc desc;
  Samples source, target;
  [[nodiscard]] PlaceDesc resolve(const gpu::Memory& device) const;
};

class PictureStage {
 public:
  // Planning: clear(), add() for each image that has a plan, lay_out(), write().
  void clear();
  /// @param image    its index
  /// @param sources  the planes to resample, one a plane of the plan
  /// @return the output's planes, as large as its components
  PictureSamples add(const Item& item, std::uint32_t image, std::span<const Samples> sources,
                     gpu::Arena& arena, StagedBytes& bytes);
  void lay_out(gpu::Arena& arena);
  void write(const gpu::Memory& host, const gpu::Memory& device) const;

  /// Bound on the bytes that lay_out() will add to Part::kUploaded of an arena.
  [[nodiscard]] std::uint64_t list_bytes() const;

  void enqueue(const StageRun& run) const;

 private:
  Samples resample(const Item& item, std::uint32_t index, const Samples& source, gpu::Arena& arena);
  void add_resample_tiles(ResamplePlan& made, const DownRows& down, gpu::Arena& arena);
  void convert(const Item& item, PictureSamples& now, gpu::Arena& arena, StagedBytes& bytes);
  void sharpen(const plan::Plan& plan, Samples& luma, gpu::Arena& arena, StagedBytes& bytes);
  Samples place(const plan::Plan& plan, std::size_t component, const Samples& source,
                gpu::Arena& arena);
  /// Each finds a filter of the batch, or adds it. @return its index
  std::uint32_t across(Kernel kernel, const plan::AxisMap& axis, gpu::Arena& arena);
  std::uint32_t down(Kernel kernel, const plan::AxisMap& axis, const RowPart& part,
                     gpu::Arena& arena);

  /// Calls `call` with every list, so that none is forgotten.
  template <typename Self, typename Call>
  static void for_each_list(Self& self, Call call) {
    const auto each = [&](auto&... list) { (call(list), ...); };
    each(self.across_, self.down_, self.resamples_, self.converts_, self.sharpens_, self.places_,
         self.across_weight_tiles_, self.down_weight_tiles_, self.resample_tiles_,
         self.long_across_tiles_, self.long_down_tiles_, self.convert_tiles_, self.sharpen_tiles_,
         self.place_tiles_);
  }

  std::uint32_t image_ = 0;  ///< being added
  gpu::UploadList<AcrossPlan> across_;
  gpu::UploadList<DownPlan> down_;
  gpu::UploadList<ResamplePlan> resamples_;
  gpu::UploadList<ConvertPlan> converts_;
  gpu::UploadList<SharpenPlan> sharpens_;
  gpu::UploadList<PlacePlan> places_;
  TileList across_weight_tiles_;
  TileList down_weight_tiles_;
  TileList resample_tiles_;
  TileList long_across_tiles_;  ///< of planes that resample_long takes
  TileList long_down_tiles_;
  TileList convert_tiles_;
  TileList sharpen_tiles_;
  TileList place_tiles_;
  std::uint32_t max_rows_ = 1;                      ///< source rows that a tile needs
  std::uint32_t max_radius_ = 0;                    ///< of a blur
  FilterIndex across_index_;                        ///< into across_
  FilterIndex down_index_;                          ///< into down_
  std::map<double, std::vector<float>> gaussians_;  ///< of the batch, by sigma
};

/// Size of a component of the output, without the samples that fill up its MCUs.
struct ComponentSize {
  std::uint32_t width_px = 0;
  std::uint32_t height_px = 0;
};
[[nodiscard]] ComponentSize component_size(const plan::EncodePlan& encode, std::size_t component);

}  // namespace framewire::codec::cuda
