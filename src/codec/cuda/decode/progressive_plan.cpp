#include <codec/cuda/tuning.h>
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
  scan.words = device.at(words);
  scan.segment_ends = device.at(segment_ends);
  scan.starts = device.at(starts);
  scan.before = device.at_or_null(before);
  scan.after = device.at_or_null(after);
  scan.passed = device.at_or_null(passed);
  scan.awaits = device.at_or_null(awaits);
  scan.awaited = static_cast<std::uint32_t>(awaits.count);
  return scan;
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
  plane.levels = device.at(levels);
  plane.sums = device.at(sums);
  plane.dc = device.at(dc);
  return plane;
}

void ProgressivePlan::clear() {
  for_each_list(*this, [](auto& list) { list.clear(); });
  first_.clear();
  refining_.clear();
  max_lanes_ = 0;
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
  // Edge blocks are read by rows of 16 bytes.
  desc.edges_at = base::ceil_div(blocks * corner * corner, 8u) * 8;
  const std::uint32_t levels = desc.edges_at + edge_blocks * 64;
  desc.level_count = levels + levels % 2;
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
    if (scan.spectral_start != 0 || is_first_dc(scan)) continue;
    add_refinement(file, scan, first_plane, data[i]);
    ++added.refinement_count;
  }
  if (images_.empty()) begun_ = arena.add<std::uint32_t>(Part::kEarlyZeroed, 1);
  images_.add(added);
  for (std::uint32_t c = 0; c < components; ++c) {
    add_ac_scans(file, c, first_plane + c, data, arena);
  }
}

/// First scans are groups by themselves; the refinements of a component are one.
void ProgressivePlan::add_ac_scans(const jpeg::JpegFile& file, std::uint32_t component,
                                   std::uint32_t plane,
                                   std::span<const gpu::Slice<std::uint8_t>> data,
                                   gpu::Arena& arena) {
  const ProgressivePlane& of = planes_[plane].desc;
  const std::uint32_t blocks = of.width_blocks * of.height_blocks;
  const std::uint32_t tiles = base::ceil_div(blocks, kAcBlocksPerTile);
  std::vector<std::size_t> first;
  std::vector<std::size_t> refining;
  for (std::size_t i = 0; i < file.scans.size(); ++i) {
    const jpeg::Scan& scan = file.scans[i];
    if (scan.spectral_start == 0 || scan.component[0] != component) continue;
    (scan.approx_high == 0 ? first : refining).push_back(i);
  }
  ac_planes_.add({plane, scans_.size(), static_cast<std::uint32_t>(first.size()),
                  static_cast<std::uint32_t>(refining.size())});
  block_tiles_.add_parts(ac_planes_.size() - 1, tiles);
  gpu::Slice<unsigned long long> history;
  gpu::Slice<std::uint32_t> passed;
  if (!refining.empty()) {
    history = arena.add<unsigned long long>(Part::kEarlyZeroed, blocks);
    passed = arena.add<std::uint32_t>(Part::kEarlyZeroed, first.size());
  }
  for (std::size_t n = 0; n < first.size(); ++n) {
    const std::size_t i = first[n];
    AcScanPlan made = plan_ac_scan(file.scans[i], plane, data[i], arena);
    made.after = history;
    if (!refining.empty()) {
      made.passed = {passed.part, passed.offset_bytes + n * sizeof(std::uint32_t), 1};
    }
    first_.push_back({scans_.size(), 1, file.scans[i].entropy_bytes});
    add_ac_scan(file, i, made);
  }
  if (refining.empty()) return;
  Group group{scans_.size(), static_cast<std::uint32_t>(refining.size()), 0};
  for (const std::size_t i : refining) {
    AcScanPlan made = plan_ac_scan(file.scans[i], plane, data[i], arena);
    made.before = history;
    if (i == refining.front()) made.awaits = passed;
    if (i != refining.back()) {
      made.after = history = arena.add<unsigned long long>(Part::kEarly, blocks);
    }
    add_ac_scan(file, i, made);
    group.bytes = std::max<std::uint64_t>(group.bytes, file.scans[i].entropy_bytes);
  }
  refining_.push_back(group);
}

void ProgressivePlan::add_ac_scan(const jpeg::JpegFile& file, std::size_t index,
                                  const AcScanPlan& plan) {
  const auto table = static_cast<std::size_t>(file.scans[index].ac_table[0]);
  scans_.add(plan);
  codes_.add(make_canonical(file.huffman_tables[table]));
}

AcScanPlan ProgressivePlan::plan_ac_scan(const jpeg::Scan& scan, std::uint32_t plane,
                                         const gpu::Slice<std::uint8_t>& data,
                                         gpu::Arena& arena) const {
  const ProgressivePlane& of = planes_[plane].desc;
  const std::uint32_t blocks = of.width_blocks * of.height_blocks;
  AcScanPlan made;
  AcScanDesc& desc = made.desc;
  desc.data_bytes = static_cast<std::uint32_t>(scan.entropy_bytes);
  desc.plane = plane;
  desc.first = scan.spectral_start;
  desc.last = scan.spectral_end;
  desc.low_bit = scan.approx_low;
  desc.segment_blocks = interval_of(scan, blocks);
  desc.segment_count = base::ceil_div(blocks, desc.segment_blocks);
  // Read four at a time.
  desc.word_count = base::ceil_div(desc.data_bytes + 8, 16u) * 4;
  made.data = data;
  made.table = arena.add<AcLookup>(Part::kEarly, 1, gpu::kVectorAlignment);
  made.words = arena.add<std::uint32_t>(Part::kEarly, desc.word_count);
  made.segment_ends = arena.add<std::uint32_t>(Part::kEarly, desc.segment_count);
  made.starts = arena.add<std::uint32_t>(Part::kEarlyZeroed, blocks);
  return made;
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
  // A lane each, and at most a warp each: those lists are still empty.
  return bytes + scans_.size() * (sizeof(AcLane) + sizeof(AcWarp));
}

/// Lanes of a warp should end together, and the longest scans should not begin last.
void ProgressivePlan::fill_warps(std::vector<Group>& groups, bool refines) {
  std::ranges::stable_sort(groups, std::ranges::greater(), &Group::bytes);
  AcWarp warp{lanes_.size(), 0, refines ? 1u : 0u};
  const auto end_warp = [&] {
    if (warp.lane_count != 0) warps_.add(warp);
    max_lanes_ = std::max(max_lanes_, warp.lane_count);
    warp.first_lane = lanes_.size();
    warp.lane_count = 0;
  };
  for (const Group& group : groups) {
    if (warp.lane_count + group.scan_count > chain_lanes_) end_warp();
    for (std::uint32_t i = 0; i < group.scan_count; ++i) {
      lanes_.add({group.first_scan + i, i == 0 ? 0u : 1u});
    }
    warp.lane_count += group.scan_count;
  }
  end_warp();
}

void ProgressivePlan::lay_out(gpu::Arena& arena) {
  if (empty()) return;
  fill_warps(first_, false);
  fill_warps(refining_, true);
  for_each_list(*this, [&](auto& list) { list.lay_out(arena); });
}

void ProgressivePlan::write(const gpu::Memory& host, const gpu::Memory& device) const {
  if (empty()) return;
  for_each_list(*this, [&](const auto& list) { list.write(host, device); });
}

void ProgressivePlan::enqueue(const StageRun& run, unsigned part) const {
  const gpu::Memory& memory = run.memory;
  const cudaStream_t stream = run.stream.get();
  const ProgressiveView view{planes_.at(memory), scans_.at(memory), refinements_.at(memory),
                             images_.at(memory), run.status,        memory.at(begun_)};
  if (part == 0) {
    launch_build_ac_tables(view, codes_.at(memory), codes_.size(), stream);
    launch_ac_words(view, scans_.size(), stream);
    return launch_ac_chains(view, lanes_.at(memory), warps_.at(memory), warps_.size(), max_lanes_,
                            stream);
  }
  launch_ac_blocks(view, ac_planes_.at(memory), block_tiles_.at(memory), block_tiles_.size(),
                   stream);
  run.timeline.end(Stage::kAc, run.stream);
  launch_progressive_dc(view, images_.size(), stream);
  launch_assemble_levels(view, level_tiles_.at(memory), level_tiles_.size(), stream);
  run.timeline.end(Stage::kAssemble, run.stream);
}

}  // namespace framewire::codec::cuda
