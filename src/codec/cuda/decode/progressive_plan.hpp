// What is planned for progressive files, besides the scans that send DC first.
#pragma once

#include <codec/cuda/decode/progressive.hpp>
#include <codec/cuda/item.hpp>
#include <codec/cuda/stage_run.hpp>
#include <codec/cuda/tile_list.hpp>
#include <codec/cuda/tuning.hpp>
#include <cstdint>
#include <gpu/arena.hpp>
#include <gpu/upload_list.hpp>
#include <span>
#include <vector>

namespace framewire::codec::cuda {

/// An AC scan as it is planned.
struct AcScanPlan {
  AcScanDesc desc;  ///< without addresses
  gpu::Slice<std::uint8_t> data;
  gpu::Slice<AcLookup> table;
  gpu::Slice<std::uint32_t> words, segment_ends, starts;
  gpu::Slice<unsigned long long> before, after;
  gpu::Slice<std::uint32_t> passed, awaits;

  [[nodiscard]] AcScanDesc resolve(const gpu::Memory& device) const;
};

struct DcRefinementPlan {
  DcRefinementDesc desc;  ///< without addresses
  gpu::Slice<std::uint8_t> data;

  [[nodiscard]] DcRefinementDesc resolve(const gpu::Memory& device) const;
};

struct ProgressivePlanePlan {
  ProgressivePlane desc;  ///< without addresses
  gpu::Slice<std::int16_t> levels, dc;
  gpu::Slice<std::uint32_t> sums;

  /// The part of `levels` that holds whole edge blocks.
  [[nodiscard]] gpu::Slice<std::int16_t> edges() const;
  [[nodiscard]] ProgressivePlane resolve(const gpu::Memory& device) const;
};

/// Used like the stage that owns it: clear(), add() for each image, lay_out(), write(), enqueue().
class ProgressivePlan {
 public:
  explicit ProgressivePlan(const Tuning& tuning) : chain_lanes_(tuning.chain_lanes) {}

  void clear();
  /// Plans a component. Blocks lie row by row, whatever scans they come from.
  /// @param first_dc  the component in the scan that sends its DC first: the members of
  ///                  ProgressivePlanePlan that say so are set
  /// @param corner    N: 1, 2, 4 or 8
  /// @return index of the plane
  std::uint32_t add_plane(const jpeg::Component& component, std::uint32_t corner,
                          const ProgressivePlanePlan& first_dc, gpu::Arena& arena);
  [[nodiscard]] const ProgressivePlanePlan& plane(std::uint32_t index) const {
    return planes_[index];
  }
  /// Plans the scans of an image whose components' planes have been added, the first one at
  /// `first_plane`.
  /// @param data  of each scan of the file
  void add_scans(const jpeg::JpegFile& file, std::uint32_t image, std::uint32_t first_plane,
                 std::span<const gpu::Slice<std::uint8_t>> data, gpu::Arena& arena);

  [[nodiscard]] bool empty() const noexcept { return images_.empty(); }
  /// Bound on the bytes that lay_out() will add to Part::kUploaded of an arena.
  [[nodiscard]] std::uint64_t list_bytes() const;
  void lay_out(gpu::Arena& arena);
  void write(const gpu::Memory& host, const gpu::Memory& device) const;
  /// How many parts enqueue() has. The first one ends with chains, for which the other one waits.
  static constexpr unsigned kParts = 2;
  /// Part by part, behind the scans that send DC first.
  void enqueue(const StageRun& run, unsigned part) const;

 private:
  /// Scans that one warp must hold: each refines what the one before it leaves.
  struct Group {
    std::uint32_t first_scan = 0;
    std::uint32_t scan_count = 0;
    std::uint64_t bytes = 0;  ///< of the longest
  };
  void add_ac_scans(const jpeg::JpegFile& file, std::uint32_t component, std::uint32_t plane,
                    std::span<const gpu::Slice<std::uint8_t>> data, gpu::Arena& arena);
  [[nodiscard]] AcScanPlan plan_ac_scan(const jpeg::Scan& scan, std::uint32_t plane,
                                        const gpu::Slice<std::uint8_t>& data,
                                        gpu::Arena& arena) const;
  void add_ac_scan(const jpeg::JpegFile& file, std::size_t index, const AcScanPlan& plan);
  void add_refinement(const jpeg::JpegFile& file, const jpeg::Scan& scan, std::uint32_t first_plane,
                      const gpu::Slice<std::uint8_t>& data);
  void fill_warps(std::vector<Group>& groups, bool refines);

  template <typename Self, typename Call>
  static void for_each_list(Self& self, Call call) {
    const auto each = [&](auto&... list) { (call(list), ...); };
    each(self.planes_, self.scans_, self.ac_planes_, self.codes_, self.refinements_, self.images_,
         self.level_tiles_, self.block_tiles_, self.lanes_, self.warps_);
  }

  std::uint32_t chain_lanes_;
  gpu::UploadList<ProgressivePlanePlan> planes_;
  gpu::UploadList<AcScanPlan> scans_;
  gpu::UploadList<AcPlaneScans> ac_planes_;
  gpu::UploadList<CanonicalCode> codes_;  ///< [AC scans]
  gpu::UploadList<DcRefinementPlan> refinements_;
  gpu::UploadList<ProgressiveImage> images_;
  TileList level_tiles_;
  TileList block_tiles_;  ///< of ac_planes_
  std::vector<Group> first_, refining_;
  gpu::UploadList<AcLane> lanes_;
  gpu::UploadList<AcWarp> warps_;  ///< first scans before refinements, the longest ones first
  std::uint32_t max_lanes_ = 0;    ///< of a warp
  gpu::Slice<std::uint32_t> begun_;
};

}  // namespace framewire::codec::cuda
