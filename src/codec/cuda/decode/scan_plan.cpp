#include <codec/cuda/tuning.h>
#include <algorithm>
#include <base/checked.hpp>
#include <bit>
#include <codec/cuda/decode/decode_stage.hpp>
#include <codec/cuda/decode/progressive_script.hpp>
#include <jpeg/huffman.hpp>

namespace framewire::codec::cuda {
namespace {

using gpu::Part;

const jpeg::HuffmanTable& table_of(const jpeg::JpegFile& file, const jpeg::Scan& scan,
                                   std::size_t position, jpeg::TableClass table_class) {
  const bool dc = table_class == jpeg::TableClass::kDc;
  const int index = dc ? scan.dc_table[position] : scan.ac_table[position];
  if (index >= 0) return file.huffman_tables[static_cast<std::size_t>(index)];
  return jpeg::standard_huffman_table(table_class,
                                      dc ? scan.dc_slot[position] : scan.ac_slot[position]);
}

/// After how many blocks the tables of an MCU's blocks repeat; a divisor of the number of blocks.
std::uint32_t shortest_period(std::uint32_t tables, std::uint32_t blocks) {
  for (std::uint32_t period = 1; period < blocks; ++period) {
    if (blocks % period != 0) continue;
    bool repeats = true;
    for (std::uint32_t i = period; i < blocks; ++i) {
      repeats = repeats && (tables >> (3 * i) & 7) == (tables >> (3 * (i - period)) & 7);
    }
    if (repeats) return period;
  }
  return blocks;
}

/// Whether no AC follows DC in the scans that DecodeStage::add_scan() gets.
bool sends_dc_alone(const jpeg::JpegFile& file) {
  return file.frame.process == jpeg::Process::kProgressive;
}

jpeg::HuffmanTable mark_dc_alone(jpeg::HuffmanTable table) {
  for (std::uint8_t& value : table.values) value |= kDcAlone;
  return table;
}

/// Plans how an MCU's corners lie, and its tables.
/// @param low  bit i: of block i a corner of 2 or 1 is needed
void plan_mcu(std::uint32_t low, ScanDesc& desc) {
  const auto count = static_cast<int>(desc.blocks_per_mcu);
  // Corners of 4 begin at multiples of 16 bytes, so none lies behind low ones, and of these there
  // is an even number in each MCU.
  const bool are_last = std::popcount(low) + std::countr_zero(low) == count;
  const bool are_even = std::popcount(low) % 2 == 0;
  if (desc.corner == 4 && are_last && are_even) desc.low_phases = low;
  desc.marked_tables = desc.block_tables;
  for (int i = 0; i < count; ++i) {
    const bool is_low = (desc.low_phases >> i & 1) != 0;
    if (is_low) desc.marked_tables |= 1u << (3 * i);
    desc.mcu_bytes += corner_bytes(is_low ? kLowSide : desc.corner);
  }
  for (auto [tables, period] : {std::pair{&desc.block_tables, &desc.period},
                                std::pair{&desc.marked_tables, &desc.marked_period}}) {
    *period = shortest_period(*tables, desc.blocks_per_mcu);
    *tables &= (1u << (3 * *period)) - 1;
  }
}

}  // namespace

ScanDesc ScanPlan::resolve(const gpu::Memory& device) const {
  ScanDesc scan = desc;
  scan.data = device.at(data);
  scan.coefficients = device.at(coefficients);
  scan.block_words = device.at(block_words);
  scan.dc_sums = device.at(dc_sums);
  scan.segment_start = device.at_or_null(segment_start);
  scan.segment_first = device.at_or_null(segment_first);
  scan.marker_counts = device.at_or_null(marker_counts);
  scan.edges = device.at(edges);
  return scan;
}

std::uint64_t entropy_bytes(std::span<const Item> items) {
  std::uint64_t bytes = 0;
  for (const Item& item : items) {
    if (!item.planes.empty() || item.coefficients != nullptr) continue;
    for (const jpeg::Scan& scan : item.file->scans) bytes += scan.entropy_bytes;
  }
  return bytes;
}

std::uint32_t reserved_subsequences(const ScanDesc& scan, std::uint32_t size) {
  const std::uint32_t slots =
      scan.data_bytes / size + 1 + (scan.has_restarts != 0 ? scan.segment_count : 0);
  constexpr std::uint32_t kWhole = kSpanThreads;
  return base::ceil_div(slots, kWhole) * kWhole;
}

void DecodeStage::add_scan(const Item& item, const jpeg::Scan& scan, gpu::Arena& arena,
                           StagedBytes& bytes, std::array<DecodedPlane, 4>& planes_of) {
  const jpeg::JpegFile& file = *item.file;
  const plan::Scales& scales = item.plan != nullptr ? item.plan->scales : item.scales;
  ScanPlan made;
  ScanDesc& desc = made.desc;
  desc.image = planes_of[0].desc.image;
  const auto count = static_cast<std::size_t>(scan.component_count);
  const bool alone = count == 1;
  std::uint32_t phase = 0;
  std::uint32_t mcus = 0;
  std::uint32_t low = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t c = scan.component[i];
    const jpeg::Component& component = file.frame.components[c];
    PlaneDesc& plane = planes_of[c].desc;
    plane.h = alone ? 1 : component.h;
    plane.v = alone ? 1 : component.v;
    plane.phase = phase;
    plane.mcu_columns =
        static_cast<std::uint32_t>(alone ? component.width_blocks : file.frame.mcu_columns);
    mcus = plane.mcu_columns *
           static_cast<std::uint32_t>(alone ? component.height_blocks : file.frame.mcu_rows);
    const std::uint32_t pair = table_pair(file, scan, static_cast<int>(i));
    std::uint32_t slot = 0;
    while (slot + 1 < desc.pair_count && desc.pairs[slot] != pair) ++slot;
    if (i > 0 && desc.pairs[slot] != pair) slot = desc.pair_count++;
    desc.pairs[slot] = pair;
    for (std::uint32_t k = 0; k < plane.h * plane.v; ++k, ++phase) {
      desc.block_tables |= 2 * slot << (3 * phase);
      desc.phase_components |= static_cast<std::uint32_t>(i) << (2 * phase);
      if (scales[c] <= 2) low |= 1u << phase;
    }
    plane.corner = static_cast<std::uint32_t>(scales[c]);
    desc.corner = std::max(i == 0 ? 0u : desc.corner, stored_side(plane.corner));
  }
  desc.blocks_per_mcu = phase;
  // DC is kept in any case.
  if (sends_dc_alone(file)) desc.corner = 1;
  plan_mcu(low, desc);
  desc.total_blocks = mcus * phase;
  desc.mcu_columns = planes_of[scan.component[0]].desc.mcu_columns;
  desc.mcu_rows = mcus / desc.mcu_columns;
  choose_part(item, scan, planes_of, desc);
  place_scan(item, scan, arena, bytes, made);
  for (std::size_t i = 0; i < count; ++i) {
    DecodedPlane& plane = planes_of[scan.component[i]];
    plane.coefficients = made.coefficients;
    plane.block_words = made.block_words;
    plane.edges = made.edges;
    plane.desc.mcu_rows = desc.mcu_rows;
    plane.desc.right_edge = desc.right_edge;
    plane.desc.bottom_edge = desc.bottom_edge;
    const bool is_low = (desc.low_phases >> plane.desc.phase & 1) != 0;
    plane.desc.stored_corner = is_low ? kLowSide : desc.corner;
    plane.desc.blocks_per_mcu = phase;
    plane.desc.phase_bytes = static_cast<std::uint32_t>(place_corner(desc, plane.desc.phase).at);
    plane.desc.mcu_bytes = desc.mcu_bytes;
  }
  add_subsequences(made);
  max_pairs_ = std::max(max_pairs_, desc.pair_count);
  scans_.add(made);
}

/// Chooses which of a scan's MCUs are kept. Of files with several scans all are: the CPU codec,
/// too, reads such files to their end, and says so where they are damaged.
void DecodeStage::choose_part(const Item& item, const jpeg::Scan& scan,
                              const std::array<DecodedPlane, 4>& planes_of, ScanDesc& desc) {
  desc.end_block = desc.total_blocks;
  if (item.strict || item.file->scans.size() != 1) return;
  std::array<BlockRect, jpeg::kMaxComponents> needed;
  for (std::size_t c = 0; c < needed.size(); ++c) needed[c] = planes_of[c].needed;
  const BlockRect mcus = needed_mcus(item.file->frame, scan, needed);
  // Looking for them costs time, too.
  const std::uint64_t all_mcus = std::uint64_t{desc.mcu_columns} * desc.mcu_rows;
  if (std::uint64_t{mcus.columns()} * mcus.rows() * 10 > all_mcus * 9) return;
  desc.keeps_part = 1;
  desc.first_column = mcus.first_column;
  desc.end_column = mcus.end_column;
  desc.first_row = mcus.first_row;
  desc.end_row = mcus.end_row;
  desc.end_block = mcus.end_row * desc.mcu_columns * desc.blocks_per_mcu;
}

/// Plans a scan's segments and the memory that it is decoded to.
void DecodeStage::place_scan(const Item& item, const jpeg::Scan& scan, gpu::Arena& arena,
                             StagedBytes& bytes, ScanPlan& made) {
  const jpeg::JpegFile& file = *item.file;
  ScanDesc& desc = made.desc;
  const std::uint32_t mcus = desc.total_blocks / desc.blocks_per_mcu;
  const auto interval = static_cast<std::uint32_t>(scan.restart_interval_mcus);
  desc.has_restarts = interval != 0 && interval < mcus ? 1 : 0;
  desc.segment_blocks = desc.has_restarts != 0 ? interval * desc.blocks_per_mcu : desc.total_blocks;
  desc.segment_count = base::ceil_div(desc.total_blocks, desc.segment_blocks);
  made.block_words =
      arena.add<std::uint32_t>(Part::kScratch, desc.total_blocks, gpu::kVectorAlignment);
  const std::uint32_t dc_tiles =
      base::ceil_div(desc.total_blocks, kImageThreads * dc_run_blocks(desc.blocks_per_mcu));
  made.dc_sums = arena.add<DcSum>(Part::kEarly, dc_tiles, gpu::kVectorAlignment);
  max_dc_tiles_ = std::max(max_dc_tiles_, dc_tiles);
  made.coefficients = arena.add<std::int16_t>(
      Part::kScratch, sends_dc_alone(file) ? 0 : std::uint64_t{mcus} * (desc.mcu_bytes / 2));
  desc.data_bytes = static_cast<std::uint32_t>(scan.entropy_bytes);
  const std::size_t data_end = scan.entropy_offset + scan.entropy_bytes;
  desc.marker_follows = data_end + 2 <= file.end_offset && file.bytes[data_end] == 0xFF ? 1 : 0;
  desc.ends_file = item.head_only ? 1 : 0;
  made.data = add_data(item, scan, arena, bytes);
  if (!sends_dc_alone(file)) add_edges(item, scan, arena, made);
  if (desc.has_restarts == 0) return;
  any_restarts_ = true;
  made.segment_start =
      arena.add<std::uint32_t>(Part::kEarly, desc.segment_count + 1, gpu::kVectorAlignment);
  made.segment_first =
      arena.add<std::uint32_t>(Part::kEarly, desc.segment_count + 1, gpu::kVectorAlignment);
  // What lead_bytes() will be on the device, because parts of an arena begin at multiples of 256.
  const auto lead = static_cast<std::uint32_t>(made.data.offset_bytes % 16);
  const std::uint32_t tiles = base::ceil_div(lead + desc.data_bytes, kMarkerTileBytes);
  made.marker_counts = arena.add<std::uint32_t>(Part::kEarly, tiles, gpu::kVectorAlignment);
  max_marker_tiles_ = std::max(max_marker_tiles_, tiles);
}

void DecodeStage::add_edges(const Item& item, const jpeg::Scan& scan, gpu::Arena& arena,
                            ScanPlan& made) {
  ScanDesc& desc = made.desc;
  if (desc.corner == 8) return;
  for (std::size_t i = 0; i < static_cast<std::size_t>(scan.component_count); ++i) {
    const jpeg::Component& component = item.file->frame.components[scan.component[i]];
    if (component.width_px % 8 != 0) desc.right_edge = 1;
    if (component.height_px % 8 != 0) desc.bottom_edge = 1;
  }
  const std::uint64_t mcus = std::uint64_t{desc.right_edge} * desc.mcu_rows +
                             std::uint64_t{desc.bottom_edge} * desc.mcu_columns;
  made.edges = arena.add<std::int16_t>(Part::kZeroed, mcus * desc.blocks_per_mcu * 64,
                                       gpu::kVectorAlignment);
}

void DecodeStage::add_subsequences(ScanPlan& made) {
  ScanDesc& desc = made.desc;
  desc.first_subsequence = subsequences_;
  const std::uint32_t size = layout_.subsequence_bytes;
  desc.subsequence_slots =
      desc.data_bytes / size + 1 + (desc.has_restarts != 0 ? desc.segment_count : 0);
  const std::uint32_t reserved = reserved_subsequences(desc, size);
  subsequences_ += reserved;
  span_tiles_.add_parts(scans_.size(), reserved / kSpanThreads);
  write_tiles_[desc.corner == 8 ? 0 : 1].add_parts(scans_.size(), reserved / kSpanThreads);
  sync_tiles_.add_parts(scans_.size(),
                        base::ceil_div(desc.subsequence_slots, layout_.sync_share * kSyncThreads));
}

std::uint32_t DecodeStage::table_pair(const jpeg::JpegFile& file, const jpeg::Scan& scan,
                                      int position) {
  const auto at = static_cast<std::size_t>(position);
  const bool alone = sends_dc_alone(file);
  const jpeg::HuffmanTable none;
  const jpeg::HuffmanTable& coded = table_of(file, scan, at, jpeg::TableClass::kDc);
  const jpeg::HuffmanTable& dc = alone ? mark_dc_alone(coded) : coded;
  const jpeg::HuffmanTable& ac = alone ? none : table_of(file, scan, at, jpeg::TableClass::kAc);
  return tables_.index_of(dc, ac, canonical_);
}

gpu::Slice<std::uint8_t> DecodeStage::add_data(const Item& item, const jpeg::Scan& scan,
                                               gpu::Arena& arena, StagedBytes& bytes) {
  const auto data = item.file->bytes.subspan(scan.entropy_offset, scan.entropy_bytes);
  return item.pinned ? fetch(arena, data) : bytes.add(arena, data, kScanGuardBytes);
}

/// Plans the other scans of a progressive file, behind add_scan() of those that send DC first.
/// Leaves planes like those of scans of one component each.
void DecodeStage::add_progressive(const Item& item, gpu::Arena& arena,
                                  std::array<DecodedPlane, 4>& planes_of) {
  const jpeg::FrameHeader& frame = item.file->frame;
  const std::uint32_t image = planes_of[0].desc.image;
  std::uint32_t first_plane = 0;
  for (std::size_t c = 0; c < static_cast<std::size_t>(frame.component_count); ++c) {
    DecodedPlane& plane = planes_of[c];
    PlaneDesc& desc = plane.desc;
    ProgressivePlanePlan made;
    made.sums = plane.block_words;
    made.desc.image = image;
    made.desc.dc_low_bit = first_low_bits_[c];
    made.desc.h = desc.h;
    made.desc.v = desc.v;
    made.desc.phase = desc.phase;
    made.desc.blocks_per_mcu = desc.blocks_per_mcu;
    made.desc.mcu_columns = desc.mcu_columns;
    const std::uint32_t index =
        progressive_.add_plane(frame.components[c], stored_side(desc.corner), made, arena);
    if (c == 0) first_plane = index;
    const ProgressivePlanePlan& planned = progressive_.plane(index);
    plane.coefficients = planned.levels;
    plane.block_words = {};
    plane.dc = planned.dc;
    plane.edges = planned.edges();
    desc.stored_corner = stored_side(desc.corner);
    desc.h = desc.v = desc.blocks_per_mcu = 1;
    desc.phase = desc.phase_bytes = 0;
    desc.mcu_bytes = corner_bytes(desc.stored_corner);
    desc.mcu_columns = planned.desc.width_blocks;
    desc.mcu_rows = planned.desc.height_blocks;
    desc.right_edge = planned.desc.right_edge;
    desc.bottom_edge = planned.desc.bottom_edge;
  }
  progressive_.add_scans(*item.file, image, first_plane, scan_data_, arena);
}

/// Plans the copy of a pinned scan. Scans that lie near one another in host memory share one copy
/// and keep their distances: copying what is between them, such as headers, costs less than another
/// copy.
gpu::Slice<std::uint8_t> DecodeStage::fetch(gpu::Arena& arena,
                                            std::span<const std::uint8_t> bytes) {
  const std::uint8_t* const end = bytes.data() + bytes.size();
  if (fetches_.empty() || bytes.data() < fetched_to_ ||
      bytes.data() >= fetched_to_ + kPinnedGuardBytes) {
    const std::uint8_t* begin = bytes.data() - reinterpret_cast<std::uintptr_t>(bytes.data()) % 16;
    fetches_.push_back({arena.add<std::uint8_t>(Part::kFetched, 0), begin});
  }
  Fetch& last = fetches_.back();
  const auto wanted = static_cast<std::uint64_t>(end - last.from) + kScanGuardBytes;
  arena.extend(Part::kFetched, wanted - last.to.count);
  last.to.count = wanted;
  fetched_to_ = end;
  const auto distance = static_cast<std::uint64_t>(bytes.data() - last.from);
  return {Part::kFetched, last.to.offset_bytes + distance, bytes.size()};
}

}  // namespace framewire::codec::cuda
