#include <algorithm>
#include <base/checked.hpp>
#include <codec/cuda/decode/canonical_code.hpp>
#include <codec/cuda/decode/progressive_plan.hpp>
#include <codec/cuda/decode/progressive_script.hpp>
#include <codec/cuda/zigzag.hpp>

namespace framewire::codec::cuda {
namespace {

using gpu::Part;

/// Bit k: the k-th coefficient sent lies in the corner of N×N.
std::uint64_t corner_mask(std::uint32_t corner) {
  std::uint64_t mask = 0;
  for (std::uint32_t k = 0; k < 64; ++k) {
    const std::uint32_t natural = natural_position(k);
    if (natural % 8 < corner && natural / 8 < corner) mask |= std::uint64_t{1} << k;
  }
  return mask;
}

std::uint32_t corner_shift(std::uint32_t corner) {
  return corner == 8 ? 3 : corner == 4 ? 2 : corner == 2 ? 1 : 0;
}

std::uint32_t tiles_of(std::uint32_t blocks) {
  return base::ceil_div(blocks, kRefinedBlocksPerTile);
}

/// Blocks, or MCUs, between restart markers; `all` of them where there are no markers.
std::uint32_t interval_of(const jpeg::Scan& scan, std::uint32_t all) {
  const auto interval = static_cast<std::uint32_t>(scan.restart_interval_mcus);
  return interval != 0 ? std::min(interval, all) : all;
}

}  // namespace

AcScanDesc AcScanPlan::resolve(const gpu::Memory& device) const {
  AcScanDesc scan = desc;
  scan.data = device.at(data);
  scan.table = device.at(table);
  return scan;
}

AcChain AcChainPlan::resolve(const gpu::Memory& device) const {
  AcChain chain = desc;
  chain.records = device.at_or_null(records);
  return chain;
}

DcRefinementDesc DcRefinementPlan::resolve(const gpu::Memory& device) const {
  DcRefinementDesc scan = desc;
  scan.data = device.at(data);
  return scan;
}

gpu::Slice<std::int16_t> ProgressivePlanePlan::edges() const {
  return {levels.part, levels.offset_bytes + desc.edges_at * sizeof(std::int16_t),
          levels.count - desc.edges_at};
}

ProgressivePlane ProgressivePlanePlan::resolve(const gpu::Memory& device) const {
  ProgressivePlane plane = desc;
  plane.history = device.at(history);
  plane.levels = device.at(levels);
  plane.dc_sums = device.at(dc_sums);
  plane.dc = device.at(dc);
  return plane;
}

void ProgressivePlan::clear() {
  for_each_list(*this, [](auto& list) { list.clear(); });
  for (auto& chains : unsorted_) chains.clear();
}

std::uint32_t ProgressivePlan::add_plane(const jpeg::Component& component, std::uint32_t corner,
                                         const ProgressivePlanePlan& first_dc, gpu::Arena& arena) {
  ProgressivePlanePlan plane = first_dc;
  ProgressivePlane& desc = plane.desc;
  desc.width_blocks = static_cast<std::uint32_t>(component.width_blocks);
  desc.height_blocks = static_cast<std::uint32_t>(component.height_blocks);
  desc.corner_shift = corner_shift(corner);
  desc.corner_mask = corner_mask(corner);
  desc.right_edge = corner != 8 && component.width_px % 8 != 0 ? 1 : 0;
  desc.bottom_edge = corner != 8 && component.height_px % 8 != 0 ? 1 : 0;
  const std::uint32_t blocks = desc.width_blocks * desc.height_blocks;
  const std::uint32_t edge_blocks =
      desc.right_edge * desc.height_blocks + desc.bottom_edge * desc.width_blocks;
  desc.edges_at = blocks * corner * corner;
  const std::uint32_t levels = desc.edges_at + edge_blocks * 64;
  desc.level_count = levels + levels % 2;
  plane.history = arena.add<unsigned long long>(Part::kZeroed, blocks);
  plane.levels = arena.add<std::int16_t>(Part::kZeroed, desc.level_count);
  plane.dc = arena.add<std::int16_t>(Part::kScratch, blocks);
  level_tiles_.add_parts(planes_.size(), base::ceil_div(desc.level_count, kLevelsPerTile));
  planes_.add(plane);
  return planes_.size() - 1;
}

void ProgressivePlan::add_scans(const jpeg::JpegFile& file, std::uint32_t image,
                                std::uint32_t first_plane,
                                std::span<const gpu::Slice<std::uint8_t>> data, gpu::Arena& arena) {
  const auto components = static_cast<std::uint32_t>(file.frame.component_count);
  ProgressiveImage added{image, first_plane, components, refinements_.size(), 0};
  for (std::size_t i = 0; i < file.scans.size(); ++i) {
    const jpeg::Scan& scan = file.scans[i];
    if (scan.spectral_start == 0 && !is_first_dc(scan)) {
      add_refinement(file, scan, first_plane, data[i]);
      ++added.refinement_count;
    } else if (scan.spectral_start != 0 && scan.approx_high == 0) {
      unsorted_[0].push_back({{{scans_.size(), 1, nullptr}, {}}, scan.entropy_bytes, 0});
      add_ac_scan(file, scan, first_plane + scan.component[0], data[i], arena);
    }
  }
  images_.add(added);
  for (std::uint32_t c = 0; c < components; ++c) {
    Chain chain;
    AcChain& desc = chain.scans.desc;
    desc.first_scan = scans_.size();
    for (std::size_t i = 0; i < file.scans.size(); ++i) {
      const jpeg::Scan& scan = file.scans[i];
      if (scan.spectral_start == 0 || scan.approx_high == 0 || scan.component[0] != c) continue;
      add_ac_scan(file, scan, first_plane + c, data[i], arena);
      ++desc.scan_count;
      chain.bytes += scan.entropy_bytes;
    }
    if (desc.scan_count == 0) continue;
    const ProgressivePlane& plane = planes_[first_plane + c].desc;
    chain.blocks = plane.width_blocks * plane.height_blocks;
    chain.scans.records =
        arena.add<RefinementRecord>(Part::kScratch, std::size_t{desc.scan_count} * chain.blocks);
    unsorted_[1].push_back(chain);
  }
}

void ProgressivePlan::add_ac_scan(const jpeg::JpegFile& file, const jpeg::Scan& scan,
                                  std::uint32_t plane, const gpu::Slice<std::uint8_t>& data,
                                  gpu::Arena& arena) {
  const ProgressivePlane& of = planes_[plane].desc;
  AcScanPlan made;
  made.data = data;
  made.table = arena.add<AcLookup>(Part::kScratch, 1, gpu::kVectorAlignment);
  made.desc.data_bytes = static_cast<std::uint32_t>(scan.entropy_bytes);
  made.desc.plane = plane;
  made.desc.first = scan.spectral_start;
  made.desc.last = scan.spectral_end;
  made.desc.low_bit = scan.approx_low;
  made.desc.segment_blocks = interval_of(scan, of.width_blocks * of.height_blocks);
  scans_.add(made);
  codes_.add(make_canonical(file.huffman_tables[static_cast<std::size_t>(scan.ac_table[0])]));
}

void ProgressivePlan::add_refinement(const jpeg::JpegFile& file, const jpeg::Scan& scan,
                                     std::uint32_t first_plane,
                                     const gpu::Slice<std::uint8_t>& data) {
  DcRefinementPlan made;
  made.data = data;
  DcRefinementDesc& desc = made.desc;
  desc.data_bytes = static_cast<std::uint32_t>(scan.entropy_bytes);
  desc.low_bit = scan.approx_low;
  desc.component_count = static_cast<std::uint32_t>(scan.component_count);
  const bool alone = scan.component_count == 1;
  std::uint32_t phase = 0;
  for (std::size_t i = 0; i < desc.component_count; ++i) {
    const jpeg::Component& component = file.frame.components[scan.component[i]];
    desc.planes[i] = first_plane + scan.component[i];
    desc.h[i] = alone ? 1 : component.h;
    phase += desc.h[i] * (alone ? 1 : component.v);
    desc.phase_end[i] = phase;
  }
  const jpeg::Component& first = file.frame.components[scan.component[0]];
  desc.blocks_per_mcu = phase;
  desc.mcu_columns =
      static_cast<std::uint32_t>(alone ? first.width_blocks : file.frame.mcu_columns);
  const std::uint32_t mcus =
      desc.mcu_columns *
      static_cast<std::uint32_t>(alone ? first.height_blocks : file.frame.mcu_rows);
  desc.total_blocks = mcus * phase;
  desc.segment_blocks = interval_of(scan, mcus) * phase;
  refinements_.add(made);
}

std::uint64_t ProgressivePlan::list_bytes() const {
  if (empty()) return 0;
  std::uint64_t bytes = 0;
  for_each_list(*this, [&](const auto& list) { bytes += list.bytes(); });
  for (const auto& chains : unsorted_) {
    bytes += chains.size() * sizeof(AcChain);
    for (const Chain& chain : chains) bytes += tiles_of(chain.blocks) * sizeof(Tile);
  }
  return bytes;
}

void ProgressivePlan::lay_out(gpu::Arena& arena) {
  if (empty()) return;
  for (std::size_t i = 0; i < chains_.size(); ++i) {
    // Lanes of a warp should end together, and the longest chains should not begin last.
    std::ranges::stable_sort(unsorted_[i], std::ranges::greater(), &Chain::bytes);
    for (const Chain& chain : unsorted_[i]) {
      refined_tiles_.add_parts(chains_[i].size(), tiles_of(chain.blocks));
      chains_[i].add(chain.scans);
    }
  }
  for_each_list(*this, [&](auto& list) { list.lay_out(arena); });
}

void ProgressivePlan::write(const gpu::Memory& host, const gpu::Memory& device) const {
  if (empty()) return;
  for_each_list(*this, [&](const auto& list) { list.write(host, device); });
}

void ProgressivePlan::enqueue(const StageRun& run, const Tuning& tuning) const {
  const gpu::Memory& memory = run.memory;
  const cudaStream_t stream = run.stream.get();
  const ProgressiveView view{planes_.at(memory), scans_.at(memory), refinements_.at(memory),
                             images_.at(memory), run.status};
  launch_build_ac_tables(view, codes_.at(memory), codes_.size(), stream);
  launch_ac_chains(view, chains_[0].at(memory), chains_[0].size(), false, tuning.chain_lanes,
                   stream);
  run.timeline.end(Stage::kFirstAc, run.stream);
  launch_ac_chains(view, chains_[1].at(memory), chains_[1].size(), true, tuning.chain_lanes,
                   stream);
  launch_apply_refinements(view, chains_[1].at(memory), refined_tiles_.at(memory),
                           refined_tiles_.size(), stream);
  run.timeline.end(Stage::kRefineAc, run.stream);
  launch_progressive_dc(view, images_.size(), stream);
  launch_assemble_levels(view, level_tiles_.at(memory), level_tiles_.size(), stream);
  run.timeline.end(Stage::kAssemble, run.stream);
}

}  // namespace framewire::codec::cuda
