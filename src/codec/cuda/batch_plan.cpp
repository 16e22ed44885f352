#include <codec/cuda/tuning.h>
#include <algorithm>
#include <base/checked.hpp>
#include <codec/cuda/batch_plan.hpp>
#include <cstring>
#include <jpeg/huffman.hpp>

namespace framewire::codec::cuda {
namespace {

CanonicalCode make_canonical(const jpeg::HuffmanTable& table) {
  CanonicalCode code{};
  std::uint32_t next = 0;
  std::int32_t index = 0;
  for (int length = 1; length <= 16; ++length) {
    const auto slot = static_cast<std::size_t>(length);
    code.offset[slot] = index - static_cast<std::int32_t>(next);
    next += table.counts[slot - 1];
    index += table.counts[slot - 1];
    code.limit[slot] = next << (16 - length);
    next <<= 1;
  }
  std::copy(table.values.begin(), table.values.end(), code.values);
  return code;
}

const jpeg::HuffmanTable& table_of(const jpeg::JpegFile& file, const jpeg::Scan& scan,
                                   std::size_t position, jpeg::TableClass table_class) {
  const bool dc = table_class == jpeg::TableClass::kDc;
  const int index = dc ? scan.dc_table[position] : scan.ac_table[position];
  if (index >= 0) return file.huffman_tables[static_cast<std::size_t>(index)];
  return jpeg::standard_huffman_table(table_class,
                                      dc ? scan.dc_slot[position] : scan.ac_slot[position]);
}

/// Shortest period of the slots of an MCU's blocks that divides their number.
std::uint32_t shortest_period(std::uint32_t slots, std::uint32_t blocks) {
  for (std::uint32_t period = 1; period < blocks; ++period) {
    if (blocks % period != 0) continue;
    bool repeats = true;
    for (std::uint32_t i = period; i < blocks; ++i)
      repeats = repeats && (slots >> (2 * i) & 3) == (slots >> (2 * (i - period)) & 3);
    if (repeats) return period;
  }
  return blocks;
}

std::size_t corner_index(std::uint32_t corner) {
  return corner == 8 ? 3 : corner == 4 ? 2 : corner == 2 ? 1 : 0;
}

}  // namespace

std::uint32_t BatchPlan::add(const Item& item) {
  first_plane.push_back(static_cast<std::uint32_t>(planes.size()));
  if (!item.planes.empty()) {
    add_external_planes(item);
  } else {
    std::array<PlaneDesc, 4> planes_of{};
    if (item.coefficients == nullptr)
      for (const jpeg::Scan& scan : item.file->scans) add_scan(item, scan, planes_of);
    add_planes(item, planes_of);
  }
  sinks.emplace_back();
  if (item.plan != nullptr) add_output(item);
  external_.resize(resamples.size(), !item.planes.empty());
  return images++;
}

void BatchPlan::add_scan(const Item& item, const jpeg::Scan& scan,
                         std::array<PlaneDesc, 4>& planes_of) {
  const jpeg::JpegFile& file = *item.file;
  const plan::Scales& scales = item.plan != nullptr ? item.plan->scales : item.scales;
  ScanDesc desc;
  desc.image = images;
  const auto count = static_cast<std::size_t>(scan.component_count);
  const bool alone = count == 1;
  std::uint32_t phase = 0;
  std::uint32_t mcus = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t c = scan.component[i];
    const jpeg::Component& component = file.frame.components[c];
    PlaneDesc& plane = planes_of[c];
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
      desc.slots |= slot << (2 * phase);
      desc.phase_components |= static_cast<std::uint32_t>(i) << (2 * phase);
    }
    plane.corner = static_cast<std::uint32_t>(scales[c]);
    desc.corner = i == 0 ? plane.corner : std::max(desc.corner, plane.corner);
  }
  desc.blocks_per_mcu = phase;
  desc.period = shortest_period(desc.slots, phase);
  desc.total_blocks = mcus * phase;
  const auto interval = static_cast<std::uint32_t>(scan.restart_interval_mcus);
  desc.has_restarts = interval != 0 && interval < mcus ? 1 : 0;
  desc.segment_blocks = desc.has_restarts != 0 ? interval * phase : desc.total_blocks;
  desc.segment_count = base::ceil_div(desc.total_blocks, desc.segment_blocks);
  desc.first_segment = segments_;
  segments_ += desc.segment_count + 1;
  desc.first_dc = dc_blocks_;
  dc_blocks_ += (desc.total_blocks + 7) / 8 * 8;
  desc.first_dc_tile = dc_tiles_;
  const std::uint32_t tiles = base::ceil_div(mcus, std::uint32_t{kImageThreads});
  dc_tiles_ += tiles;
  most_dc_tiles = std::max(most_dc_tiles, tiles);
  desc.coefficients = coefficient_bytes_;
  const std::uint64_t bytes = std::uint64_t{desc.total_blocks} * desc.corner * desc.corner * 2;
  coefficient_bytes_ += (bytes + 255) / 256 * 256;
  desc.row_pairs = row_pair_bytes_;
  if (desc.corner == 8) row_pair_bytes_ += desc.total_blocks;
  desc.data_bytes = static_cast<std::uint32_t>(scan.entropy_bytes);
  const std::size_t data_end = scan.entropy_offset + scan.entropy_bytes;
  desc.marker_follows = data_end + 2 <= file.end_offset && file.bytes[data_end] == 0xFF ? 1 : 0;
  const auto data = file.bytes.subspan(scan.entropy_offset, scan.entropy_bytes);
  desc.data = item.pinned ? fetch(data) : stage(data, kScanGuardBytes);
  fetched_.push_back(item.pinned);
  desc.mcu_columns = planes_of[scan.component[0]].mcu_columns;
  desc.mcu_rows = mcus / desc.mcu_columns;
  add_edges(item, scan, desc);
  for (std::size_t i = 0; i < count; ++i) {
    PlaneDesc& plane = planes_of[scan.component[i]];
    plane.coefficients = desc.coefficients;
    plane.row_pairs = desc.row_pairs;
    plane.mcu_rows = desc.mcu_rows;
    plane.right_edge = desc.right_edge;
    plane.bottom_edge = desc.bottom_edge;
    plane.edges = desc.edges;
    plane.dc = std::uint64_t{desc.first_dc} * sizeof(std::int16_t);
    plane.stored_corner = desc.corner;
    plane.blocks_per_mcu = phase;
  }
  add_entropy_tiles(desc);
  if (desc.has_restarts != 0) add_marker_tiles(desc);
  most_pairs = std::max(most_pairs, desc.pair_count);
  scans.push_back(desc);
}

void BatchPlan::add_edges(const Item& item, const jpeg::Scan& scan, ScanDesc& desc) {
  if (desc.corner == 8) return;
  for (std::size_t i = 0; i < static_cast<std::size_t>(scan.component_count); ++i) {
    const jpeg::Component& component = item.file->frame.components[scan.component[i]];
    if (component.width_px % 8 != 0) desc.right_edge = 1;
    if (component.height_px % 8 != 0) desc.bottom_edge = 1;
  }
  desc.edges = edge_bytes_;
  const std::uint64_t mcus = std::uint64_t{desc.right_edge} * desc.mcu_rows +
                             std::uint64_t{desc.bottom_edge} * desc.mcu_columns;
  edge_bytes_ += mcus * desc.blocks_per_mcu * 128;
}

void BatchPlan::add_entropy_tiles(ScanDesc& desc) {
  desc.first_subsequence = subsequences_;
  const std::uint32_t size = layout_.subsequence_bytes;
  desc.subsequence_slots =
      desc.data_bytes / size + 1 + (desc.has_restarts != 0 ? desc.segment_count : 0);
  const std::uint32_t reserved = reserved_subsequences(desc, size);
  const std::uint32_t tiles = reserved / kSpanThreads;
  subsequences_ += reserved;
  for (std::uint32_t i = 0; i < tiles; ++i)
    entropy_tiles.push_back({static_cast<std::uint32_t>(scans.size()), i});
  const std::uint32_t span = layout_.sync_share * kSyncThreads;
  for (std::uint32_t i = 0; i * span < desc.subsequence_slots; ++i)
    sync_tiles.push_back({static_cast<std::uint32_t>(scans.size()), i});
  std::vector<Tile>& writes = write_tiles[desc.corner == 8 ? 0 : 1];
  writes.insert(writes.end(), entropy_tiles.end() - tiles, entropy_tiles.end());
}

void BatchPlan::add_marker_tiles(ScanDesc& desc) {
  any_restarts = true;
  desc.first_marker_tile = marker_tiles_;
  const std::uint32_t tiles = base::ceil_div(lead_bytes(desc) + desc.data_bytes, kMarkerTileBytes);
  marker_tiles_ += tiles;
  most_marker_tiles = std::max(most_marker_tiles, tiles);
}

std::uint32_t BatchPlan::table_pair(const jpeg::JpegFile& file, const jpeg::Scan& scan,
                                    int position) {
  const auto at = static_cast<std::size_t>(position);
  const jpeg::HuffmanTable& dc = table_of(file, scan, at, jpeg::TableClass::kDc);
  const jpeg::HuffmanTable& ac = table_of(file, scan, at, jpeg::TableClass::kAc);
  std::string key;
  for (const jpeg::HuffmanTable* table : {&dc, &ac}) {
    key.append(reinterpret_cast<const char*>(table->counts.data()), table->counts.size());
    key.append(reinterpret_cast<const char*>(table->values.data()),
               static_cast<std::size_t>(table->value_count));
  }
  const auto [found, added] =
      pair_index_.try_emplace(std::move(key), static_cast<std::uint32_t>(pair_index_.size()));
  if (added) {
    canonical.push_back(make_canonical(dc));
    canonical.push_back(make_canonical(ac));
  }
  return found->second;
}

void BatchPlan::add_planes(const Item& item, const std::array<PlaneDesc, 4>& planes_of) {
  const jpeg::JpegFile& file = *item.file;
  const int count = item.plan != nullptr ? item.plan->plane_count : file.frame.component_count;
  for (int i = 0; i < count; ++i) {
    const auto c = static_cast<std::size_t>(
        item.plan != nullptr ? item.plan->planes[static_cast<std::size_t>(i)].component : i);
    const jpeg::Component& component = file.frame.components[c];
    PlaneDesc plane = planes_of[c];
    plane.image = images;
    plane.width_blocks = static_cast<std::uint32_t>(component.width_blocks);
    plane.height_blocks = static_cast<std::uint32_t>(component.height_blocks);
    if (item.coefficients != nullptr) add_upload(item, c, plane);
    const auto scaled = [&](std::int32_t size) {
      return base::ceil_div(static_cast<std::uint32_t>(size) * plane.corner, 8u);
    };
    plane.width_px = scaled(component.width_px);
    plane.height_px = scaled(component.height_px);
    plane.pitch_bytes = (plane.width_blocks * plane.corner + 15) / 16 * 16;
    plane.samples = sample_bytes_;
    const std::uint64_t bytes =
        std::uint64_t{plane.pitch_bytes} * plane.height_blocks * plane.corner + 64;
    sample_bytes_ += (bytes + 255) / 256 * 256;
    // Without a table there was no scan either, and all coefficients are zero.
    const int quant = file.component_quant[c];
    if (quant >= 0)
      std::copy_n(file.quant_tables[static_cast<std::size_t>(quant)].values.begin(), 64,
                  plane.quantiser);
    const std::uint32_t blocks = plane.width_blocks * plane.height_blocks;
    for (std::uint32_t k = 0; k * kBlocksPerTile < blocks; ++k)
      plane_tiles[corner_index(plane.corner)].push_back(
          {static_cast<std::uint32_t>(planes.size()), k});
    plane.valid_x = static_cast<std::uint32_t>((component.width_px - 1) % 8 + 1);
    plane.valid_y = static_cast<std::uint32_t>((component.height_px - 1) % 8 + 1);
    const std::uint32_t edges = (plane.valid_x != 8 ? plane.height_blocks : 0) +
                                (plane.valid_y != 8 ? plane.width_blocks : 0);
    for (std::uint32_t k = 0; plane.corner != 8 && k * kBlocksPerTile < edges; ++k)
      edge_tiles.push_back({static_cast<std::uint32_t>(planes.size()), k});
    planes.push_back(plane);
    origins.push_back(item.coefficients != nullptr ? PlaneOrigin::kUpload : PlaneOrigin::kScan);
  }
}

/// Files that lie one behind the other in host memory travel in one copy and keep their distances:
/// what is between them, such as their headers, costs less than another copy.
std::uint64_t BatchPlan::fetch(std::span<const std::uint8_t> bytes) {
  const std::uint8_t* end = bytes.data() + bytes.size();
  if (fetches.empty() || bytes.data() < fetched_to_ ||
      bytes.data() >= fetched_to_ + kPinnedGuardBytes) {
    const std::uint8_t* begin = bytes.data() - reinterpret_cast<std::uintptr_t>(bytes.data()) % 16;
    fetched_bytes_ = (fetched_bytes_ + gpu::kAlignment - 1) / gpu::kAlignment * gpu::kAlignment;
    fetches.push_back({fetched_bytes_, {begin, begin}});
  }
  HostCopy& last = fetches.back();
  last.bytes = {last.bytes.data(), end + kScanGuardBytes};
  fetched_to_ = end;
  fetched_bytes_ = last.offset + last.bytes.size();
  return last.offset + static_cast<std::uint64_t>(bytes.data() - last.bytes.data());
}

std::uint64_t BatchPlan::stage(std::span<const std::uint8_t> bytes, std::uint64_t guard_bytes) {
  const std::uint64_t offset = data_bytes_;
  copies_.push_back({offset, bytes});
  data_bytes_ = (data_bytes_ + bytes.size() + guard_bytes + 15) / 16 * 16;
  return offset;
}

}  // namespace framewire::codec::cuda
